"""The graphs that `langgraph.json` names: all that can be run, for `langgraph dev` (docs/studio.md)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tertulia.cli.environment import model_access, store_path
from tertulia.runs.driving.studio import conversation_graph, town_graph
from tertulia.storage.addresses import argument_for

if TYPE_CHECKING:
    from tertulia.runs.driving.studio import Graph


def dialogue(config: Mapping[str, Any]) -> "Graph":
    """Return the graph of a dialogue of two; its settings are read from the config's `configurable`."""
    return conversation_graph("dialogue", config, store_path(None), model_access())


def group_chat(config: Mapping[str, Any]) -> "Graph":
    """Return the graph of a meeting (see `dialogue`)."""
    return conversation_graph("group_chat", config, store_path(None), model_access())


def album_chat(config: Mapping[str, Any]) -> "Graph":
    """Return the graph of an album chat (see `dialogue`)."""
    return conversation_graph("album_chat", config, store_path(None), model_access())


def town(config: Mapping[str, Any]) -> Any:
    """Return the graph of a town's days (see `dialogue`)."""
    return town_graph(config, store_path(None), model_access())


def utterance(config: Mapping[str, Any]) -> Any:
    """Return a graph in which a run says the next line of a thread (see `dialogue`)."""
    from tertulia.langgraph.served import utterance_graph

    access = model_access()
    return utterance_graph(config, argument_for(store_path(None)), access.cache, access.keys)


def exchange(config: Mapping[str, Any]) -> Any:
    """Return a graph in which a run is an exchange about a picture (see `dialogue`)."""
    from tertulia.langgraph.served import exchange_graph

    access = model_access()
    return exchange_graph(config, argument_for(store_path(None)), access.cache, access.keys)
