"""The comparison of two album chats as a page with tables and plots, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tertulia.lab.albums.album_comparison import AlbumComparison, Row
from tertulia.lab.pages.page import Cell, Column, Figure, Items, Page, Panel, Paragraph, Point, Section, Series, Table
from tertulia.lab.reports.report_tables import interval_of
from tertulia.metrics.album import FIGURES, MEANINGS
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.records import RunRecord
from tertulia.state.text import counted

NAME = "album"

_SIDES = ("low", "high", "difference")


def album_page(compared: AlbumComparison) -> Page:
    """Return the page: the figures of each call, plots over the rounds, and the meaning of each figure."""
    measured = [(None, f"sim is measured with {compared.embedder}")] if compared.is_read else []
    about = [*map(_run_item, compared.runs, compared.exchanges), *measured]
    notes = [Paragraph(note, is_warning="stand-in" in note) for note in compared.notes]
    meanings = [(_title(name), meaning) for name, meaning in MEANINGS.items()]
    sections = [
        Section("Over all rounds", [_table("figures", "Figures by call", compared.whole, compared.titles)]),
        Section("Over the rounds", [*_plots(compared), _rounds_table(compared)]),
        Section("What the figures are", [Items([*meanings, ("n", "texts, or exchanges; of a difference, agents")])]),
    ]
    return Page(NAME, "Album chats: low and high diversity", [Items(about), *notes], sections)


def _run_item(run: RunRecord, exchanges: int) -> tuple[str, str]:
    about = f"run {run.run}, {counted(exchanges, 'exchange')}, {run.model}, seed {run.seed}"
    return str(run.parameters.get("setting")), about


def _title(figure: str) -> str:
    return figure.replace("_", " ")


def _rounds_table(compared: AlbumComparison) -> Table:
    """Return the figures of each round, which are written as data only."""
    table = _table("rounds", "Figures by round", compared.rounds, compared.titles)
    rows = [[row.round, *cells] for row, cells in zip(compared.rounds, table.rows, strict=True)]
    return replace(table, columns=[Column("round", "round", "count"), *table.columns], rows=rows, on_page=False)


def _table(name: str, title: str, rows: Sequence[Row], titles: tuple[str, str]) -> Table:
    columns = [Column("call", "call"), Column("figure", "figure")]
    for side, heading in zip(_SIDES, (*titles, "difference"), strict=True):
        columns += [Column(side, heading, "number"), Column(f"{side}_ci", "95 %", "interval")]
        columns.append(Column(f"{side}_n", "n", "count"))
    return Table(name, title, columns, [list(_cells(row)) for row in rows], is_grouped=True)


def _cells(row: Row) -> Iterator[Cell]:
    yield from (row.call, row.figure)
    for side in (row.low, row.high, row.difference):
        yield from (side.value, interval_of(side), side.n)


def album_document(compared: AlbumComparison) -> Document:
    """Return the comparison as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": ", ".join(run.run for run in compared.runs),
        "low": _run_document(compared.runs[0], compared.exchanges[0]),
        "high": _run_document(compared.runs[1], compared.exchanges[1]),
        "embedder": compared.embedder,
        "notes": list(compared.notes),
        "figures": [_row_document(row) for row in compared.whole],
        "rounds": [_row_document(row) for row in compared.rounds],
        "meanings": dict(MEANINGS),
    }


def _run_document(run: RunRecord, exchanges: int) -> Document:
    setting = run.parameters.get("setting")
    return {"run": run.run, "setting": setting, "exchanges": exchanges, "rehearsed": run.rehearsed}


def _row_document(row: Row) -> Document:
    estimates = {side: getattr(row, side).model_dump() for side in _SIDES}
    return {"call": row.call, "figure": row.figure, "round": row.round, **estimates}


#: By name of a plot, the figures that it has a row of panels for, each with a column for every call that has it.
PLOTS = {
    "texts": ("len", "dist2", "dist2_equal", "without_sense", "repeated_lines", "sim"),
    "exchanges": (
        "names_partner",
        "asked_before",
        "names_picture",
        "chosen_before",
        "most_chosen",
        "distinct_pictures",
    ),
}


def _plots(compared: AlbumComparison) -> list[Figure]:
    """Return the figures over the rounds, to be drawn."""
    return [
        Figure(
            name,
            f"Over the rounds: {', '.join(_title(figure) for figure in figures)}",
            [_panel(compared, call, figure) for figure in figures for call in FIGURES if figure in FIGURES[call]],
        )
        for name, figures in PLOTS.items()
    ]


def _panel(compared: AlbumComparison, call: str, figure: str) -> Panel:
    rows = [row for row in compared.rounds if (row.call, row.figure) == (call, figure)]
    is_share = figure not in ("len", "sim", "distinct_pictures")
    return Panel(
        f"{call}: {_title(figure)}",
        "round",
        "",
        [
            Series(title, [_point(row, side) for row in rows])
            for side, title in zip(("low", "high"), compared.titles, strict=True)
        ],
        interval="band",
        y_range=(None if figure == "sim" else 0, 1.05 if is_share else None),
        whole_x=True,
    )


def _point(row: Row, side: str) -> Point:
    estimate = getattr(row, side)
    return Point(row.round or 0, estimate.value, estimate.ci_low, estimate.ci_high)
