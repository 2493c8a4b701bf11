"""What a model answered to the Big Five Inventory about everybody. Source: ChatAgents, Table I."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from cli.terminal.output import plain
from cli.terminal.tables import Row, print_table
from cli.views.annotated import print_heading
from lab.inventory_report import InventoryReport
from metrics.personality import TEAM_BUILDING, DimensionFigures, PoleFigures, RatedSegment
from state.meeting import BIG_FIVE
from tertulia.phrases import number


def print_inventory(console: Console, report: InventoryReport, paper: bool = False) -> None:
    """Print the ratings by pole and by person; with `paper` the published figures beside them."""
    print_heading(console, report.runs, f"answered by {', '.join(report.models) or 'nobody'}", report.rehearsed)
    if not report.segments:
        console.print(plain("nobody has spoken yet", "dim"))
        return
    if any(segment.poles for segment in report.segments):
        _print_table(console, report.table, TEAM_BUILDING if paper else ())
    _print_people(console, report.segments, len(report.runs) > 1)
    if not report.tells_people_apart:
        console.print(
            plain("everybody has the same ratings: this model can't tell them apart, take another one", "yellow")
        )


def _print_table(console: Console, table: Sequence[DimensionFigures], paper: Sequence[DimensionFigures]) -> None:
    grid = Table(box=None, pad_edge=False)
    for heading in ("dimension", "pole", "mean [95 % CI]", "people", "ratings", "p", "p over\npeople"):
        grid.add_column(heading, justify="left" if heading in ("dimension", "pole") else "right", overflow="fold")
    published = {figures.dimension: figures for figures in paper}
    for figures in table:
        beside = published.get(figures.dimension)
        for first, pole in ((True, figures.high), (False, figures.low)):
            p = (_p(figures.p), _p(figures.p_people)) if first else ("", "")
            dimension = figures.dimension if first else ""
            grid.add_row(dimension, pole.pole, _interval(pole), str(pole.people), str(pole.ratings), *p)
            if beside:
                of_paper = beside.high if first else beside.low
                grid.add_row("", "  paper", _interval(of_paper), "", "", "<.001" if first else "", "", style="dim")
    console.print(grid)
    console.print()
    notes = ["ratings: one per person and segment of 30 turns; p: Welch's test over them, and over people's means"]
    if missing := {why for row in table for why in (row.p_missing, row.p_people_missing) if why}:
        notes.append(f"– for p: {'; '.join(sorted(missing))}")
    if paper:
        notes.append("the paper's figures are of five runs of team_building with GPT-4o")
    for note in notes:
        console.print(plain(note, "dim"))
    console.print()


def _print_people(console: Console, rated: Sequence[RatedSegment], several: bool) -> None:
    rows = []
    for segment in sorted(rated, key=lambda segment: (segment.run, segment.agent, segment.first)):
        who = f"{segment.run} {segment.agent}" if several else segment.agent
        cells = []
        for dimension, poles in BIG_FIVE.items():
            given = next((pole for pole in poles if pole in segment.poles), None)
            mark = "" if given is None else " +" if given == poles[0] else " −"
            cells.append(f"{segment.scores[dimension]:.2f}{mark}")
        rows.append(Row((plain(who, "bold"), f"{segment.first}–{segment.last}", *cells)))
    print_table(console, ("", "turns", *BIG_FIVE), rows, right=(*BIG_FIVE,))
    if any(segment.poles for segment in rated):
        console.print(
            plain("+ and −: the pole that was given, the one that scores high or the one that scores low", "dim")
        )


def _interval(pole: PoleFigures) -> str:
    if pole.ci_low is None or pole.ci_high is None:
        return number(pole.mean, 2)
    return f"{number(pole.mean, 2)} [{pole.ci_low:.2f}, {pole.ci_high:.2f}]"


def _p(value: float | None) -> str:
    return "–" if value is None else "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
