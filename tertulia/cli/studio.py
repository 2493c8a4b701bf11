"""The graphs that `langgraph.json` names: all that can be run, for `langgraph dev` (docs/studio.md)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tertulia.cli.environment import model_access, store_path
from tertulia.runs.driving.studio import conversation_graph

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
