"""A dialogue: two agents in turn, until an utterance or a limit ends the conversation. Source: APP §2."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from tertulia.graphs.routing import answered_in_loop, is_finished
from tertulia.graphs.utterance import utterance_graph
from tertulia.graphs.walking import compiled_outside
from tertulia.nodes.conversation.seat import is_persons, speak_by_hand
from tertulia.nodes.conversation.turns import record_turn, take_turn
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.state.context import Context
from tertulia.state.graph_state import DialogueState

DialogueGraph = CompiledStateGraph[DialogueState, Context, DialogueState, DialogueState]


def build_dialogue_graph(
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    chosen: Mapping[str, NodeFunction] | None = None,
    *,
    interrupt_before: Sequence[str] = (),
    interrupt_after: Sequence[str] = (),
    walks: bool = False,
) -> DialogueGraph:
    """Return the dialogue graph; with a checkpointer it pauses after every turn, to store a checkpoint.

    Args:
        interrupt_before, interrupt_after: Names of nodes at which it pauses besides, those of the utterance graph too.
        walks: Whether inner graphs are walked through (`InnerGraph.walked`), as in a driven run.
    """
    utterance = utterance_graph(chosen)
    graph = StateGraph(DialogueState, context_schema=Context)
    graph.add_node("take_turn", take_turn)
    pauses = interrupt_before, interrupt_after
    graph.add_node("utterance", utterance.walked if walks else utterance.pausing(pauses))
    graph.add_node("speak_by_hand", speak_by_hand)
    graph.add_node("record_turn", record_turn)

    graph.add_edge(START, "take_turn")
    graph.add_conditional_edges(
        "take_turn", answered_in_loop(is_persons_turn), {True: "speak_by_hand", False: "utterance"}
    )
    graph.add_edge("utterance", "record_turn")
    graph.add_edge("speak_by_hand", "record_turn")
    graph.add_conditional_edges("record_turn", answered_in_loop(is_finished), {True: END, False: "take_turn"})
    return compiled_outside(graph, (utterance,), pauses, ["record_turn"], checkpointer)


def is_persons_turn(state: DialogueState, runtime: Runtime[Context]) -> bool:
    """Whether the speaker is a person."""
    return is_persons(state["speaker"], runtime.context, state["round"])
