"""One utterance: retrieve → score → prune by λ → generate → judge → roll back. Source: APP §3 and §4."""

from collections.abc import Mapping

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from nodes.end import decide_ending
from nodes.generate import generate
from nodes.judge import judge
from nodes.node import NodeFunction
from nodes.prune import prune
from nodes.retrieve import retrieve_memory
from nodes.rollback import roll_back, settle
from nodes.scorers.attention import score_attention
from state.contracts import Context
from state.graph_state import UtteranceInput, UtteranceOutput, UtteranceState

UtteranceGraph = CompiledStateGraph[UtteranceState, Context, UtteranceInput, UtteranceOutput]


def build_utterance_graph(chosen: Mapping[str, NodeFunction] | None = None) -> UtteranceGraph:
    """Return the utterance graph. λ is `removal_factor` of the run's parameters, and acts in `nodes/prune.py`.

    Args:
        chosen: By place, the nodes that stand there instead of these (`nodes.registry.Registry.functions`).
    """
    own = chosen or {}
    graph = StateGraph(
        UtteranceState, context_schema=Context, input_schema=UtteranceInput, output_schema=UtteranceOutput
    )
    graph.add_node("retrieve_memory", own.get("retrieve_memory", retrieve_memory))
    graph.add_node("score", own.get("score", score_attention))
    graph.add_node("prune", own.get("prune", prune))
    graph.add_node("generate", own.get("generate", generate))
    graph.add_node("judge", own.get("judge", judge))
    graph.add_node("roll_back", own.get("roll_back", roll_back))
    graph.add_node("settle", own.get("settle", settle))
    graph.add_node("decide_ending", own.get("decide_ending", decide_ending))

    graph.add_edge(START, "retrieve_memory")
    graph.add_conditional_edges("retrieve_memory", should_score, {True: "score", False: "generate"})
    graph.add_edge("score", "prune")
    graph.add_edge("prune", "generate")
    graph.add_conditional_edges("generate", should_judge, {True: "judge", False: "settle"})
    graph.add_conditional_edges("judge", should_roll_back, {True: "roll_back", False: "settle"})
    graph.add_edge("roll_back", "judge")
    graph.add_edge("settle", "decide_ending")
    graph.add_edge("decide_ending", END)
    return graph.compile()


def should_score(state: UtteranceState) -> bool:
    """Whether the prompt is scored: not at λ = 0, unless asked for."""
    return state["scoring_wanted"]


def should_judge(state: UtteranceState) -> bool:
    """Whether there is something to judge: nothing removed, nothing to contradict."""
    return state["judging_wanted"]


def should_roll_back(state: UtteranceState) -> bool:
    """Whether the candidate conflicts and a backup is left."""
    return state["conflict"]
