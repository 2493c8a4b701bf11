"""An album chat: in every round all meet in pairs; one shows a picture and asks, the other answers.

Source: the pairwise album chat, Fig. 13 to 15.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from tertulia.graphs.routing import answered_in_loop, is_finished
from tertulia.graphs.utterance import utterance_graph
from tertulia.graphs.walking import InnerGraph, Pauses, compiled_outside
from tertulia.nodes.album.draw_pairs import draw_pairs
from tertulia.nodes.album.exchange import hand_over, meet, remember_exchange
from tertulia.nodes.album.find_picture import find_picture
from tertulia.nodes.album.record_round import record_round
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.nodes.machinery.seating import unseated
from tertulia.state.context import Context
from tertulia.state.graph_state import AlbumState, ExchangeInput, ExchangeOutput, ExchangeState

ExchangeGraph = CompiledStateGraph[ExchangeState, Context, ExchangeInput, ExchangeOutput]
AlbumGraph = CompiledStateGraph[AlbumState, Context, AlbumState, AlbumState]


def build_exchange_graph(chosen: Mapping[str, NodeFunction] | None = None) -> ExchangeGraph:
    """Return the graph of an exchange, with users' nodes by place."""
    return exchange_graph(chosen).compiled


def exchange_graph(chosen: Mapping[str, NodeFunction] | None = None, pauses: Pauses = ((), ())) -> InnerGraph:
    """Return the graph of an exchange: plan → find the picture that it means → question → answer → remember.

    Args:
        pauses: Those that are at nodes of an utterance hold for plan, question and answer.
    """
    utterance = utterance_graph(chosen, has_prompt=True)
    graph = InnerGraph(ExchangeState, ExchangeInput, ExchangeOutput)
    graph.add_node("meet", meet)
    graph.add_node("plan", utterance, pauses)
    graph.add_node("find_picture", find_picture)
    graph.add_node("question", utterance, pauses)
    graph.add_node("hand_over", hand_over)
    graph.add_node("answer", utterance, pauses)
    graph.add_node("remember_exchange", remember_exchange)

    graph.add_edge(START, "meet")
    graph.add_edge("meet", "plan")
    graph.add_edge("plan", "find_picture")
    graph.add_edge("find_picture", "question")
    graph.add_edge("question", "hand_over")
    graph.add_edge("hand_over", "answer")
    graph.add_edge("answer", "remember_exchange")
    graph.add_edge("remember_exchange", END)
    return graph


def build_album_chat_graph(
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    chosen: Mapping[str, NodeFunction] | None = None,
    *,
    interrupt_before: Sequence[str] = (),
    interrupt_after: Sequence[str] = (),
    walks: bool = False,
) -> AlbumGraph:
    """Return the album-chat graph; with a checkpointer it pauses after every round, to store a checkpoint.

    Args:
        interrupt_before, interrupt_after: Names of nodes at which it pauses besides, those of inner graphs too.
        walks: Whether inner graphs are walked through (`InnerGraph.walked`), as in a driven run.
    """
    pauses = interrupt_before, interrupt_after
    exchange = exchange_graph(chosen, pauses)
    may_pause = any(exchange.has(name) for names in pauses for name in names)
    graph = StateGraph(AlbumState, context_schema=Context)
    graph.add_node("draw_pairs", unseated(draw_pairs) if may_pause else draw_pairs)
    graph.add_node("exchange", exchange.walked if walks else exchange.pausing(pauses))
    graph.add_node("record_round", record_round)

    graph.add_edge(START, "draw_pairs")
    graph.add_conditional_edges("draw_pairs", answered_in_loop(each_pair), ["exchange"])
    graph.add_edge("exchange", "record_round")
    graph.add_conditional_edges("record_round", answered_in_loop(is_finished), {True: END, False: "draw_pairs"})
    return compiled_outside(graph, (exchange,), pauses, ["record_round"], checkpointer)


def each_pair(state: AlbumState) -> list[Send]:
    """Send an exchange for each pair, except those that a fork shares with its parent."""
    pairs = list(enumerate(state["pairs"], start=state["turn"] + 1))[state["kept"] :]
    return [
        Send(
            "exchange",
            ExchangeInput(
                round=state["round"],
                turn=turn,
                sim_time_s=state["sim_time_s"],
                asker=asker,
                answerer=answerer,
                belongings={name: state["belongings"][name] for name in (asker, answerer)},
            ),
        )
        for turn, (asker, answerer) in pairs
    ]
