"""A meeting: in every round all agents think, willing agents race for the floor, and the winner speaks.

Source: ChatAgents §III, Fig. 2. The other four speaking orders replace the race.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from tertulia.graphs.cognition import cognition_graph
from tertulia.graphs.routing import answered_in_loop, is_finished
from tertulia.graphs.utterance import utterance_graph
from tertulia.graphs.walking import compiled_outside
from tertulia.nodes.conversation.seat import attend, is_persons, speak_by_hand
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.nodes.meeting.orders import centralised, designated, random_order, rule_based
from tertulia.nodes.meeting.prepare import prepare
from tertulia.nodes.meeting.race import race
from tertulia.nodes.meeting.rounds import open_round, record_silence, record_speech
from tertulia.state.context import Context
from tertulia.state.graph_state import GroupState, cognition_of
from tertulia.state.parameters import Order

GroupGraph = CompiledStateGraph[GroupState, Context, GroupState, GroupState]


class FloorNode(Protocol):
    """A node that gives the floor to a participant in the meeting, or to no one."""

    __name__: str

    async def __call__(self, state: GroupState, runtime: Runtime[Context]) -> GroupState:
        """Return the update with the speaker and the time of the first word."""


#: The node that gives the floor, by speaking order. Source: ChatAgents Fig. 1.
ORDERS: Mapping[Order, FloorNode] = {
    "self_driven": race,
    "rule_based": rule_based,
    "centralised": centralised,
    "random": random_order,
    "designated": designated,
}

_LAST_OF_A_ROUND = ["record_speech", "record_silence"]


def build_group_chat_graph(
    order: Order = "self_driven",
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    chosen: Mapping[str, NodeFunction] | None = None,
    *,
    interrupt_before: Sequence[str] = (),
    interrupt_after: Sequence[str] = (),
    walks: bool = False,
) -> GroupGraph:
    """Return the group-chat graph; with a checkpointer it pauses after every round, to store a checkpoint.

    Args:
        interrupt_before, interrupt_after: Names of nodes at which it pauses besides, those of inner graphs too.
        walks: Whether inner graphs are walked through (`InnerGraph.walked`), as in a driven run.
    """
    nodes, utterance = chosen or {}, utterance_graph(chosen)
    pauses = interrupt_before, interrupt_after
    cognition = cognition_graph(chosen)
    if any(cognition.has(name) for names in pauses for name in names):
        cognition = cognition_graph(chosen, is_seated=False)
    give_floor = ORDERS[order].__name__
    graph = StateGraph(GroupState, context_schema=Context)
    graph.add_node("prepare", prepare)
    graph.add_node("open_round", open_round)
    graph.add_node("cognition", cognition.walked if walks else cognition.pausing(pauses))
    graph.add_node("attend", attend)
    graph.add_node(give_floor, nodes.get(give_floor, ORDERS[order]))
    graph.add_node("utterance", utterance.walked if walks else utterance.pausing(pauses))
    graph.add_node("speak_by_hand", speak_by_hand)
    graph.add_node("record_speech", record_speech)
    graph.add_node("record_silence", record_silence)

    graph.add_conditional_edges(START, answered_in_loop(each_unprepared), ["prepare", "open_round"])
    graph.add_edge("prepare", "open_round")
    graph.add_conditional_edges("open_round", answered_in_loop(each_who_is_there), ["cognition", "attend"])
    graph.add_edge("cognition", give_floor)
    graph.add_edge("attend", give_floor)
    graph.add_conditional_edges(
        give_floor,
        answered_in_loop(who_has_the_floor),
        {"agent": "utterance", "person": "speak_by_hand", "nobody": "record_silence"},
    )
    graph.add_edge("utterance", "record_speech")
    graph.add_edge("speak_by_hand", "record_speech")
    for last in _LAST_OF_A_ROUND:
        graph.add_conditional_edges(last, answered_in_loop(is_finished), {True: END, False: "open_round"})
    return compiled_outside(graph, (utterance, cognition), pauses, _LAST_OF_A_ROUND, checkpointer)


def each_unprepared(state: GroupState) -> list[Send] | str:
    """Send a preparation for each unprepared participant, latecomers included; a fork may need none."""
    names = state["unprepared"]
    return [Send("prepare", {**cognition_of(state, name), "round": 0, "present": names}) for name in names] or (
        "open_round"
    )


def each_who_is_there(state: GroupState, runtime: Runtime[Context]) -> list[Send]:
    """Send a cognition for each agent present; a person attends instead."""
    return [
        Send("attend" if is_persons(name, runtime.context, state["round"]) else "cognition", cognition_of(state, name))
        for name in state["present"]
    ]


def who_has_the_floor(state: GroupState, runtime: Runtime[Context]) -> Literal["agent", "person", "nobody"]:
    """Return the kind of speaker: an agent, a person, or nobody, which makes the round a silence."""
    if not state["speaker"]:
        return "nobody"
    return "person" if is_persons(state["speaker"], runtime.context, state["round"]) else "agent"
