"""Drive a conversation's graph from its last checkpoint: one turn, or one round of an album chat, per invocation.

A turn is interrupted while people in seats are asked; the others think meanwhile. So it is while a line is held
(`held_line`).
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, StateSnapshot

from tertulia.graphs.album_chat import AlbumGraph, build_album_chat_graph
from tertulia.graphs.dialogue import DialogueGraph, build_dialogue_graph
from tertulia.graphs.group_chat import GroupGraph, build_group_chat_graph
from tertulia.graphs.town import TownGraph
from tertulia.nodes.conversation.seat import invite
from tertulia.runs.driving.events import Emit, Noted, StepStarted, TurnFinished, ignore
from tertulia.runs.driving.held_line import wait_for_edit
from tertulia.runs.driving.platforms import note_platform
from tertulia.runs.driving.tracing import Tracer
from tertulia.runs.planning.entering import enter
from tertulia.runs.planning.meeting_check import notes_of_round, warnings_of
from tertulia.runs.planning.prompt_language import language_notes
from tertulia.state.cognition import Trace
from tertulia.state.context import Context
from tertulia.state.errors import HandedOverError, UsageError
from tertulia.state.graph_state import GroupState
from tertulia.state.line_edit import EDITED_ATTEMPT, HELD
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Order
from tertulia.state.records import EndedBy, RunKind
from tertulia.state.seat import Ask
from tertulia.storage.driven import DrivenStore
from tertulia.storage.sqlite.checkpoints import SynchronousSaver
from tertulia.views.reading.removal import notes_of_turn

#: The nodes with which a turn begins, and the nodes one of which ends it.
_FIRST = ("take_turn", "open_round", "draw_pairs")
_LAST = ("record_turn", "record_speech", "record_silence", "record_round")

#: States that are read at once; a run goes on from one of its newest.
_PAGE = 8

ConversationGraph = DialogueGraph | GroupGraph | AlbumGraph


async def drive(
    context: Context,
    checkpointer: BaseCheckpointSaver[Any],
    emit: Emit = ignore,
    ask: Ask | None = None,
) -> EndedBy | None:
    """Drive a conversation to its end, and return why it ended; an interrupted run goes on after its last whole turn.

    An unfinished turn starts over: agents that think together must begin together. Draws are the same, and model calls
    in the journal are not repeated.

    Args:
        context: The run; its id names the thread of checkpoints.
        emit: Receives `StepStarted` as each step begins, `TurnFinished` once a turn is stored, and `Noted`.
        ask: Asks the person in the seat and returns their answer; `None` if they leave.

    Raises:
        LeftError: The person has left. Their words until then are stored.
        UsageError: The run has a seat, and there is nobody to ask.
    """
    if context.parameters.seat is not None and ask is None:
        raise UsageError(
            f"seat={context.parameters.seat}: there is nobody to ask here; leave the seat out, use `tertulia run`, or "
            "give a function in Python: ask=…"
        )
    with context.store.deferring() if isinstance(context.store, DrivenStore) else nullcontext():
        return await _drive(context, checkpointer, emit, ask)


async def _drive(
    context: Context, checkpointer: BaseCheckpointSaver[Any], emit: Emit, ask: Ask | None
) -> EndedBy | None:
    context.broker.clear()
    context.kept.clear()
    context = replace(context, recorded={})
    note_platform(context, emit)
    graph = build_graph(context.start.kind, context.parameters.order, context.nodes, checkpointer)
    config: RunnableConfig = {"configurable": {"thread_id": context.run}}
    entry: Any = None
    record = context.store.run(context.run)
    known = await _whole_state(graph, config, checkpointer, record.parent)
    if known is not None and known.values.get("finished"):
        return cast(EndedBy, known.values["ended_by"])
    if known is not None:
        last = known.values["turn"]
        if not isinstance(checkpointer, SynchronousSaver):  # something lies behind it
            config = known.config
    else:
        entry = await enter(graph, config, context)
        last = record.turns
        notes = warnings_of(context.start, context.parameters) if isinstance(context.start, Meeting) else ()
        for text in (*language_notes(context), *notes):
            emit(Noted(context.run, text))
    tracer, noted = Tracer(), set[str]()
    while True:
        try:
            asked, state = await _invoke(graph, entry, config, context, tracer, emit, ask)
        except HandedOverError:  # the turn starts over, with the model in that seat
            return await _drive(context, checkpointer, emit, ask)
        config, entry = {"configurable": {"thread_id": context.run}}, None
        if asked:
            entry = Command(resume=dict.fromkeys(asked, True))
            continue
        tracer = Tracer()
        context.broker.clear()
        first, last = last + 1, state["turn"]
        for turn in context.store.turns(context.run, first, last):
            emit(TurnFinished(context.run, turn, context.kept.edited == turn.turn))
        for text in _notes(context, cast(GroupState, state), noted):
            emit(Noted(context.run, text))
        if state["finished"]:
            return cast(EndedBy, state["ended_by"])


def _notes(context: Context, state: GroupState, noted: set[str]) -> Iterator[str]:
    """Yield the notes after a turn, each kind that `noted` has not: `show` says them of every turn."""
    turn = state["turn"]
    for kind, text in notes_of_turn(context, turn):
        if kind not in noted:
            noted.add(kind)
            yield f"turn {turn}: {text}"
    yield from notes_of_round(context, state)
    if state["ended_by"] == "repetition":
        yield f"turn {turn}: the last lines only repeat what was said; it ends here"


async def _whole_state(
    graph: ConversationGraph,
    config: RunnableConfig,
    checkpointer: BaseCheckpointSaver[Any],
    parent: tuple[str, int] | None,
) -> StateSnapshot | None:
    """Return the newest state after a whole turn of the run's own, if any; delete the remains of a stopped turn."""
    shared = parent[1] - 1 if parent else 0
    async for snapshot in states_of(graph, config):
        if snapshot.values.get("finished"):
            return snapshot
        if snapshot.next and snapshot.next[0] in _FIRST and snapshot.values["turn"] > shared:
            forget_behind(checkpointer, snapshot)
            return snapshot
    await checkpointer.adelete_thread(config["configurable"]["thread_id"])
    return None


