"""Driving a dialogue: one turn per invocation, from wherever the last checkpoint left it."""

from collections.abc import Callable
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import TaskPayload

from graphs.dialogue import build_dialogue_graph
from state.contracts import Context
from state.graph_state import DialogueState


async def drive_dialogue(
    context: Context, checkpointer: BaseCheckpointSaver[Any], on_step: Callable[[str, int], None] = lambda *_: None
) -> None:
    """Hold a dialogue to its end; a run that was interrupted goes on behind its last whole turn.

    A turn that was under way goes on behind its last whole step if its failure could be noted, else it is made again;
    either way with the same draws.

    Args:
        context: The run; its id names the thread of checkpoints.
        checkpointer: Where they are.
        on_step: Told the name of each step and its turn as it begins, and `turn_done` once the turn is stored.
    """
    graph = build_dialogue_graph(checkpointer)
    config: RunnableConfig = {"configurable": {"thread_id": context.run}}
    snapshot = await graph.aget_state(config)
    entry: DialogueState | None = None
    if not snapshot.values:
        entry = {"turn": 0, "round": 0, "speaker": "", "sim_time_s": 0.0, "finished": False}
    elif snapshot.values["finished"]:
        return
    while True:
        tasks = graph.astream(
            entry, config, context=context, durability="exit", stream_mode="tasks", subgraphs=True, version="v2"
        )
        async for event in tasks:
            if event["type"] == "tasks" and "input" in event["data"]:
                started = cast(TaskPayload, event["data"])
                before: int = started["input"]["turn"]
                on_step(started["name"], before + 1 if started["name"] == "take_turn" else before)
        snapshot = await graph.aget_state(config)
        on_step("turn_done", snapshot.values["turn"])
        if snapshot.values["finished"]:
            return
        entry = None
