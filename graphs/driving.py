"""Driving a dialogue: one turn per invocation, from wherever the last checkpoint left it."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from graphs.dialogue import build_dialogue_graph
from state.contracts import Context
from state.graph_state import DialogueState


async def drive_dialogue(
    context: Context, checkpointer: BaseCheckpointSaver[Any], on_step: Callable[[str, int], None] = lambda *_: None
) -> None:
    """Hold a dialogue to its end; a run that was interrupted goes on behind its last whole turn.

    A turn that was under way is made again, with the same draws.

    Args:
        context: The run; its id names the thread of checkpoints.
        checkpointer: Where they are.
        on_step: Told the name of each step and its turn as it begins, and `record_turn` again once it is done.
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
        turn = snapshot.values.get("turn", 0) + 1
        tasks = graph.astream(
            entry, config, context=context, durability="exit", stream_mode="tasks", subgraphs=True, version="v2"
        )
        async for event in tasks:
            if event["type"] == "tasks" and "input" in event["data"]:
                on_step(event["data"]["name"], turn)
        snapshot = await graph.aget_state(config)
        on_step("turn_done", turn)
        if snapshot.values["finished"]:
            return
        entry = None
