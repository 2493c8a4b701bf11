"""Driving a conversation: one turn, or one round, per invocation, from wherever the last checkpoint left it.

Where a person has a seat, a turn is interrupted while they are asked, and what it was about goes on meanwhile.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from graphs.dialogue import DialogueGraph, build_dialogue_graph
from graphs.group_chat import GroupGraph, build_group_chat_graph
from graphs.town import build_town_graph
from nodes.seat import BY_HAND, invite
from state.cognition import Trace, Visit
from state.context import Context
from state.errors import UsageError
from state.graph_state import DialogueState, GroupState, Mind, TownState, updated
from state.meeting import Attendee, Meeting
from state.seat import Ask
from state.town import TownContext

OnStep = Callable[[str, int, str], None]

#: The nodes with which a turn begins, and the nodes one of which ends it.
_FIRST = ("take_turn", "open_round")
_LAST = ("record_turn", "record_speech", "record_silence")

#: What a participant is prepared from: where a fork changes it, they are prepared again.
_PREPARED_FROM = ("big_five", "descriptions", "goals", "model")


async def drive(
    context: Context,
    checkpointer: BaseCheckpointSaver[Any],
    on_step: OnStep = lambda *_: None,
    ask: Ask | None = None,
) -> None:
    """Hold a conversation to its end; a run that was interrupted goes on behind its last whole turn.

    A turn that was under way starts over: who thinks together must begin together. Draws are the same, and calls of
    models that are in the journal are not made again.

    Args:
        context: The run; its id names the thread of checkpoints.
        checkpointer: Where they are.
        on_step: Told the name of each step, its turn and its agent (empty where it is nobody's) as it begins, and
            `turn_done` once the turn is stored.
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
    graph = build_graph(context, checkpointer)
    config: RunnableConfig = {"configurable": {"thread_id": context.run}}
    entry: Any = None
    async for snapshot in graph.aget_state_history(config):
        if snapshot.values.get("finished"):
            return
        if snapshot.next and snapshot.next[0] in _FIRST:  # what a failed turn has left lies behind it: passed over
            config = snapshot.config
            break
    else:
        await checkpointer.adelete_thread(context.run)  # what a first turn that failed has left
        entry = await _enter(graph, config, context)
    tracer = Tracer()
    while True:
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
                    before: int = task["input"].get("turn", task["input"].get("round"))
                    on_step(task["name"], before + (task["name"] in _FIRST), task["input"].get("agent", ""))
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
        config, entry = {"configurable": {"thread_id": context.run}}, None
        if answering is not None:
            entry = Command(resume=True)
            continue
        tracer = Tracer()
        snapshot = await graph.aget_state(config)
        on_step("turn_done", snapshot.values["turn"], "")
        if snapshot.values["finished"]:
            return


def build_graph(context: Context, checkpointer: BaseCheckpointSaver[Any]) -> DialogueGraph | GroupGraph:
    """Return the graph of a run's conversation."""
    if isinstance(context.start, Meeting):
        return build_group_chat_graph(context.parameters.order, checkpointer, context.nodes)
    return build_dialogue_graph(checkpointer, context.nodes)


async def drive_town(
    context: TownContext, checkpointer: BaseCheckpointSaver[Any], on_encounter: Callable[[TownState], None]
) -> None:
    """Let the days of a town pass to the last; a simulation that was interrupted goes on with the encounter it was at.

    An encounter that was under way starts over: what is stored of it stays, and its conversation goes on behind its
    last whole turn.

    Args:
        context: The simulation; its id names the thread of checkpoints.
        checkpointer: Where they are.
        on_encounter: Told how things stand once an encounter is over and all that it leaves is stored.
    """
    graph = build_town_graph(checkpointer)
    config: RunnableConfig = {"configurable": {"thread_id": context.simulation.simulation}}
    beginning: TownState = {"day": 0, "number": 0, "gathered": {}}
    state = cast(TownState, {**beginning, "finished": False})
    async for snapshot in graph.aget_state_history(config):
        if snapshot.next in (("next_encounter",), ()):  # what a failed encounter has left lies behind it: passed over
            # There may be more days than when it was finished.
            state = cast(TownState, {**beginning, **snapshot.values, "finished": False})
            break
    while not state["finished"]:
        await graph.ainvoke(state, config, context=context, durability="exit")
        state = cast(TownState, (await graph.aget_state(config)).values)
        if not state["finished"]:
            on_encounter(state)


class Tracer:
    """Collects the executions of nodes from the events of a turn."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[Mapping[str, Any], str]] = {}  # by id: the task, and whose part it is
        self._updates: dict[str, dict[str, Any] | None] = {}

    def note(self, namespace: tuple[str, ...], task: Mapping[str, Any]) -> None:
        """Take an event: a task that begins, or one that has ended."""
        if "input" in task:
            self._tasks[task["id"]] = task, namespace[-1].rpartition(":")[2] if namespace else ""
        else:
            self._updates[task["id"]] = task["result"]

    def trace(self) -> Trace:
        """Return what was executed: in place of a subgraph its nodes, so that the order is everybody's own."""
        graphs = {parent for _, parent in self._tasks.values()}
        visits: list[Visit] = []
        for id, (task, parent) in self._tasks.items():
            if parent:
                continue
            within = [inner for inner, (_, outer) in self._tasks.items() if outer == id] if id in graphs else [id]
            agent = task["input"].get("agent", "")
            visits += [
                Visit(
                    node=self._tasks[one][0]["name"],
                    agent=agent,
                    before=self._tasks[one][0]["input"],
                    update=self._updates.get(one),
                )
                for one in within
            ]
        last = visits[-1]
        return Trace(visits=tuple(visits), after=updated(last.before, last.update or {}))


# --- where a run begins ---------------------------------------------------------------------------------------------


async def _enter(
    graph: DialogueGraph | GroupGraph, config: RunnableConfig, context: Context
) -> DialogueState | GroupState | None:
    """Return the state with which a run begins; `None` where a fork goes on behind words that were written by hand."""
    run = context.store.run(context.run)
    if run.parent is None or (run.parent[1] == 1 and not run.rewritten):
        return beginning_of(context.start) if isinstance(context.start, Meeting) else _BEGINNING
    _, turn = run.parent
    trace = context.store.trace(context.run, turn if run.rewritten else turn - 1)
    assert trace is not None  # nothing is forked where it is not known how things stood
    if not run.rewritten:
        return beginning_of_fork(trace.after, context)
    before = beginning_of_fork(trace.visits[-1].before, context)
    await graph.aupdate_state(config, {**before, **BY_HAND}, as_node="speak_by_hand")
    return None


_BEGINNING: DialogueState = {"turn": 0, "round": 0, "speaker": "", "sim_time_s": 0.0, "finished": False}


def beginning_of(meeting: Meeting) -> GroupState:
    """Return the state in which a meeting begins: everybody knows how it opened, nobody is prepared."""
    minds = {
        one.persona.name: Mind(
            emotion=one.emotion, emotion_strength=0.3, spoke=0, spoken=0, unheard=0, used={}, noticed=[]
        )
        for one in meeting.participants
    }
    return {
        "turn": 0,
        "round": 0,
        "speaker": "",
        "present": [],
        "sim_time_s": 0.0,
        "silence_s": 0.0,
        "finished": False,
        "unprepared": list(minds),
        "minds": minds,
        "bids": {},
    }


def beginning_of_fork(state: Mapping[str, Any], context: Context) -> DialogueState | GroupState:
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
