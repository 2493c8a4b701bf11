"""The graphs for a graph of one's own as LangGraph's server runs them: an utterance, and an exchange."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from tertulia.langgraph.exchanging import exchange
from tertulia.langgraph.speaking import utterance
from tertulia.langgraph.states import PictureExchange, Utterance
from tertulia.runs.driving.studio import read_settings
from tertulia.state.records import Record

#: The default people, and their albums.
_PEOPLE: tuple[dict[str, Any], ...] = (
    {"name": "Ana", "traits": "dry, exact", "memories": ["Ana sold her boat in March.", "Ana likes rain."]},
    {"name": "Bo", "traits": "cheerful", "memories": ["Bo has fixed the harbour's crane.", "Bo owes Ana a supper."]},
)
_ALBUMS = ("a red boat", "a storm over the quay"), ("a loaf on a board", "a grey cat")


class PeopleSettings(Record):
    """The settings of talking people; the server calls them the assistant's context.

    Attributes:
        people: Names, or mappings as `tertulia.langgraph` takes them; `None` for the two default people.
        removal_factor: λ in [0, 1]; `None` for 0.
        seed: Seed of all draws.
        model: `rehearsal`, `smollm2`, a folder or a hub id.
    """

    people: tuple[str | dict[str, Any], ...] | None = None
    removal_factor: float | None = None
    seed: int = 1
    model: str = "rehearsal"


class UtteranceThread(MessagesState, total=False):
    """A thread of the server in which people talk; a run adds a line."""

    topic: str
    speaker: str
    utterance: Utterance


class ExchangeThread(MessagesState, total=False):
    """A thread of the server in which people show pictures; a run is an exchange."""

    topic: str
    asker: str
    answerer: str
    exchange: PictureExchange


def utterance_graph(
    config: Mapping[str, Any], store: str, cache: Path, keys: Mapping[str, str]
) -> CompiledStateGraph[UtteranceThread, PeopleSettings, UtteranceThread, UtteranceThread]:
    """Return a graph with an utterance as its only node; `TertuliaError` if a setting is not acceptable."""
    chosen = read_settings(PeopleSettings, config.get("configurable", {}))
    node = utterance(chosen.people or _PEOPLE, **_options(chosen, store, cache, keys))
    graph = StateGraph(UtteranceThread, context_schema=PeopleSettings)
    graph.add_node("speak", node)
    graph.add_edge(START, "speak")
    graph.add_edge("speak", END)
    return graph.compile(name="utterance")


def exchange_graph(
    config: Mapping[str, Any], store: str, cache: Path, keys: Mapping[str, str]
) -> CompiledStateGraph[ExchangeThread, PeopleSettings, ExchangeThread, ExchangeThread]:
    """Return a graph with an exchange as its only node; `TertuliaError` if a setting is not acceptable."""
    chosen = read_settings(PeopleSettings, config.get("configurable", {}))
    shipped = [{**person, "album": album} for person, album in zip(_PEOPLE, _ALBUMS, strict=True)]
    node = exchange(chosen.people or shipped, **_options(chosen, store, cache, keys))
    graph = StateGraph(ExchangeThread, context_schema=PeopleSettings)
    graph.add_node("meet", node)
    graph.add_edge(START, "meet")
    graph.add_edge("meet", END)
    return graph.compile(name="exchange")


def _options(chosen: PeopleSettings, store: str, cache: Path, keys: Mapping[str, str]) -> dict[str, Any]:
    fields = {"model": chosen.model, "removal_factor": chosen.removal_factor, "seed": chosen.seed}
    return {**fields, "store": store, "cache": str(cache), "api_keys": keys}
