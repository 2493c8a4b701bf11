"""The two ends of a turn in a two-party dialogue: whose it is, and what is kept of it."""

from langgraph.runtime import Runtime

from state.contracts import Context
from state.graph_state import DialogueState
from state.parameters import Parameters
from state.records import Turn, TurnRecord


async def take_turn(state: DialogueState, runtime: Runtime[Context]) -> DialogueState:
    """Give the turn to the one who did not speak last; the initiator begins."""
    case = runtime.context.case
    turn = state["turn"] + 1
    speaker = (case.initiator if turn % 2 else case.partner).persona.name
    return {"turn": turn, "round": turn, "speaker": speaker}


async def record_turn(state: DialogueState, runtime: Runtime[Context]) -> DialogueState:
    """Store the turn with how it came about, and move the simulated clock on by the time it takes to say it."""
    context = runtime.context
    said = context.store.candidates(context.run, state["turn"])[state["chosen"]]
    turn = Turn(
        turn=state["turn"],
        round=state["round"],
        speaker=state["speaker"],
        text=said.text,
        sim_time_s=state["sim_time_s"],
        ended=state["ended"],
    )
    context.store.save_turn(
        context.run,
        TurnRecord(
            turn=turn,
            prompt=state["prompt"],
            scores=state["scores"],
            removed=tuple(state["removed"]),
            chosen=state["chosen"],
            rollbacks=state["rollbacks"],
            scored_by=state["scored_by"],
            judged_by=state["judged_by"],
        ),
    )
    now_s = state["sim_time_s"] + speaking_time_s(said.text, context.parameters.speaking_rate_wpm)
    return {"sim_time_s": now_s, "finished": turn.ended or is_over(turn.turn, now_s, context.parameters)}


def speaking_time_s(text: str, rate_wpm: float) -> float:
    """Return how long it takes to say a text, in seconds, at a rate in words a minute."""
    return len(text.split()) / rate_wpm * 60


def is_over(turn: int, sim_time_s: float, parameters: Parameters) -> bool:
    """Whether a limit has come: turns, or simulated minutes."""
    minutes = parameters.max_minutes
    return turn >= parameters.max_turns or (minutes is not None and sim_time_s >= minutes * 60)
