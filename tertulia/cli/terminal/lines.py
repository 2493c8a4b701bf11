"""Turns and headings as lines of a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tertulia.cli.terminal.output import plain
from tertulia.state.album import Population
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Turn
from tertulia.state.spoken import parts_of
from tertulia.state.text import clean
from tertulia.views.wording.phrases import attendance, clock, meeting_line, silence


def print_turn(
    console: Console,
    turn: Turn,
    start: Start,
    silence_s: float | None = None,
    before: Turn | None = None,
    is_edited: bool = False,
) -> None:
    """Print arrivals and departures since the turn `before`, and a turn: number, clock, and utterance or silence.

    A terminal breaks long lines after the clock; in a pipe a turn is one line. The length of a silence is printed if it
    is known.
    """
    if before is not None and isinstance(start, Meeting):
        for change in start.attendance_changes(before.sim_time_s, turn.sim_time_s):
            console.print(Text(f"     {clock(change.sim_time_s, start)}  {attendance(change)}", "magenta"))
    when, what = (
        Text(f"{turn.turn:>3}  {clock(turn.sim_time_s, start)}  ", "dim"),
        utterance(turn, silence_s, is_edited),
    )
    if turn.ended:
        what.append("  ∎", "dim")
    if not console.is_terminal:
        console.print(Text.assemble(when, what))
        return
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")  # a long word stays whole
    grid.add_row(when, what)
    console.print(grid)


def utterance(turn: Turn, silence_s: float | None, is_edited: bool = False) -> Text:
    """Return speaker and text of a turn, with a mark if a person rewrote it; or the silence."""
    if turn.speaker is None:
        return Text(silence(silence_s), "dim italic")
    mark = ("  ✎ rewritten by a person", "dim") if is_edited else ""
    return Text.assemble(plain(f"{turn.speaker}:", "bold"), " ", spoken(turn.text), mark)


def spoken(line: str) -> Text:
    """Return a line of any origin, its actions in italics."""
    parts = ((part.text, "italic" if part.kind == "action" else "") for part in parts_of(clean(line)))
    return Text.assemble(*parts)


def meeting_heading(meeting: Meeting | Population) -> Text:
    """Return title, time and place."""
    return plain(meeting_line(meeting), "bold")
