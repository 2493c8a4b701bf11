"""One utterance: retrieve → vary → score → prune by λ → generate → judge → roll back or rewrite. Source: APP §3, §4.

A prompt is varied, and an utterance rewritten, only where the run says so (`revision`, docs/experiments.md).
"""

from collections.abc import Mapping
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from nodes.end import decide_ending
from nodes.generate import generate
from nodes.judge import judge
from nodes.machinery.node import NodeFunction
from nodes.prune import prune
from nodes.retrieve import retrieve_memory
from nodes.rewrite import choose_revision, rewrite
from nodes.rollback import roll_back, select_candidate
from nodes.scorers.attention import score_attention
from nodes.vary import vary_prompt
from state.context import Context
from state.graph_state import UtteranceInput, UtteranceOutput, UtteranceState

UtteranceGraph = CompiledStateGraph[UtteranceState, Context, UtteranceInput, UtteranceOutput]


def build_utterance_graph(chosen: Mapping[str, NodeFunction] | None = None) -> UtteranceGraph:
    """Return the utterance graph. λ is `removal_factor` of the run's parameters, and acts in `nodes/prune.py`.

    Args:
        chosen: By place, the nodes that stand there instead of these (`nodes.machinery.registry.Registry.functions`).
    """
    own = chosen or {}
    graph = StateGraph(
        UtteranceState, context_schema=Context, input_schema=UtteranceInput, output_schema=UtteranceOutput
    )
    graph.add_node("retrieve_memory", own.get("retrieve_memory", retrieve_memory))
    graph.add_node("vary_prompt", own.get("vary_prompt", vary_prompt))
    graph.add_node("score", own.get("score", score_attention))
    graph.add_node("prune", own.get("prune", prune))
    graph.add_node("generate", own.get("generate", generate))
    graph.add_node("judge", own.get("judge", judge))
    graph.add_node("choose_revision", own.get("choose_revision", choose_revision))
    graph.add_node("rewrite", own.get("rewrite", rewrite))
    graph.add_node("roll_back", own.get("roll_back", roll_back))
    graph.add_node("select_candidate", own.get("select_candidate", select_candidate))
    graph.add_node("decide_ending", own.get("decide_ending", decide_ending))

    graph.add_edge(START, "retrieve_memory")
    graph.add_conditional_edges(
        "retrieve_memory", what_comes_first, {"vary": "vary_prompt", "score": "score", "neither": "generate"}
    )
    graph.add_conditional_edges("vary_prompt", should_score, {True: "score", False: "generate"})
    graph.add_edge("score", "prune")
    graph.add_edge("prune", "generate")
    graph.add_conditional_edges("generate", should_judge, {True: "judge", False: "select_candidate"})
    graph.add_conditional_edges(
        "judge",
        how_to_revise,
        {"rollback": "roll_back", "rewrite": "rewrite", "combined": "choose_revision", "off": "select_candidate"},
    )
    graph.add_conditional_edges("choose_revision", should_rewrite, {True: "rewrite", False: "roll_back"})
    graph.add_edge("rewrite", "judge")
    graph.add_edge("roll_back", "judge")
    graph.add_edge("select_candidate", "decide_ending")
    graph.add_edge("decide_ending", END)
    return graph.compile()


def what_comes_first(state: UtteranceState, runtime: Runtime[Context]) -> Literal["vary", "score", "neither"]:
    """What is done with the prompt before it is answered."""
    if is_varied(runtime.context):
        return "vary"
    return "score" if should_score(state) else "neither"


def is_varied(context: Context) -> bool:
    """Whether prompts are varied: where the run's parameters say so, or a node of the user's own does it."""
    return context.parameters.prompts_are_varied or "vary_prompt" in context.nodes


def should_score(state: UtteranceState) -> bool:
    """Whether the prompt is scored: not at λ = 0, unless asked for."""
    return state["scoring_wanted"]


def should_judge(state: UtteranceState) -> bool:
    """Whether there is something to judge: nothing removed, nothing to contradict."""
    return state["judging_wanted"]


def how_to_revise(
    state: UtteranceState, runtime: Runtime[Context]
) -> Literal["rollback", "rewrite", "combined", "off"]:
    """What is done about the candidate: nothing, unless it conflicts and may still be revised."""
    return runtime.context.parameters.revision if state["conflict"] else "off"


def should_rewrite(state: UtteranceState) -> bool:
    """Whether the removed units suffice to know what should be said instead."""
    return state["rewritable"]
