"""An agent's cognition: perceive → choose mechanisms → run them → assess → decide. Source: ChatAgents §III-A."""

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from nodes.assess import assess
from nodes.choose_mechanisms import choose_mechanisms
from nodes.decide import decide
from nodes.perceive import perceive
from nodes.run_mechanisms import run_mechanisms
from state.contracts import Context
from state.graph_state import CognitionInput, CognitionOutput, CognitionState

CognitionGraph = CompiledStateGraph[CognitionState, Context, CognitionInput, CognitionOutput]


def build_cognition_graph() -> CognitionGraph:
    """Return the cognition graph of one agent; a round runs one for each who is there."""
    graph = StateGraph(
        CognitionState, context_schema=Context, input_schema=CognitionInput, output_schema=CognitionOutput
    )
    graph.add_node("perceive", perceive)
    graph.add_node("choose_mechanisms", choose_mechanisms)
    graph.add_node("run_mechanisms", run_mechanisms)
    graph.add_node("assess", assess)
    graph.add_node("decide", decide)

    graph.add_edge(START, "perceive")
    graph.add_edge("perceive", "choose_mechanisms")
    graph.add_conditional_edges("choose_mechanisms", is_any_active, {True: "run_mechanisms", False: "assess"})
    graph.add_edge("run_mechanisms", "assess")
    graph.add_edge("assess", "decide")
    graph.add_edge("decide", END)
    return graph.compile()


def is_any_active(state: CognitionState) -> bool:
    """Whether the agent has switched on any mechanism."""
    return bool(state["active"])
