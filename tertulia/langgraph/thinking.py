"""The thinking of agents in a round of a hosted meeting: all at once, in one step, as their calls meet in batches."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from tertulia.graphs.cognition import build_cognition_graph
from tertulia.langgraph.errors import ParentStateError
from tertulia.langgraph.steps import runtime_of
from tertulia.langgraph.unheard import HeardStore
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.nodes.meeting.prepare import prepare
from tertulia.nodes.meeting.rounds import read_address
from tertulia.state.cognition import Assessment, Character
from tertulia.state.context import Context
from tertulia.state.errors import nearest_hint
from tertulia.state.graph_state import GroupState, Mind, cognition_of, first_state
from tertulia.state.meeting import EMOTIONS
from tertulia.state.wrong_values import value_problem

State = Mapping[str, Any]

#: By name, the type of each field of a mind.
_FIELDS: Mapping[str, TypeAdapter[Any]] = {name: TypeAdapter(kind) for name, kind in get_type_hints(Mind).items()}


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


def minds_field(state: State, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the minds in a parent's state, by name; empty if it has none.

    Args:
        names: Everybody in the meeting. A guest that is gone may have left a whole mind.

    Raises:
        ParentStateError: They are no minds by name, one is of nobody, or a field of one can't be used.
    """
    minds = state.get("minds") or {}
    if not all(isinstance(mind, Mapping) for mind in minds.values()):
        raise ParentStateError(f"minds: {minds!r:.60} are no minds by name; carry on what group_chat wrote, or {{}}")
    for name, mind in minds.items():
        if name not in names and not mind.keys() >= Mind.__required_keys__:
            raise ParentStateError(f"minds: {name!r:.60} is nobody in this meeting{nearest_hint(str(name), names)}")
        for key, value in mind.items():
            if key not in _FIELDS:
                raise ParentStateError(f"minds: {name}: unknown field {key!r:.60}{nearest_hint(str(key), _FIELDS)}")
            try:
                _FIELDS[key].validate_python(value)
            except ValidationError as error:
                raise ParentStateError(
                    f"minds: {name}: {key}={value!r:.60}: {value_problem(error.errors()[0])}"
                ) from None
        if (felt := mind.get("emotion", EMOTIONS[0])) not in EMOTIONS:
            raise ParentStateError(f"minds: {name} feels {felt!r:.40}, which is none of {', '.join(EMOTIONS)}")
    return minds


def entering_mind(context: Context, name: str, turn: int, carried: Mapping[str, Any] | None, is_of_run: bool) -> Mind:
    """Return the mind with which a person enters a round.

    A carried mind counts in turns of its run. In another run, or one that was cut before these turns, only its feeling
    is left.

    Args:
        is_of_run: Whether the carried mind is of this run, or of the one that it was forked from.
    """
    if carried is not None and is_of_run and carried.keys() >= Mind.__required_keys__ and _latest(carried) < turn:
        store = cast(HeardStore, context.store)
        return cast(Mind, {**carried, "noticed": [seen for seen in carried["noticed"] if not store.is_hidden(seen)]})
    felt = {key: carried[key] for key in ("emotion", "emotion_strength") if key in carried} if carried else {}
    return cast(Mind, {**first_mind(context, name, turn), **felt})


def _latest(mind: Mapping[str, Any]) -> int:
    """Return the last turn that a mind counts."""
    return max([mind["spoke"], *mind["noticed"], *(used for used, _ in mind["used"].values())], default=0)


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
