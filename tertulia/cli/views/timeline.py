"""A conversation along the simulated clock, with the thoughts behind every turn."""

from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tertulia.cli.terminal.lines import utterance
from tertulia.cli.terminal.output import plain
from tertulia.state.meeting import AttendanceChange, Meeting, Start
from tertulia.state.records import RunRecord, status_in_words
from tertulia.state.text import clean
from tertulia.views.reading.timeline import Thought, TimelineTurn, attendance_changes, changes_before
from tertulia.views.wording.phrases import attendance, clock, people_line, settings


def print_timeline(console: Console, run: RunRecord, start: Start, timeline: Sequence[TimelineTurn]) -> None:
    """Print the timeline: clock, utterance, and the thoughts behind it; silences are gaps."""
    console.print(plain(f"{run.run} · {run.scenario} · {people_line(start)}", "bold"))
    console.print(plain(" · ".join([status_in_words(run.status, run.ended_by), *settings(run)]), "dim"))
    console.print()
    has_thoughts = isinstance(start, Meeting)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0))
    table.add_column("clock", style="dim", no_wrap=True)
    table.add_column("said", ratio=1, overflow="fold")
    if has_thoughts:
        table.add_column("thought (→ got the floor, · wanted it)", ratio=1, overflow="fold")
    turns = [entry.turn for entry in timeline]
    changes = attendance_changes(start, turns)
    for entry, due in zip(timeline, changes_before(turns, changes), strict=True):
        for change in due:
            table.add_row(clock(change.sim_time_s, start), Text(attendance(change), "magenta"))
        cells = [Text(clock(entry.turn.sim_time_s, start)), utterance(entry.turn, entry.silence_s, entry.edited)]
        table.add_row(*cells, *([_thoughts(entry.thoughts)] if has_thoughts else []))
    console.print(table)
    if not has_thoughts:
        return
    for joined, what in ((True, "joined"), (False, "left")):
        who = [_when(change, start) for change in changes if change.joined is joined]
        console.print(plain(f"{what} meanwhile: {', '.join(who) or '–'}", "dim"))


def _thoughts(thoughts: Sequence[Thought]) -> Text:
    marks = [("→ ", "green") if thought.won else ("· " if thought.willing else "  ", "yellow") for thought in thoughts]
    lines = [
        Text.assemble(mark, plain(f"{thought.agent}:", "bold"), " ", (clean(thought.thought) or "–", "italic"))
        for mark, thought in zip(marks, thoughts, strict=True)
    ]
    return Text("\n").join(lines)


def _when(change: AttendanceChange, start: Start) -> str:
    reason = f", {change.reason}" if change.reason else ""
    return f"{change.agent} ({start.time + timedelta(seconds=change.sim_time_s):%H:%M}{reason})"
