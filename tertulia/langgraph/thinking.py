"""The thinking of agents in a round of a hosted meeting: all at once, in one step, as their calls meet in batches."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tertulia.graphs.cognition import build_cognition_graph
from tertulia.langgraph.steps import runtime_of
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.nodes.meeting.prepare import prepare
from tertulia.nodes.meeting.rounds import read_address
from tertulia.state.cognition import Assessment, Character
from tertulia.state.context import Context
from tertulia.state.graph_state import GroupState, Mind, cognition_of, first_state

State = Mapping[str, Any]


async def prepare_all(context: Context) -> None:
    """Prepare all people that have not been prepared in this run."""
    state: Any = first_state(context.meeting)
    names = [
        name for name in context.meeting.names if context.store.step(context.run, 0, name, "prepare", Character) is None
    ]
    if names:
        context.broker.clear()
        context.broker.seat(0, names)
        given: list[Any] = [{**cognition_of(state, name), "round": 0, "present": names} for name in names]
        await _together(prepare(each, runtime_of(context)) for each in given)


async def think_together(
    state: State, context: Context, names: Sequence[str], nodes: Mapping[str, NodeFunction]
) -> dict[str, Any]:
    """Run the cognition of each of these people, and return their new minds and their bids for the floor."""
    address = await read_address(context, state["round"], state["present"], state["silence_s"])
    context.broker.clear()
    context.broker.seat(state["round"], names)
    graph = build_cognition_graph(nodes)
    group = cast(GroupState, {**state, "address": address})
    outcomes = await _together(graph.ainvoke(cognition_of(group, name), context=context) for name in names)
    merged: dict[str, Any] = {"minds": {}, "bids": {}}
    for outcome in outcomes:
        for key, of_agents in merged.items():
            of_agents.update(outcome.get(key) or {})
    return merged


def first_mind(context: Context, name: str, turn: int) -> Mind:
    """Return a person's mind at the beginning of a turn without a state: their last feeling, how often they spoke."""
    group: Any = first_state(context.meeting)
    spoken = [line.turn for line in context.store.turns(context.run, 1, turn - 1) if line.speaker == name]
    mind: Mind = group["minds"][name]
    mind |= {"spoken": len(spoken), "spoke": spoken[-1] if spoken else 0}
    felt = context.store.steps(context.run, "assess", Assessment, agent=name)
    if felt:
        last = felt[max(felt)]
        mind |= {"emotion": last.emotion, "emotion_strength": last.emotion_strength}
    return mind


async def _together(coroutines: Any) -> list[Any]:
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
