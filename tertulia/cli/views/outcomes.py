"""What came of conversations for their people, by rules and by a model. Source: Zhou et al. 2024 (Sotopia)."""

from rich.console import Console

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.cli.views.annotated import print_heading
from tertulia.lab.annotations.outcomes_report import OutcomesReport, RunOutcomes, evidence_of, settled
from tertulia.metrics.outcome_records import RANGES
from tertulia.state.text import number
from tertulia.views.measuring.outcomes import scores_of


def print_outcomes(console: Console, report: OutcomesReport) -> None:
    """Print the scores of everybody in each run with what shows them, then how far rules and model agree."""
    how = f"compared with {report.embedder}" + (f"; in brackets: judged by {report.judge}" if report.judge else "")
    print_heading(console, [of.run for of in report.runs], how, report.rehearsed)
    for note in report.notes:
        console.print(plain(note, "yellow"))
    for of in report.runs:
        _print_run(console, of)
    rows = [
        Row((a.dimension, str(a.pairs), number(a.mean_difference, 1), number(a.spearman, 2))) for a in report.agreement
    ]
    if rows:
        headings = ("rules and judge", "scores", "mean difference", "rank correlation")
        print_table(console, headings, rows, right=headings[1:])


def _print_run(console: Console, of: RunOutcomes) -> None:
    headings = (of.run.run, "lines", *(f"{name}\n{low} to {high}" for name, (low, high) in RANGES.items()))
    rows = []
    for person in of.outcomes.people:
        cells = (_cell(of, person.agent, dimension, score) for dimension, score in scores_of(person).items())
        rows.append(Row((plain(person.agent, "bold"), str(person.lines), *cells)))
    print_table(console, headings, rows, right=headings[1:])
    console.print()
    shown = [(person.agent, evidence_of(person)) for person in of.outcomes.people]
    if of.outcomes.meeting is not None:
        shown.append(("all", [settled(of.outcomes.meeting)]))
    for name, evidence in shown:
        judged = [f"{what}: {judged.comment}" for (agent, what), judged in of.judged.items() if agent == name]
        if evidence or judged:
            console.print(plain(name, "bold"))
        for line in evidence:
            console.print("  " * line.depth, plain(f"{line.what}:", "dim"), " ", plain(line.text), sep="")
        for comment in judged:
            console.print("  ", plain("judge:", "dim"), " ", plain(comment), sep="")
    console.print()


def _cell(of: RunOutcomes, agent: str, dimension: str, score: float | None) -> str:
    judged = of.judged.get((agent, dimension))
    return number(score, 1) + (f" ({judged.score})" if judged else "")
