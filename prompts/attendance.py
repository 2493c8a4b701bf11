"""The lines of a conversation with the arrivals and departures in between, in the order of the events."""

from collections.abc import Iterable, Sequence

from tertulia.state.meeting import AttendanceChange
from tertulia.state.records import Turn
from tertulia.state.text import one_line


def lines_and_changes(turns: Sequence[Turn], changes: Iterable[AttendanceChange]) -> list[Turn | AttendanceChange]:
    """Return turns in their order, each after the arrivals and departures up to its first word."""
    waiting = sorted(changes, key=lambda change: change.sim_time_s)
    events: list[Turn | AttendanceChange] = []
    for turn in turns:
        due = [change for change in waiting if change.sim_time_s <= turn.sim_time_s]
        waiting = waiting[len(due) :]
        events += [*due, turn]
    return [*events, *waiting]


def change_entry(change: AttendanceChange, reader: str) -> tuple[str, dict[str, str]]:
    """Return the entry of a template for a change, and its variables; the reader's own coming has another entry."""
    if change.joined:
        return "you_come" if change.agent == reader else "comes", {"name": change.agent}
    reason = one_line(change.reason or "").rstrip(" .。")
    return "leaves_for" if reason else "leaves", {"name": change.agent, "value": reason}
