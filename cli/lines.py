"""Lines of a conversation as `show`, `timeline` and a live run print them: heading, clock, turns, silences."""

from datetime import timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.output import plain
from state.meeting import Attendee, Meeting, Start
from state.records import BLOCK_INITIALS, RunRecord, Turn

_NUMERALS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def order_of(run: RunRecord) -> str | None:
    """Return the speaking order of a group chat; a dialogue of two has none."""
    return str(run.parameters.get("order")) if run.kind == "group_chat" else None


def in_words(name: str) -> str:
    """Return the name of a parameter's value, a step or a mechanism as it stands in a sentence."""
    return name.replace("_", " ")


def settings(run: RunRecord) -> list[str]:
    """Return what the run was made with, order, λ (or what is retained), model, seed and seat, each as a phrase."""
    order = order_of(run)
    kept = retained(run)
    seat = run.parameters.get("seat")
    return [
        *([in_words(order)] if order else []),
        f"retained: {kept}" if kept else f"λ = {run.parameters.get('removal_factor'):g}",
        run.model,
        f"seed {run.seed}",
        *([f"a person as {seat}"] if seat else []),
    ]


def retained(run: RunRecord) -> str | None:
    """Return which item of a prompt is all that a run retains, in the place of λ, if it does."""
    which = run.parameters.get("retain")
    return f"the {which} of {in_words(BLOCK_INITIALS[str(run.parameters['retain_block'])])}" if which else None


def people_line(start: Start) -> str:
    """Return who takes part, with when they come and go."""
    if isinstance(start, Meeting):
        return ", ".join(f"{one.persona.name}{_stay(one)}" for one in start.participants)
    return " and ".join(start.names)


def _stay(one: Attendee) -> str:
    joins = [f"from {one.joins:%H:%M}"] if one.joins else []
    leaves = [f"until {one.leaves:%H:%M}"] if one.leaves else []
    return f" ({' '.join(joins + leaves)})" if joins or leaves else ""


def clock(sim_time_s: float, start: Start) -> str:
    """Return a simulated moment: minutes and seconds from the start, in a group chat the time of day before them."""
    minutes, seconds = divmod(int(sim_time_s), 60)
    if isinstance(start, Meeting):
        return f"{start.time + timedelta(seconds=sim_time_s):%H:%M:%S}  {minutes:>2}:{seconds:02d}"
    return f"{minutes:02d}:{seconds:02d}"


def silence(silence_s: float | None) -> str:
    """Return a recorded silence in words."""
    if silence_s is None:
        return "… silence"
    is_short = silence_s.is_integer() and silence_s < len(_NUMERALS)
    return f"… {_NUMERALS[int(silence_s)] if is_short else f'{silence_s:g}'} seconds of silence"


def print_turn(console: Console, turn: Turn, start: Start, silence_s: float | None = None) -> None:
    """Print a turn: number, clock, and who says what, or the silence that it is.

    A terminal breaks long lines behind the clock; in a pipe a turn is one line.

    Args:
        console: Where to.
        turn: The turn; 0 is how a meeting opened.
        start: What the run started from.
        silence_s: Length of a recorded silence; it is not told where it is not known.
    """
    when, what = Text(f"{turn.turn:>3}  {clock(turn.sim_time_s, start)}  ", "dim"), said(turn, silence_s)
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


def said(turn: Turn, silence_s: float | None) -> Text:
    """Return who says what in a turn, or the silence that it is."""
    if turn.speaker is None:
        return Text(silence(silence_s), "dim italic")
    return Text.assemble(plain(f"{turn.speaker}:", "bold"), " ", plain(turn.text))


def meeting_heading(meeting: Meeting) -> Text:
    """Return what is held, when and where."""
    until = f" to {meeting.ends:%H:%M}" if meeting.ends else ""
    place = f", {meeting.place}" if meeting.place else ""
    return plain(f"{meeting.title}, {meeting.time:%A %d %B %Y, %H:%M}{until}{place}", "bold")
