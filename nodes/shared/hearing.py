"""The part of a conversation that a participant has heard: the lines of prompts, arrivals and departures.

A line is heard by the people present at its first word; a latecomer has not heard lines that began before. Of the heard
lines a person may have noticed a part only (`hearing`).
"""

from dataclasses import dataclass

from tertulia.state.cognition import Perception
from tertulia.state.context import Context
from tertulia.state.meeting import AttendanceChange, Meeting
from tertulia.state.parameters import Hearing
from tertulia.state.records import Turn


@dataclass(frozen=True)
class HeardTurns:
    """The part of the last turns that a participant has heard.

    Attributes:
        turns: The turns, oldest first, the opening of a meeting among them.
        changes: Arrivals and departures since the first of the last turns, the hearer's own coming among them.
        is_nothing: Whether there was talk, and the hearer has heard none of it.
    """

    turns: tuple[Turn, ...]
    changes: tuple[AttendanceChange, ...] = ()
    is_nothing: bool = False


def latest_turns(context: Context, turn: int, window: int) -> list[Turn]:
    """Return the last turns before a turn, heard or not, oldest first, including the opening of a meeting."""
    turns = context.store.turns(context.run, max(1, turn - window), turn - 1)
    opening = context.start.opening_turn if isinstance(context.start, Meeting) else None
    return [opening, *turns] if opening is not None and turn <= window else turns


def turns_heard(
    context: Context, name: str, turn: int, window: int, now_s: float, hearing: Hearing | None = None
) -> HeardTurns:
    """Return the part of the last turns that a participant has heard.

    Args:
        now_s: The present moment, in seconds since the beginning.
        hearing: Which turns; `None`: as the run's parameters say.
    """
    turns = latest_turns(context, turn, window)
    if not isinstance(context.start, Meeting):
        return HeardTurns(tuple(turns))
    meeting, hearing = context.start, hearing or context.parameters.hearing
    is_whole = turn <= window or not turns
    changes = changes_seen(meeting, name, 0.0 if is_whole else turns[0].sim_time_s, now_s)
    kept = turns
    if hearing != "all":
        kept = [turn for turn in kept if was_there(meeting, name, turn)]
    if hearing == "noticed":
        kept = [turn for turn in kept if _was_noticed(context, name, turn)]
    return HeardTurns(tuple(kept), changes, is_nothing=not kept and any(turn.speaker for turn in turns))


def was_there(meeting: Meeting, name: str, turn: Turn) -> bool:
    """Whether a participant had come when the first word of a turn fell."""
    return came_s(meeting, name) <= turn.sim_time_s


def came_s(meeting: Meeting, name: str) -> float:
    """Return when a participant comes, in seconds since the meeting began; 0 if they are there from the start."""
    return max(0.0, meeting.offset_s(meeting.participant(name).joins, 0.0))


def changes_seen(meeting: Meeting, name: str, since_s: float, now_s: float) -> tuple[AttendanceChange, ...]:
    """Return arrivals and departures while a participant was there, from one moment to another.

    A latecomer's own coming is the first of them; a person that leaves at that moment is not seen any more.
    """
    came = came_s(meeting, name)
    return tuple(
        change
        for change in meeting.attendance_changes(-1.0, now_s)
        if change.sim_time_s >= max(since_s, came) and (change.joined or change.sim_time_s > came)
    )


def _was_noticed(context: Context, name: str, turn: Turn) -> bool:
    """Whether the next round recorded a turn as noticed; if a user's own node stored nothing, it counts as noticed."""
    perception = context.store.step(context.run, turn.round + 1, name, "perceive", Perception)
    return perception is None or perception.turn != turn.turn or perception.noticed
