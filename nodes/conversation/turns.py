"""The beginning and the end of a turn in a two-party dialogue: the choice of the speaker, and the record."""

from langgraph.runtime import Runtime

from tertulia.nodes.conversation.line_edit import as_edited
from tertulia.nodes.shared.limits import limit_reached
from tertulia.nodes.shared.line_faults import is_loop, lines_before
from tertulia.nodes.utterance.candidates import candidate_at
from tertulia.state.context import Context, RecordedTurn
from tertulia.state.graph_state import DialogueState, GroupState
from tertulia.state.records import EndedBy, Turn, TurnRecord
from tertulia.state.words import spoken_words


async def take_turn(state: DialogueState, runtime: Runtime[Context]) -> DialogueState:
    """Give the turn to the participant that did not speak last; the initiator begins."""
    initiator, partner = names = runtime.context.case.names
    turn = state["turn"] + 1
    return {"turn": turn, "round": turn, "speaker": initiator if turn % 2 else partner, "present": list(names)}


async def record_turn(state: DialogueState, runtime: Runtime[Context]) -> DialogueState:
    """Record the turn and how it came about, and advance the simulated clock by the time that it takes to say it.

    A person may have the line held and rewrite it before.
    """
    context = runtime.context
    record = spoken_turn(as_edited(state, context), context)
    context.record(RecordedTurn(record))
    now_s = state["sim_time_s"] + speaking_time_s(record.turn.text, context.parameters.speaking_rate_wpm)
    ended_by = _end_of_dialogue(record.turn, now_s, context)
    return {"sim_time_s": now_s, "finished": ended_by is not None, "ended_by": ended_by}


def _end_of_dialogue(turn: Turn, now_s: float, context: Context) -> EndedBy | None:
    """Return why a dialogue is over with a turn: its last line, or a limit; `None` if it goes on."""
    if not turn.ended:
        return limit_reached(turn.turn, now_s, context.parameters)
    lines = lines_before(context.store, context.run, context.start, turn.turn)
    is_repeated = context.parameters.redraws and turn.speaker and is_loop([*lines, (turn.speaker, turn.text)])
    return "repetition" if is_repeated else "said goodbye"


def spoken_turn(state: DialogueState | GroupState, context: Context) -> TurnRecord:
    """Return the utterance that the utterance graph selected, with how it came about."""
    candidate = candidate_at(context, state["turn"], state["chosen"], state.get("part", ""))
    turn = Turn(
        turn=state["turn"],
        round=state["round"],
        speaker=state["speaker"],
        text=candidate.text,
        sim_time_s=state["sim_time_s"],
        ended=state["ended"],
    )
    return TurnRecord(
        turn=turn,
        prompt=state["prompt"],
        scores=state["scores"],
        removed=tuple(state["removed"]),
        chosen=state["chosen"],
        rollbacks=state["rollbacks"],
        scored_by=state["scored_by"],
        judged_by=state["judged_by"],
        removal_factor=state["removal_factor"],
        line_scores=state["line_scores"],
        line_scored_by=state["line_scored_by"],
    )


def speaking_time_s(text: str, rate_wpm: float) -> float:
    """Return how long it takes to say a text, in seconds, at a rate in words per minute."""
    return spoken_words(text) / rate_wpm * 60
