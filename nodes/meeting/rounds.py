"""The beginning and the end of a round of group chat: the people present, and its record."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.conversation.line_edit import as_edited
from tertulia.nodes.conversation.turns import speaking_time_s, spoken_turn
from tertulia.nodes.meeting.view import last_turn
from tertulia.nodes.shared.limits import end_of_group_chat
from tertulia.state.context import Context, RecordedTurn
from tertulia.state.graph_state import GroupState, Mind
from tertulia.state.inner_places import Address, AddressState, nobody_asked
from tertulia.state.records import Turn, TurnRecord


async def open_round(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Begin a round with the participants present, and read whom the last line asks.

    If fewer than two are, the clock moves on to the next moment at which two are.
    """
    meeting = runtime.context.meeting
    now_s = state["sim_time_s"]
    if len(meeting.present(now_s)) < 2:
        later_s = (moment_s for moment_s in meeting.moments_s() if moment_s > now_s)
        now_s = next(moment_s for moment_s in later_s if len(meeting.present(moment_s)) >= 2)
    round = state["round"] + 1
    present = list(meeting.present(now_s))
    address = await read_address(runtime.context, round, present, state["silence_s"])
    moment: GroupState = {"round": round, "turn": round, "sim_time_s": now_s, "present": present, "unprepared": []}
    return {**moment, "address": address}


async def read_address(context: Context, round: int, present: Sequence[str], silence_s: float) -> Address:
    """Return whom the last line of a meeting asks, by the run's node for it; nobody without such a node.

    Args:
        silence_s: Seconds since that line, when the round begins.
    """
    node = context.nodes.get("read_address")
    if node is None:
        return nobody_asked()
    line = last_turn(context, round - int(silence_s / context.parameters.silence_s + 0.5))
    if line is None or line.speaker is None:
        return nobody_asked()
    state: AddressState = {
        "round": round,
        "turn": line.turn,
        "speaker": line.speaker,
        "line": line.text,
        "listeners": [name for name in present if name != line.speaker],
    }
    address: Address = (await node(state, Runtime(context=context)))["address"]
    return address


async def record_speech(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Record the utterance, and advance the clock by the time that it takes to say it.

    A person may have the line held and rewrite it before.
    """
    context, speaker = runtime.context, state["speaker"]
    record = spoken_turn(as_edited(state, context), context)
    context.record(RecordedTurn(record))
    now_s = state["sim_time_s"] + speaking_time_s(record.turn.text, context.parameters.speaking_rate_wpm)
    mind = state["minds"][speaker]
    after_speaking: Mind = {**mind, "spoke": state["round"], "spoken": mind["spoken"] + 1}
    ended_by = end_of_group_chat(state["turn"], now_s, context.meeting, context.parameters)
    return {
        "sim_time_s": now_s,
        "silence_s": 0.0,
        "minds": {speaker: after_speaking},
        "finished": ended_by is not None,
        "ended_by": ended_by,
    }


async def record_silence(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Record the silence as a turn without a speaker, and advance the clock by its length."""
    context = runtime.context
    turn = Turn(
        turn=state["turn"], round=state["round"], speaker=None, text="", sim_time_s=state["sim_time_s"], ended=False
    )
    context.record(RecordedTurn(TurnRecord(turn=turn)))
    length_s = context.parameters.silence_s
    now_s = state["sim_time_s"] + length_s
    ended_by = end_of_group_chat(state["turn"], now_s, context.meeting, context.parameters)
    return {
        "sim_time_s": now_s,
        "silence_s": state["silence_s"] + length_s,
        "finished": ended_by is not None,
        "ended_by": ended_by,
    }
