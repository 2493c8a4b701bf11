"""Driving a conversation's graph: one turn, or one round, per invocation, from wherever the last checkpoint left it.

Where a person has a seat, a turn is interrupted while they are asked; the others think meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, StateSnapshot

from graphs.dialogue import DialogueGraph, build_dialogue_graph
from graphs.group_chat import GroupGraph, build_group_chat_graph
from nodes.seat import BY_HAND, invite
from state.context import Context
from state.errors import UsageError
from state.graph_state import DialogueState, GroupState, Mind, first_state
from state.meeting import Attendee, Meeting
from state.seat import Ask
from tertulia.events import Emit, Noted, StepStarted, TurnFinished, ignore
from tertulia.meeting_check import notes_of_round, warnings_of
from tertulia.prompt_language import language_notes
from tertulia.removal import notes_of_turn
from tertulia.tracing import Tracer

#: The nodes with which a turn begins, and the nodes one of which ends it.
_FIRST = ("take_turn", "open_round")
_LAST = ("record_turn", "record_speech", "record_silence")

#: States that are read at once; a run goes on from one of its newest.
_PAGE = 8

#: What a participant is prepared from: where a fork changes it, they are prepared again.
_PREPARED_FROM = ("big_five", "descriptions", "goals", "model")


async def drive(
    context: Context,
    checkpointer: BaseCheckpointSaver[Any],
    emit: Emit = ignore,
    ask: Ask | None = None,
) -> None:
    """Drive a conversation to its end; a run that was interrupted goes on behind its last whole turn.

    A turn that was under way starts over: agents who think together must begin together. Draws are the same, and calls
    of models that are in the journal are not made again.

    Args:
        context: The run; its id names the thread of checkpoints.
        checkpointer: Where they are.
        emit: Takes `StepStarted` for each step as it begins, `TurnFinished` once a turn is stored, and `Noted`.
        ask: Asks the person who has the seat, where the run has one, and returns what they answer; `None` from it: they
            leave. Meanwhile the others think.

    Raises:
        LeftError: The person has left. What was typed until then is stored.
        UsageError: The run has a seat, and there is nobody to ask.
    """
    if context.parameters.seat is not None and ask is None:
        raise UsageError(
            f"seat={context.parameters.seat}: there is nobody to ask here; leave the seat out, or use `tertulia run`"
        )
    context.broker.clear()
    context.kept.clear()
    graph = build_graph(context, checkpointer)
    config: RunnableConfig = {"configurable": {"thread_id": context.run}}
    entry: Any = None
    async for snapshot in states_of(graph, config):
        if snapshot.values.get("finished"):
            return
        if snapshot.next and snapshot.next[0] in _FIRST:  # what a failed turn has left lies behind it: passed over
            config = snapshot.config
            break
    else:
        await checkpointer.adelete_thread(context.run)  # what a first turn that failed has left
        entry = await _enter(graph, config, context)
        notes = warnings_of(context.start, context.parameters) if isinstance(context.start, Meeting) else ()
        for text in (*language_notes(context), *notes):
            emit(Noted(context.run, text))
    tracer, noted = Tracer(), set[str]()
    while True:
        asks = await _invoke(graph, entry, config, context, tracer, emit, ask)
        config, entry = {"configurable": {"thread_id": context.run}}, None
        if asks:
            entry = Command(resume=True)
            continue
        tracer = Tracer()
        snapshot = await graph.aget_state(config)
        emit(TurnFinished(context.run, context.store.turns(context.run, last := snapshot.values["turn"], last)[0]))
        for kind, text in notes_of_turn(context, last):
            if kind not in noted:  # once is enough: `show` says it of every turn
                noted.add(kind)
                emit(Noted(context.run, f"turn {last}: {text}"))
        for text in notes_of_round(context, cast(GroupState, snapshot.values)):
            emit(Noted(context.run, text))
        if snapshot.values["finished"]:
            return


async def states_of(graph: DialogueGraph | GroupGraph, config: RunnableConfig) -> AsyncIterator[StateSnapshot]:
    """Yield the states of a run, newest first, a few read at once: LangGraph reads all that it is asked for."""
    before: RunnableConfig | None = None
    while page := [state async for state in graph.aget_state_history(config, before=before, limit=_PAGE)]:
        for state in page:
            yield state
        before = page[-1].config


async def _invoke(
    graph: DialogueGraph | GroupGraph,
    entry: Any,
    config: RunnableConfig,
    context: Context,
    tracer: Tracer,
    emit: Emit,
    ask: Ask | None,
) -> bool:
    """Run the graph to the end of a turn, or until a person was asked and has answered; return whether it is that."""
    tasks = graph.astream(
        entry, config, context=context, durability="exit", stream_mode="tasks", subgraphs=True, version="v2"
    )
    answering: asyncio.Task[None] | None = None
    try:
        async for event in tasks:
            if event["type"] != "tasks":
                continue
            task = cast(Mapping[str, Any], event["data"])
            tracer.note(event["ns"], task)
            if "input" in task:
                emit(_step_of(task, context.run))
            elif task["interrupts"]:
                assert ask is not None
                answering = asyncio.create_task(invite(context, task["interrupts"][0]["value"], ask))
            elif task["name"] in _LAST and task["error"] is None:
                # Here, so that it is stored before the checkpoint is: the graph goes on when it is asked for more.
                trace = tracer.trace()
                context.store.save_trace(context.run, trace.after["turn"], trace)
        if answering is not None:
            await answering
    finally:
        if answering is not None:
            answering.cancel()
    return answering is not None


def _step_of(task: Mapping[str, Any], run: str) -> StepStarted:
    before: int = task["input"].get("turn", task["input"].get("round"))
    return StepStarted(run, before + (task["name"] in _FIRST), task["name"], task["input"].get("agent", ""))


def build_graph(context: Context, checkpointer: BaseCheckpointSaver[Any]) -> DialogueGraph | GroupGraph:
    """Return the graph of a run's conversation."""
    if isinstance(context.start, Meeting):
        return build_group_chat_graph(context.parameters.order, checkpointer, context.nodes)
    return build_dialogue_graph(checkpointer, context.nodes)


