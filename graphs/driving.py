"""Driving a conversation: one turn, or one round, per invocation, from wherever the last checkpoint left it."""

from collections.abc import Callable
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import TaskPayload

from graphs.dialogue import DialogueGraph, build_dialogue_graph
from graphs.group_chat import GroupGraph, build_group_chat_graph
from state.contracts import Context
from state.graph_state import DialogueState, GroupState, Mind
from state.meeting import Meeting

OnStep = Callable[[str, int, str], None]


async def drive(context: Context, checkpointer: BaseCheckpointSaver[Any], on_step: OnStep = lambda *_: None) -> None:
    """Hold a conversation to its end; a run that was interrupted goes on behind its last whole turn.

    A turn of a dialogue that was under way goes on behind its last whole step if its failure could be noted, else it is
    made again, as a round of group chat always is: who thinks together must begin together. Either way the draws are
    the same, and the calls of a round that were stored are not made again.

    Args:
        context: The run; its id names the thread of checkpoints.
        checkpointer: Where they are.
        on_step: Told the name of each step, its turn and its agent (empty where it is nobody's) as it begins, and
            `turn_done` once the turn is stored.
    """
    context.broker.clear()
    if isinstance(context.start, Meeting):
        graph = build_group_chat_graph(context.parameters.order, checkpointer)
        await _drive(graph, "open_round", beginning_of(context.start), context, on_step, whole_turns=True)
    else:
        entry: DialogueState = {"turn": 0, "round": 0, "speaker": "", "sim_time_s": 0.0, "finished": False}
        await _drive(build_dialogue_graph(checkpointer), "take_turn", entry, context, on_step, whole_turns=False)


def beginning_of(meeting: Meeting) -> GroupState:
    """Return the state in which a meeting begins: everybody knows how it opened."""
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
        "minds": minds,
        "bids": {},
    }


async def _drive(
    graph: DialogueGraph | GroupGraph,
    first: str,
    beginning: DialogueState | GroupState,
    context: Context,
    on_step: OnStep,
    whole_turns: bool,
) -> None:
    """Invoke a graph turn by turn.

    Args:
        graph: With a checkpointer; it pauses after every turn.
        first: The node with which a turn begins.
        beginning: The state in which the conversation begins.
        context: The run.
        on_step: As in `drive`.
        whole_turns: Whether a turn is only ever begun at its beginning.
    """
    config: RunnableConfig = {"configurable": {"thread_id": context.run}}
    entry: Any = beginning
    async for snapshot in graph.aget_state_history(config):
        if snapshot.values.get("finished"):
            return
        if not whole_turns:
            entry = None
            break
        if snapshot.next == (first,):  # what a failed round has left lies behind it, and is passed over
            config, entry = snapshot.config, None
            break
    while True:
        tasks = graph.astream(
            entry, config, context=context, durability="exit", stream_mode="tasks", subgraphs=True, version="v2"
        )
        async for event in tasks:
            if event["type"] == "tasks" and "input" in event["data"]:
                started = cast(TaskPayload, event["data"])
                before: int = started["input"]["turn"] if "turn" in started["input"] else started["input"]["round"]
                turn = before + 1 if started["name"] == first else before
                on_step(started["name"], turn, started["input"].get("agent", ""))
        config, entry = {"configurable": {"thread_id": context.run}}, None
        snapshot = await graph.aget_state(config)
        on_step("turn_done", snapshot.values["turn"], "")
        if snapshot.values["finished"]:
            return
