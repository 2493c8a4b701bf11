"""One utterance: retrieve → score → prune by λ → generate → judge → roll back, or select. Source: APP §3, §4.

Between generating and judging, `sense` draws a candidate again that makes none (docs/measuring.md). Where the run says
so, a prompt is varied before it is scored, and an utterance is rewritten instead of rolled back (docs/experiments.md).
"""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Literal

from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from tertulia.graphs.walking import InnerGraph
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.nodes.scorers.attention import score_attention
from tertulia.nodes.shared.removal_factor import removal_factor_of
from tertulia.nodes.utterance.begin import begin_utterance
from tertulia.nodes.utterance.end import decide_ending
from tertulia.nodes.utterance.generate import generate
from tertulia.nodes.utterance.judge import judge
from tertulia.nodes.utterance.prune import prune
from tertulia.nodes.utterance.retrieve import retrieve_memory
from tertulia.nodes.utterance.rewrite import choose_revision, rewrite
from tertulia.nodes.utterance.rollback import roll_back, select_candidate
from tertulia.nodes.utterance.sense import sense
from tertulia.nodes.utterance.vary import vary_prompt
from tertulia.state.context import Context
from tertulia.state.graph_state import PromptedInput, UtteranceInput, UtteranceOutput, UtteranceState

#: The next node, by the answer of `what_to_do_with_prompt` and of `how_to_revise`.
_PROMPT_PATHS: dict[Hashable, str] = {"score": "score", "vary": "vary_prompt", "neither": "generate"}
_REVISION_PATHS: dict[Hashable, str] = {
    "accept": "select_candidate",
    "rollback": "roll_back",
    "rewrite": "rewrite",
    "combined": "choose_revision",
}

UtteranceGraph = CompiledStateGraph[UtteranceState, Context, UtteranceInput, UtteranceOutput]


def build_utterance_graph(chosen: Mapping[str, NodeFunction] | None = None, has_prompt: bool = False) -> UtteranceGraph:
    """Return the utterance graph; the arguments are those of `utterance_graph`."""
    return utterance_graph(chosen, has_prompt).compiled


def utterance_graph(chosen: Mapping[str, NodeFunction] | None = None, has_prompt: bool = False) -> InnerGraph:
    """Return the utterance graph. λ is `removal_factor` of its state, found at its beginning, and acts in `prune`.

    Args:
        chosen: By place, the nodes that stand there instead of the shipped ones
            (`nodes.machinery.registry.Registry.functions`).
        has_prompt: Whether the full prompt is given, as in an album chat, so that nothing is retrieved for it.
    """
    return _built(tuple(sorted((chosen or {}).items())), has_prompt)


@lru_cache(maxsize=32)  # building takes as long as a turn, and a graph without a checkpointer is nobody's
def _built(chosen: tuple[tuple[str, NodeFunction], ...], has_prompt: bool) -> InnerGraph:
    nodes = dict(chosen)
    graph = InnerGraph(UtteranceState, PromptedInput if has_prompt else UtteranceInput, UtteranceOutput)
    graph.add_node("begin_utterance", begin_utterance)
    if not has_prompt:
        graph.add_node("retrieve_memory", nodes.get("retrieve_memory", retrieve_memory))
    graph.add_node("score", nodes.get("score", score_attention))
    graph.add_node("prune", nodes.get("prune", prune))
    graph.add_node("generate", nodes.get("generate", generate))
    graph.add_node("sense", nodes.get("sense", sense))
    graph.add_node("judge", nodes.get("judge", judge))
    graph.add_node("roll_back", nodes.get("roll_back", roll_back))
    graph.add_node("select_candidate", nodes.get("select_candidate", select_candidate))
    graph.add_node("decide_ending", nodes.get("decide_ending", decide_ending))
    graph.add_node("vary_prompt", nodes.get("vary_prompt", vary_prompt))
    graph.add_node("choose_revision", nodes.get("choose_revision", choose_revision))
    graph.add_node("rewrite", nodes.get("rewrite", rewrite))

    graph.add_edge(START, "begin_utterance")
    if not has_prompt:
        graph.add_edge("begin_utterance", "retrieve_memory")
    # The main line: each step, and what follows it.
    prompted = "begin_utterance" if has_prompt else "retrieve_memory"
    graph.add_conditional_edges(prompted, what_to_do_with_prompt, _PROMPT_PATHS)
    graph.add_edge("score", "prune")
    graph.add_edge("prune", "generate")
    graph.add_edge("generate", "sense")
    graph.add_conditional_edges("sense", should_judge, {True: "judge", False: "select_candidate"})
    graph.add_conditional_edges("judge", how_to_revise, _REVISION_PATHS)
    graph.add_edge("roll_back", "sense")
    # The variants: another prompt before the scores, another revision after the judge.
    graph.add_conditional_edges("vary_prompt", should_score, {True: "score", False: "generate"})
    graph.add_conditional_edges("choose_revision", should_rewrite, {True: "rewrite", False: "roll_back"})
    graph.add_edge("rewrite", "judge")

    graph.add_edge("select_candidate", "decide_ending")
    graph.add_edge("decide_ending", END)
    return graph


def what_to_do_with_prompt(state: UtteranceState, runtime: Runtime[Context]) -> Literal["score", "vary", "neither"]:
    """Return whether the prompt is scored, varied or neither before it is answered."""
    context = runtime.context
    if context.parameters.prompts_are_varied or "vary_prompt" in context.nodes:
        return "vary"
    return "score" if should_score(state, runtime) else "neither"


def should_score(state: UtteranceState, runtime: Runtime[Context]) -> bool:
    """Whether the prompt is scored: not where λ is 0 in this turn, unless asked for."""
    parameters = runtime.context.of(state["speaker"]).parameters
    return removal_factor_of(state, parameters) != 0 or parameters.record_scores


def should_judge(state: UtteranceState, runtime: Runtime[Context]) -> bool:
    """Whether there is something to judge: where nothing was removed, there is nothing to contradict."""
    return runtime.context.of(state["speaker"]).parameters.judging_is_wanted(bool(state["removed"]))


def how_to_revise(
    state: UtteranceState, runtime: Runtime[Context]
) -> Literal["accept", "rollback", "rewrite", "combined"]:
    """Return how the candidate is revised: it is accepted unless it conflicts and may still be revised."""
    revision = runtime.context.parameters.revision
    return revision if state["conflict"] and revision != "off" else "accept"


def should_rewrite(state: UtteranceState) -> bool:
    """Whether the removed units suffice to know what should be said instead."""
    return state["rewritable"]