async def states_of(graph: ConversationGraph | TownGraph, config: RunnableConfig) -> AsyncIterator[StateSnapshot]:
    """Yield the states of a run or a simulation, newest first, in pages; LangGraph would read all at once."""
    before: RunnableConfig | None = None
    while page := [state async for state in graph.aget_state_history(config, before=before, limit=_PAGE)]:
        for state in page:
            yield state
        before = page[-1].config


def forget_behind(checkpointer: BaseCheckpointSaver[Any], snapshot: StateSnapshot) -> None:
    """Delete the checkpoints after a state; LangGraph's own savers keep them unread."""
    if isinstance(checkpointer, SynchronousSaver):
        checkpointer.forget_behind(snapshot.config)


async def _invoke(
    graph: ConversationGraph,
    entry: Any,
    config: RunnableConfig,
    context: Context,
    tracer: Tracer,
    emit: Emit,
    ask: Ask | None,
) -> tuple[list[str], Mapping[str, Any]]:
    """Run the graph to the end of a turn, or until all people that were asked have answered.

    It returns the ids of interrupts, and the state that the graph is left in.
    """

    def watch(within: str, task: Mapping[str, Any]) -> None:
        tracer.note(within, task)
        if "input" in task:
            emit(_step_of(task, context.run))

    watched = replace(context, watch=watch)
    tasks = graph.astream(
        # With `subgraphs`, though there are none, the end of a task is told before its checkpoint is stored.
        entry,
        config,
        context=watched,
        durability="exit",
        stream_mode=["tasks", "values"],
        subgraphs=True,
        version="v2",
    )
    answering: dict[str, asyncio.Task[None]] = {}
    state: Mapping[str, Any] = {}
    try:
        async for event in tasks:
            if event["type"] == "values" and not event["ns"]:  # the graph's own, not of a graph within
                state = event["data"]
            if event["type"] != "tasks":
                continue
            task = cast(Mapping[str, Any], event["data"])
            watch("", task)
            if "input" in task:
                continue
            if task["interrupts"]:
                (interrupt,) = task["interrupts"]
                waited = _waited_for(context, interrupt["value"], ask, emit)
                answering[interrupt["id"]] = asyncio.create_task(waited)
            elif task["name"] in _LAST and task["error"] is None:
                # Here, so that it is stored before the checkpoint is: the graph goes on when it is asked for more.
                _store_turn(context, tracer.traces())
        await asyncio.gather(*answering.values())
    finally:
        for task_of_one in answering.values():
            task_of_one.cancel()
    return [*answering], state


def _waited_for(context: Context, asked: dict[str, Any], ask: Ask | None, emit: Emit) -> Coroutine[Any, Any, None]:
    """Return a coroutine that waits for the person behind an interrupt: one in a seat, or one that holds a line."""
    if HELD in asked:
        return wait_for_edit(context, asked, emit)
    assert ask is not None
    return invite(context, asked, ask)


def _store_turn(context: Context, traces: Mapping[int, Trace]) -> None:
    """Store the records of a turn, or of a round's exchanges, with their traces in one transaction."""
    assert context.recorded is not None
    with context.store.transaction():
        for turn, trace in traces.items():
            recorded = context.recorded.pop(turn)
            if recorded.record.chosen == EDITED_ATTEMPT:
                context.kept.edited = turn
            context.save(recorded)
            context.store.save_trace(context.run, turn, trace)


def _step_of(task: Mapping[str, Any], run: str) -> StepStarted:
    before: int = task["input"].get("turn", task["input"].get("round"))
    return StepStarted(run, before + (task["name"] in _FIRST), task["name"], task["input"].get("agent", ""))


def build_graph(
    kind: RunKind, order: Order, nodes: Mapping[str, Any], checkpointer: BaseCheckpointSaver[Any] | None
) -> ConversationGraph:
    """Return the graph of a kind of conversation; runs with one checkpointer and no nodes of their own share it."""
    return _built(kind, order, nodes, checkpointer) if nodes else _shared(kind, order, checkpointer)


@lru_cache(maxsize=4)  # building takes as long as two turns; a graph keeps nothing of a run
def _shared(kind: RunKind, order: Order, checkpointer: BaseCheckpointSaver[Any] | None) -> ConversationGraph:
    return _built(kind, order, {}, checkpointer)


def _built(
    kind: RunKind, order: Order, nodes: Mapping[str, Any], checkpointer: BaseCheckpointSaver[Any] | None
) -> ConversationGraph:
    walks = checkpointer is not None  # a tool that shows the graph runs it without one
    if kind == "album_chat":
        return build_album_chat_graph(checkpointer, nodes, walks=walks)
    if kind == "group_chat":
        return build_group_chat_graph(order, checkpointer, nodes, walks=walks)
    return build_dialogue_graph(checkpointer, nodes, walks=walks)
