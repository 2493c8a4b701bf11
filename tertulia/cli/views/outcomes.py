"""Outcomes of conversations for their people, by a model. Source: Zhou et al. 2024 (Sotopia)."""

from rich.console import Console

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.cli.views.annotated import print_heading
from tertulia.lab.annotations.outcomes import RANGES, OutcomesReport, RunOutcomes
from tertulia.state.text import number


def print_outcomes(console: Console, report: OutcomesReport) -> None:
    """Print everybody's scores in each run, and the judge's reason for each."""
    print_heading(console, [of.run for of in report.runs], f"judged by {report.judge}", report.rehearsed)
    for note in report.notes:
        console.print(plain(note, "yellow"))
    for of in report.runs:
        _print_run(console, of)


def _print_run(console: Console, of: RunOutcomes) -> None:
    headings = (of.run.run, "lines", *(f"{name}\n{low} to {high}" for name, (low, high) in RANGES.items()))
    scores = {agent: [number(found.score if found else None, 0) for _, found in of.of(agent)] for agent in of.lines}
    rows = [Row((plain(agent, "bold"), str(lines), *scores[agent])) for agent, lines in of.lines.items()]
    print_table(console, headings, rows, right=headings[1:])
    console.print()
    for agent in of.lines:
        reasons = [(dimension, outcome.comment) for dimension, outcome in of.of(agent) if outcome is not None]
        if reasons:
            console.print(plain(agent, "bold"))
        for dimension, comment in reasons:
            console.print("  ", plain(f"{dimension}:", "dim"), " ", plain(comment), sep="")
    if (meeting := of.meeting) is not None:
        console.print(plain("all", "bold"))
        console.print("  ", plain(f"settled, {meeting.score} of 10:", "dim"), " ", plain(meeting.comment), sep="")
    console.print()
