"""Tertulia's graphs as subgraphs of one's own LangGraph graph."""

from tertulia.langgraph.exchange import exchange
from tertulia.langgraph.group_chat import group_chat
from tertulia.langgraph.utterance import utterance

__all__ = ["exchange", "group_chat", "utterance"]