# --- where a run begins ---------------------------------------------------------------------------------------------


async def _enter(
    graph: DialogueGraph | GroupGraph, config: RunnableConfig, context: Context
) -> DialogueState | GroupState | None:
    """Return the state with which a run begins; `None` where a fork goes on behind words that were written by hand."""
    run = context.store.run(context.run)
    if run.parent is None or (run.parent[1] == 1 and not run.rewritten):
        return first_state(context.start)
    _, turn = run.parent
    trace = context.store.trace(context.run, turn if run.rewritten else turn - 1)
    assert trace is not None  # nothing is forked where it is not known how things stood
    if not run.rewritten:
        return first_state_of_fork(trace.after, context)
    before = first_state_of_fork(trace.visits[-1].before, context)
    await graph.aupdate_state(config, {**before, **BY_HAND}, as_node="speak_by_hand")
    return None


def first_state_of_fork(state: Mapping[str, Any], context: Context) -> DialogueState | GroupState:
    """Return the state in which a fork begins: its parent's, and for whom it has changed what that changes.

    Args:
        state: The parent's state at the fork.
        context: The fork.
    """
    parent = context.store.run(context.run).parent
    assert parent is not None
    before = context.store.start(parent[0])
    if not isinstance(context.start, Meeting) or not isinstance(before, Meeting):
        return cast(DialogueState, {**state, "finished": False})
    minds: dict[str, Mind] = dict(state["minds"])
    unprepared = []
    for now in context.start.participants:
        name, was = now.persona.name, before.participant(now.persona.name)
        if now.emotion != was.emotion:
            minds[name] = {**minds[name], "emotion": now.emotion}
        if _is_other(now, was):
            unprepared.append(name)
            # How far they have come was noted by the steps of a plan that they no longer have.
            used = {mechanism: last for mechanism, last in minds[name]["used"].items() if mechanism != "goal_summary"}
            minds[name] = {**minds[name], "used": used}
    return cast(GroupState, {**state, "finished": False, "minds": minds, "unprepared": unprepared})


def _is_other(now: Attendee, was: Attendee) -> bool:
    return any(getattr(now, field) != getattr(was, field) for field in _PREPARED_FROM)
