"""The state in which a run begins: that of its scenario, or that of its parent at the fork."""

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from tertulia.nodes.album.belongings import belongings_at
from tertulia.nodes.album.record_round import end_of_round_s, shared_exchanges
from tertulia.nodes.conversation.seat import BY_HAND
from tertulia.prompts.person import words_of_character
from tertulia.state.album import Exchange, Population
from tertulia.state.context import Context
from tertulia.state.graph_state import AlbumState, DialogueState, GroupState, Mind, first_state
from tertulia.state.meeting import Attendee, Meeting

#: Changes of these in a fork make a participant be prepared again.
_PREPARED_FROM = ("persona", "big_five", "descriptions", "goals", "model")


def first_state_of(context: Context) -> DialogueState | GroupState | AlbumState:
    """Return the first state of a run that is no fork, or of an album chat."""
    if isinstance(context.start, Population):
        return album_state(context)
    return first_state(context.start)


async def enter(graph: Any, config: RunnableConfig, context: Context) -> DialogueState | GroupState | AlbumState | None:
    """Return the state in which a run begins; `None` for a fork that goes on after words written by hand."""
    run = context.store.run(context.run)
    is_album_chat = isinstance(context.start, Population)  # a fork of one begins by the shared exchanges
    if is_album_chat or run.parent is None or (run.parent[1] == 1 and not run.rewritten):
        return first_state_of(context)
    _, turn = run.parent
    trace = context.store.trace(context.run, turn if run.rewritten else turn - 1)
    assert trace is not None  # a turn without a stored state is never forked
    if not run.rewritten:
        return first_state_of_fork(trace.after, context)
    before = first_state_of_fork(trace.visits[-1].before, context)
    await graph.aupdate_state(config, {**before, **BY_HAND}, as_node="speak_by_hand")
    return None


def first_state_of_fork(state: Mapping[str, Any], context: Context) -> DialogueState | GroupState:
    """Return the first state of a fork: its parent's `state`, with the effects of changes to participants."""
    parent = context.store.run(context.run).parent
    assert parent is not None
    before = context.store.start(parent[0])
    if not isinstance(context.start, Meeting) or not isinstance(before, Meeting):
        return cast(DialogueState, {**state, "finished": False, "ended_by": None})
    minds: dict[str, Mind] = dict(state["minds"])
    unprepared = []
    for now in context.start.participants:
        name, was = now.persona.name, before.participant(now.persona.name)
        if now.emotion != was.emotion:
            minds[name] = {**minds[name], "emotion": now.emotion}
        if _is_other(now, was):
            unprepared.append(name)
            # Their progress was counted in steps of a plan that they no longer have.
            used = {mechanism: last for mechanism, last in minds[name]["used"].items() if mechanism != "goal_summary"}
            minds[name] = {**minds[name], "used": used}
    return cast(GroupState, {**state, "finished": False, "ended_by": None, "minds": minds, "unprepared": unprepared})


def album_state(context: Context) -> AlbumState:
    """Return the first state of an album chat; a fork begins with the belongings after the shared exchanges."""
    store, run, population, parameters = context.store, context.run, context.population, context.parameters
    parent = store.run(run).parent
    shared = store.turns(run, 1, parent[1] - 1) if parent is not None and parent[1] > 1 else []
    rounds = [turn.round for turn in shared]
    round = rounds[-1] if rounds else 0
    if rounds and len(shared) < rounds.index(round) + len(population.names) // 2:
        round -= 1  # the fork begins in the middle of a round
    before = sum(number <= round for number in rounds)
    now_s = 0.0
    if round:
        last_round = shared_exchanges(context, rounds.index(round) + 1, before)
        now_s = end_of_round_s(last_round, parameters.speaking_rate_wpm)
    exchanges = store.steps(run, "exchange", Exchange, 1, len(shared)) if shared else {}
    return {
        "round": round,
        "turn": before,
        "kept": len(shared) - before,
        "pairs": [],
        "sim_time_s": now_s,
        "finished": False,
        "ended_by": None,
        "belongings": belongings_at(population, ((turn, met) for (turn, _), met in exchanges.items()), parameters),
        "exchanges": {},
    }


def _is_other(now: Attendee, was: Attendee) -> bool:
    is_otherwise = words_of_character(now) != words_of_character(was)
    return is_otherwise or any(getattr(now, field) != getattr(was, field) for field in _PREPARED_FROM)
