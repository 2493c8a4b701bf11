"""Recall something from memory. Source: ChatAgents App. A (memory system), after Park et al. 2023, §4.1."""

from datetime import timedelta

from nodes.mechanisms.mechanism import Mechanism
from nodes.memory import retrieve_memories
from nodes.view import View, text_of
from prompts.cognition import Question, line_of
from state.cognition import Finding, Perception
from state.language_model import ReplyField
from state.records import Memory

#: The number of memories that are recalled at a time.
_RECALLED = 3
#: The number of tokens of a query.
_QUERY_TOKENS = 16


async def recall(view: View) -> Finding:
    """Let the agent say what to recall, and return the memories nearest to it by relevance, recency and importance.

    The stream has the agent's memories from before the meeting, and turns that have left its working memory.
    """
    question = Question(
        "recall", form={"recall": "what you try to remember"}, example={"recall": "what was said about it last time"}
    )
    fields = [ReplyField("recall", "text", max_tokens=_QUERY_TOKENS)]
    reply = await view.ask("memory_retrieval", question, fields)
    query = text_of(reply, "recall")
    parameters = view.context.parameters.model_copy(
        update={"memory_items_min": _RECALLED, "memory_items_max": _RECALLED}
    )
    stream = [*view.agent.memories, *noticed_before(view)]
    found = retrieve_memories(stream, [query], view.now, view.context.embedder, parameters)
    data = {"query": query, "memories": [memory.id for memory in found]}
    return Finding(lines=tuple(memory.text for memory in found), data=data)


def noticed_before(view: View) -> list[Memory]:
    """Return the turns of this meeting that the agent noticed and no longer has in working memory, as memories."""
    context = view.context
    perceptions = context.store.steps(context.run, "perceive", Perception)
    importance = {
        perception.turn: perception.importance
        for (_, agent), perception in perceptions.items()
        if agent == view.name and perception.noticed
    }
    return [
        Memory(
            id=f"turn_{turn.turn}",
            kind="event",
            text=line_of(turn),
            created=view.meeting.time + timedelta(seconds=turn.sim_time_s),
            importance=importance[turn.turn],
        )
        for turn in context.store.turns(context.run, 1, view.round - 1)
        if turn.speaker is not None and turn.turn in importance and turn.turn not in view.mind["noticed"]
    ]


MECHANISM = Mechanism(
    name="memory_retrieval",
    title="Memory Retrieval",
    description="search your memory for something that you may know about this; you say what to look for",
    example=(True, "I have heard about this before."),
    run=recall,
)
