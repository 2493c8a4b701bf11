"""Turns and headings as lines of a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.terminal.output import plain
from state.meeting import Meeting, Start
from state.records import Turn
from tertulia.phrases import clock, meeting_line, silence


def print_turn(console: Console, turn: Turn, start: Start, silence_s: float | None = None) -> None:
    """Print a turn: number, clock, and the utterance or the silence.

    A terminal breaks long lines behind the clock; in a pipe a turn is one line.

    Args:
        console: Where to.
        turn: The turn; 0 is how a meeting opened.
        start: What the run started from.
        silence_s: Length of a recorded silence; not printed where it is not known.
    """
    when, what = Text(f"{turn.turn:>3}  {clock(turn.sim_time_s, start)}  ", "dim"), utterance(turn, silence_s)
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


def utterance(turn: Turn, silence_s: float | None) -> Text:
    """Return speaker and text of a turn, or the silence."""
    if turn.speaker is None:
        return Text(silence(silence_s), "dim italic")
    return Text.assemble(plain(f"{turn.speaker}:", "bold"), " ", plain(turn.text))


def meeting_heading(meeting: Meeting) -> Text:
    """Return what is held, when and where."""
    return plain(meeting_line(meeting), "bold")
