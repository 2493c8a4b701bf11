"""An agent's cognition: perceive → choose mechanisms → run them → assess → decide. Source: ChatAgents §III-A."""

from collections.abc import Mapping
from functools import lru_cache

from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph

from tertulia.graphs.walking import InnerGraph
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.nodes.machinery.seating import first_step, last_step
from tertulia.nodes.meeting.assess import assess
from tertulia.nodes.meeting.bid import decide
from tertulia.nodes.meeting.choose_mechanisms import choose_mechanisms
from tertulia.nodes.meeting.perceive import perceive
from tertulia.nodes.meeting.run_mechanisms import run_mechanisms
from tertulia.state.context import Context
from tertulia.state.graph_state import CognitionInput, CognitionOutput, CognitionState

CognitionGraph = CompiledStateGraph[CognitionState, Context, CognitionInput, CognitionOutput]


def build_cognition_graph(chosen: Mapping[str, NodeFunction] | None = None) -> CognitionGraph:
    """Return the cognition graph of one agent, with users' nodes by place; a round runs one for each agent present."""
    return cognition_graph(chosen).compiled


def cognition_graph(chosen: Mapping[str, NodeFunction] | None = None, is_seated: bool = True) -> InnerGraph:
    """Return the cognition graph of one agent, with users' nodes by place.

    Args:
        is_seated: Whether agents wait for each other's calls; they can't where each may pause by itself.
    """
    return _built(tuple(sorted((chosen or {}).items())), is_seated)


@lru_cache(maxsize=32)  # building takes as long as a round, and a graph without a checkpointer has no owner
def _built(chosen: tuple[tuple[str, NodeFunction], ...], is_seated: bool) -> InnerGraph:
    nodes = dict(chosen)
    first, last = nodes.get("perceive", perceive), nodes.get("decide", decide)
    graph = InnerGraph(CognitionState, CognitionInput, CognitionOutput)
    graph.add_node("perceive", first_step(first) if is_seated else first)
    graph.add_node("choose_mechanisms", nodes.get("choose_mechanisms", choose_mechanisms))
    graph.add_node("run_mechanisms", nodes.get("run_mechanisms", run_mechanisms))
    graph.add_node("assess", nodes.get("assess", assess))
    graph.add_node("decide", last_step(last) if is_seated else last)
    perceived, assessed = "perceive", "assess"
    if "after_perceive" in nodes:
        graph.add_node("after_perceive", nodes["after_perceive"])
        graph.add_edge("perceive", perceived := "after_perceive")
    if "after_assess" in nodes:
        graph.add_node("after_assess", nodes["after_assess"])
        graph.add_edge("assess", assessed := "after_assess")

    graph.add_edge(START, "perceive")
    graph.add_edge(perceived, "choose_mechanisms")
    graph.add_conditional_edges("choose_mechanisms", is_any_active, {True: "run_mechanisms", False: "assess"})
    graph.add_edge("run_mechanisms", "assess")
    graph.add_edge(assessed, "decide")
    graph.add_edge("decide", END)
    return graph


def is_any_active(state: CognitionState) -> bool:
    """Whether the agent has switched on any mechanism."""
    return bool(state["active"])
