"""Graphs of somebody else's, with Tertulia's as nodes of them."""

from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

import tertulia.langgraph

PEOPLE: list[dict[str, Any]] = [
    {"name": "Ana", "traits": "dry", "memories": ["Ana sold the boat in March.", "Ana likes rain."]},
    {"name": "Bo", "description": "a crane driver", "memories": ["Bo fixed the crane.", "Bo owes Ana a supper."]},
]


class Parent(MessagesState, total=False):
    """A state of one's own."""

    topic: str
    speaker: str
    utterance: dict[str, Any]
    utterances: list[dict[str, Any]]
    minds: dict[str, Any]
    exchange: dict[str, Any]


def thread(name: str = "t") -> Any:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": name}}


def graph_of(node: Any, saver: Any = None, state: Any = Parent) -> Any:
    """Return a graph with one node."""
    builder = StateGraph(state)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(checkpointer=saver)


def speaking(folder: Path, saver: Any = None, state: Any = Parent, **options: Any) -> Any:
    """Return a graph in which the two talk, rehearsed, at λ = 0.5; their store is in a folder."""
    given = {"people": PEOPLE, "model": "rehearsal", "removal_factor": 0.5, "store": str(folder / "talk.db"), **options}
    return graph_of(tertulia.langgraph.utterance(**given), saver or InMemorySaver(), state)


HELLO: Any = {"messages": [], "topic": "The boat that was sold"}
