"""Tertulia's graphs as subgraphs of one's own LangGraph graph."""

from tertulia.langgraph.utterance import utterance

__all__ = ["utterance"]
