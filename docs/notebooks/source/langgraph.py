# %% [markdown]
# # LangGraph
#
# Tertulia's graphs as nodes of a graph of your own: with your state, your checkpointer, and your interrupts. Rehearsed:
# `model="smollm2"` is the embedded model.

# %%
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

import tertulia.langgraph


class State(MessagesState):
    """What the graph carries."""

    topic: str
    utterance: tertulia.langgraph.Utterance


people = [
    {"name": "Ana", "traits": "dry", "memories": ["Ana sold her boat in March.", "Ana likes rain."]},
    {"name": "Bo", "description": "a crane driver", "memories": ["Bo owes Ana a supper."]},
]


def graph_of(node):
    """Return a graph of this one node."""
    builder = StateGraph(State)
    builder.add_node("speak", node)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", END)
    return builder.compile(checkpointer=InMemorySaver())


graph = graph_of(tertulia.langgraph.utterance(people=people, model="rehearsal", removal_factor=0.5))

# %%
config = {"configurable": {"thread_id": "1"}}
state = graph.invoke({"messages": [("user", "Who sold the boat?")], "topic": "the boat"}, config)
for message in state["messages"]:
    print(message.name or "user", "|", message.content)

# %% [markdown]
# What was said, and how it came about, is in the state: scores, and what λ removed.

# %%
said = state["utterance"]
print(f"removed {said['removed_share']:.2f} of the attention:", said["removed"])
{unit: round(score, 3) for unit, score in said["scores"].items()}

# %% [markdown]
# ## Without blocking

# %%
state = await graph.ainvoke({"messages": []}, config)
print(state["messages"][-1].name, "|", state["messages"][-1].content)

# %% [markdown]
# ## Interrupted, edited, resumed
#
# The steps of an utterance are steps of your graph: it can pause between them, and its state can be changed.

# %%
paused = graph_of(
    tertulia.langgraph.utterance(people, model="rehearsal", removal_factor=0.5, interrupt_before=["generate"])
)
paused.invoke({"messages": []}, config)
(task,) = paused.get_state(config, subgraphs=True).tasks
print("before:", task.state.next, "removed:", task.state.values["removed"])

# %%
paused.update_state(task.state.config, {"removed": ["memory.memory_1"]})
paused.invoke(None, config)["utterance"]["removed"]

# %% [markdown]
# ## A person reviews

# %%
from langgraph.types import Command

reviewed = graph_of(tertulia.langgraph.utterance(people, model="rehearsal", removal_factor=0.5, review=True))
shown = reviewed.invoke({"messages": []}, config)["__interrupt__"][0].value
print("proposed:", shown["text"])
state = reviewed.invoke(Command(resume="The boat is gone."), config)
print("said:    ", state["messages"][-1].content)

# %% [markdown]
# ## In the store

# %%
tertulia.open_store("tertulia.db").run(said["run"])
