"""Tertulia's graphs as subgraphs of one's own LangGraph graph.

::

    import tertulia.langgraph
    from langgraph.graph import END, START, MessagesState, StateGraph

    speak = tertulia.langgraph.utterance(people=["Ana", "Bo"], model="rehearsal", removal_factor=0.5)
    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", END)
    builder.compile().invoke({"messages": [("user", "What about the boat?")]})["messages"][-1].content

`utterance` says one line, `group_chat` holds rounds of a meeting, and `exchange` shows a picture and talks of it. All
run synchronously and asynchronously, with their parent's checkpointer or with `checkpointer`.
"""

from tertulia.langgraph.errors import ParentStateError, PeopleError
from tertulia.langgraph.exchanging import exchange
from tertulia.langgraph.saving import checkpointer
from tertulia.langgraph.speaking import utterance
from tertulia.langgraph.states import (
    ExchangeInput,
    ExchangeOutput,
    GroupChatInput,
    GroupChatOutput,
    PictureExchange,
    ScoredUnit,
    SpeakInput,
    SpeakOutput,
    Utterance,
)
from tertulia.langgraph.talking import group_chat

__all__ = [
    "ExchangeInput",
    "ExchangeOutput",
    "GroupChatInput",
    "GroupChatOutput",
    "ParentStateError",
    "PeopleError",
    "PictureExchange",
    "ScoredUnit",
    "SpeakInput",
    "SpeakOutput",
    "Utterance",
    "checkpointer",
    "exchange",
    "group_chat",
    "utterance",
]
