"""One utterance: retrieve → score → prune by λ → generate → judge → roll back, or select. Source: APP §3, §4.

The selected line is scored once more, by itself: for the units that it leaned on (docs/why.md).
Between generating and judging, `sense` draws a candidate again that makes none (docs/measuring.md). If the run says
so, a prompt is varied before it is scored, and an utterance is rewritten instead of rolled back (docs/experiments.md).
"""

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
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
from tertulia.nodes.utterance.score_line import score_line
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

#: The steps with which an utterance begins and ends.
FIRST_STEP, LAST_STEP = "begin_utterance", "decide_ending"

#: The steps of every utterance but the first two, by place, in the order of the drawing.
_STEPS: Mapping[str, NodeFunction] = {
    "score": score_attention,
    "prune": prune,
    "generate": generate,
    "sense": sense,
    "judge": judge,
    "roll_back": roll_back,
    "select_candidate": select_candidate,
    "score_line": score_line,
    "decide_ending": decide_ending,
    "vary_prompt": vary_prompt,
    "choose_revision": choose_revision,
    "rewrite": rewrite,
}

UtteranceGraph = CompiledStateGraph[UtteranceState, Context, UtteranceInput, UtteranceOutput]


def build_utterance_graph(chosen: Mapping[str, NodeFunction] | None = None) -> UtteranceGraph:
    """Return the utterance graph; the argument is that of `utterance_graph`."""
    return utterance_graph(chosen).compiled


def utterance_graph(chosen: Mapping[str, NodeFunction] | None = None, has_prompt: bool = False) -> InnerGraph:
    """Return the utterance graph. λ is `removal_factor` of its state, found at its beginning, and acts in `prune`.

    Args:
        chosen: By place, the nodes that replace the shipped ones
            (`nodes.machinery.registry.Registry.functions`).
        has_prompt: Whether the full prompt is given, as in an album chat, so that nothing is retrieved for it.
    """
    return _built(tuple(sorted((chosen or {}).items())), has_prompt)


@lru_cache(maxsize=32)  # building takes as long as a turn, and a graph without a checkpointer has no owner
def _built(chosen: tuple[tuple[str, NodeFunction], ...], has_prompt: bool) -> InnerGraph:
    graph = InnerGraph(UtteranceState, PromptedInput if has_prompt else UtteranceInput, UtteranceOutput)
    add_utterance(graph, dict(chosen), has_prompt)
    graph.add_edge(START, FIRST_STEP)
    graph.add_edge(LAST_STEP, END)
    return graph


def add_utterance(
    graph: StateGraph[Any, Any, Any, Any] | InnerGraph,
    nodes: Mapping[str, NodeFunction],
    has_prompt: bool = False,
    as_node: Callable[[NodeFunction, str], Any] = lambda node, _: node,
    as_router: Callable[[Callable[..., Any]], Any] = lambda question: question,
) -> None:
    """Add the steps of an utterance to a graph, from `FIRST_STEP` to `LAST_STEP`, which the graph connects itself.

    Args:
        nodes: By place, the nodes that replace the shipped ones.
        has_prompt: As of `utterance_graph`.
        as_node: Makes the graph's own form of a node at a place.
        as_router: Makes the graph's own form of a question about the state.
    """
    graph.add_node(FIRST_STEP, as_node(begin_utterance, FIRST_STEP))
    if not has_prompt:
        graph.add_node("retrieve_memory", as_node(nodes.get("retrieve_memory", retrieve_memory), "retrieve_memory"))
    for place, shipped in _STEPS.items():
        graph.add_node(place, as_node(nodes.get(place, shipped), place))

    if not has_prompt:
        graph.add_edge(FIRST_STEP, "retrieve_memory")
    # The main line: each step, and the next one.
    prompted = FIRST_STEP if has_prompt else "retrieve_memory"
    graph.add_conditional_edges(prompted, as_router(what_to_do_with_prompt), _PROMPT_PATHS)
    graph.add_edge("score", "prune")
    graph.add_edge("prune", "generate")
    graph.add_edge("generate", "sense")
    graph.add_conditional_edges("sense", as_router(should_judge), {True: "judge", False: "select_candidate"})
    graph.add_conditional_edges("judge", as_router(how_to_revise), _REVISION_PATHS)
    graph.add_edge("roll_back", "sense")
    # The variants: another prompt before the scores, another revision after the judge.
    graph.add_conditional_edges("vary_prompt", as_router(should_score), {True: "score", False: "generate"})
    graph.add_conditional_edges("choose_revision", as_router(should_rewrite), {True: "rewrite", False: "roll_back"})
    graph.add_edge("rewrite", "judge")

    graph.add_edge("select_candidate", "score_line")
    graph.add_edge("score_line", LAST_STEP)


def what_to_do_with_prompt(state: UtteranceState, runtime: Runtime[Context]) -> Literal["score", "vary", "neither"]:
    """Return whether the prompt is scored, varied or neither before it is answered."""
    context = runtime.context
    if context.parameters.prompts_are_varied or "vary_prompt" in context.nodes:
        return "vary"
    return "score" if should_score(state, runtime) else "neither"


def should_score(state: UtteranceState, runtime: Runtime[Context]) -> bool:
    """Whether the prompt is scored: not if λ is 0 in this turn, unless asked for."""
    parameters = runtime.context.of(state["speaker"]).parameters
    return removal_factor_of(state, parameters) != 0 or parameters.record_scores


def should_judge(state: UtteranceState, runtime: Runtime[Context]) -> bool:
    """Whether there is something to judge: without removed units, there is nothing to contradict."""
    return runtime.context.of(state["speaker"]).parameters.judging_is_wanted(bool(state["removed"]))


def how_to_revise(
    state: UtteranceState, runtime: Runtime[Context]
) -> Literal["accept", "rollback", "rewrite", "combined"]:
    """Return how the candidate is revised: it is accepted unless it conflicts and may still be revised."""
    revision = runtime.context.parameters.revision
    return revision if state["conflict"] and revision != "off" else "accept"


def should_rewrite(state: UtteranceState) -> bool:
    """Whether the removed units suffice to know the right utterance."""
    return state["rewritable"]
