"""Days of a town: two meet, talk, agree, remember, reflect; then the next pair. Source: Park et al. 2023; APP §2."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from tertulia.graphs.routing import answered_in_loop, is_finished
from tertulia.nodes.town.agree import agree
from tertulia.nodes.town.encounter import converse, next_encounter
from tertulia.nodes.town.reflect import reflect
from tertulia.nodes.town.remember import remember
from tertulia.state.graph_state import TownState
from tertulia.state.town import TownContext

TownGraph = CompiledStateGraph[TownState, TownContext, TownState, TownState]


def build_town_graph(checkpointer: BaseCheckpointSaver[Any] | None = None) -> TownGraph:
    """Return the graph of a town; with a checkpointer it pauses after every encounter, to store a checkpoint."""
    graph = StateGraph(TownState, context_schema=TownContext)
    graph.add_node("next_encounter", next_encounter)
    graph.add_node("converse", converse)
    graph.add_node("agree", agree)
    graph.add_node("remember", remember)
    graph.add_node("reflect", reflect)

    graph.add_edge(START, "next_encounter")
    graph.add_conditional_edges("next_encounter", answered_in_loop(is_finished), {True: END, False: "converse"})
    graph.add_edge("converse", "agree")
    graph.add_edge("agree", "remember")
    graph.add_edge("remember", "reflect")
    graph.add_edge("reflect", "next_encounter")
    return graph.compile(checkpointer=checkpointer, interrupt_after=["reflect"] if checkpointer else None)
