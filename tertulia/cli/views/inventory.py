"""A model's answers to the Big Five Inventory about everybody. Source: ChatAgents, Table I."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.cli.views.annotated import print_heading
from tertulia.lab.annotations.inventory import InventoryReport, table_notes, table_rows
from tertulia.metrics.personality import TEAM_BUILDING, DimensionFigures, RatedSegment
from tertulia.state.meeting import BIG_FIVE


def print_inventory(console: Console, report: InventoryReport, paper: bool = False) -> None:
    """Print the ratings by pole and by person, with `paper` beside the published figures."""
    print_heading(console, report.runs, f"answered by {', '.join(report.models) or 'nobody'}", report.rehearsed)
    if not report.segments:
        console.print(plain("nobody has spoken yet", "dim"))
        return
    if any(segment.poles for segment in report.segments):
        _print_table(console, report, TEAM_BUILDING if paper else ())
    _print_people(console, report.segments, len(report.runs) > 1)
    if not report.tells_people_apart:
        hint = "everybody has the same ratings: this model can't tell them apart, take another one"
        console.print(plain(hint, "yellow"))


def _print_table(console: Console, report: InventoryReport, paper: Sequence[DimensionFigures]) -> None:
    grid = Table(box=None, pad_edge=False)
    for heading in ("dimension", "pole", "mean [95 % CI]", "people", "ratings", "p over\nratings", "p over\npeople"):
        grid.add_column(heading, justify="left" if heading in ("dimension", "pole") else "right", overflow="fold")
    for cells, is_published in table_rows(report.table, paper):
        grid.add_row(*cells, style="dim" if is_published else None)
    console.print(grid)
    console.print()
    for note in table_notes(report.table, bool(paper)):
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
        marks = "+ and −: the pole that was given, the one that scores high or the one that scores low"
        console.print(plain(marks, "dim"))
