"""The comparison of two album chats as a page with tables and plots, and as JSON."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from tertulia.lab.albums.album_comparison import AlbumComparison, Row
from tertulia.lab.albums.album_plots import album_plots
from tertulia.lab.pages.page import Cell, Column, Items, Page, Paragraph, Section, Table
from tertulia.metrics.album import MEANINGS, Estimate
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.records import RunRecord
from tertulia.state.text import counted

NAME = "album"

#: Figures that are counts, shown without decimals.
_COUNTS = ("distinct_pictures",)

_SIDES = ("low", "high", "difference")


def album_page(compared: AlbumComparison) -> Page:
    """Return the page: the figures of each call, plots over the rounds, and the meaning of each figure."""
    sections = [
        Section(call.capitalize(), [_shown_table(call, list(rows), compared.titles)])
        for call, rows in groupby(compared.whole, lambda row: row.call)
    ]
    meanings = Items([*MEANINGS.items(), ("n", "texts, or exchanges, of the low and of the high run")])
    data = [_data_table("figures", compared.whole), _data_table("rounds", compared.rounds)]
    sections.append(Section("Over the rounds", [*album_plots(compared), *data]))
    sections.append(Section("What the figures are", [meanings]))
    runs = Items(
        [*map(_run_item, compared.runs, compared.exchanges), (None, f"sim is measured with {compared.embedder}")]
    )
    notes = [Paragraph(note, is_warning="stand-in" in note) for note in compared.notes]
    return Page(NAME, "Album chats: low and high diversity", [runs, *notes], sections)


def _run_item(run: RunRecord, exchanges: int) -> tuple[str, str]:
    about = f"run {run.run}, {counted(exchanges, 'exchange')}, {run.model}, seed {run.seed}"
    return str(run.parameters.get("setting")), about


def _shown_table(call: str, rows: Sequence[Row], titles: tuple[str, str]) -> Table:
    """Return the rows of a call as a page shows them, each figure with its own digits."""
    low, high = titles
    columns = [Column("figure", "figure"), Column("low", low), Column("high", high), Column("difference", "difference")]
    shown = [
        (
            row.figure,
            *(_shown(row.figure, value) for value in (row.low, row.high, row.difference)),
            f"{row.low.n}, {row.high.n}",
        )
        for row in rows
    ]
    return Table(call, f"Figures of {call}s", [*columns, Column("n", "n")], shown)


def _shown(name: str, estimated: Estimate) -> str | None:
    digits = 0 if name in _COUNTS else 1 if name == "len" else 3
    value, low, high = (
        None if bound is None else f"{round(bound, digits) + 0.0:.{digits}f}"
        for bound in (estimated.value, estimated.ci_low, estimated.ci_high)
    )
    return value if low is None or high is None else f"{value} [{low}, {high}]"


def _data_table(name: str, rows: Sequence[Row]) -> Table:
    """Return all estimates of the rows with all digits."""
    of_sides = [
        Column(side if field == "value" else f"{side}_{field}", side, "count" if field == "n" else "number")
        for side in _SIDES
        for field in Estimate.model_fields
    ]
    columns = [Column("call", "call"), Column("figure", "figure"), Column("round", "round", "count"), *of_sides]
    return Table(name, name, columns, [list(_cells(row)) for row in rows], on_page=False)


def _cells(row: Row) -> Iterator[Cell]:
    yield from (row.call, row.figure, row.round)
    for side in (row.low, row.high, row.difference):
        yield from side.model_dump().values()


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
