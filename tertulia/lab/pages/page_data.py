"""The data of a report: a row per row of each table and per point of each plot, as CSV and as Parquet."""

import io
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tertulia.lab.pages.page import Cell, Column, Figure, Page, Table
from tertulia.state.csv_rows import csv_rows
from tertulia.state.optional import importing
from tertulia.state.written_files import write_bytes

if TYPE_CHECKING:
    from pandas import DataFrame

_POINT_COLUMNS = (
    Column("panel", "panel"),
    Column("series", "series"),
    Column("published", "published"),
    Column("x", "x"),
    Column("y", "y", "number"),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
)


def data_tables(page: Page) -> list[Table]:
    """Return the data to write: the tables, and the points of each figure as one more."""
    return [*page.tables(), *(_points(figure) for figure in page.figures())]


def _points(figure: Figure) -> Table:
    rows = [
        (panel.title, series.name, "yes" if series.published else "no", str(point.x), point.y, point.low, point.high)
        for panel in figure.panels
        for series in panel.series
        for point in series.points
    ]
    return Table(f"{figure.name}_plot", figure.title, _POINT_COLUMNS, rows, on_page=False)


def csv_lines(table: Table) -> Iterator[str]:
    """Yield a table as lines of CSV, with all digits; an unknown cell is empty."""
    yield from csv_rows([_names(table.columns), *(_flat(row, table.columns) for row in table.rows)])


def frame(table: Table) -> "DataFrame":
    """Return a table as a data frame, each column with the type of its kind."""
    import pandas

    types = {"text": "string", "count": "Int64"}
    columns = [(name, types.get(column.kind, "float64")) for column in table.columns for name in _names([column])]
    rows = [_flat(row, table.columns) for row in table.rows]
    return pandas.DataFrame(
        {name: pandas.Series([row[at] for row in rows], dtype=kind) for at, (name, kind) in enumerate(columns)}
    )


def write_parquet(table: Table, file: Path) -> None:
    """Write a table as a Parquet file.

    Raises:
        UsageError: pandas or pyarrow is not installed.
        OSError: The file can't be written.
    """
    check_parquet()
    written = io.BytesIO()
    frame(table).to_parquet(written, engine="pyarrow", index=False)
    write_bytes(file, [written.getvalue()])


def check_parquet() -> None:
    """Refuse to write Parquet if it can't be.

    Raises:
        UsageError: pandas or pyarrow is not installed.
    """
    for package in ("pandas", "pyarrow"):
        with importing(package, "lab", "Parquet files"):
            import_module(package)


def _names(columns: Sequence[Column]) -> list[str]:
    return [
        name
        for column in columns
        for name in ((f"{column.name}_low", f"{column.name}_high") if column.kind == "interval" else (column.name,))
    ]


def _flat(row: Sequence[Cell], columns: Sequence[Column]) -> list[str | int | float | None]:
    """Return the cells of a row, an interval as two."""
    flat: list[str | int | float | None] = []
    for cell, column in zip(row, columns, strict=True):
        if column.kind == "interval":
            flat += cell if isinstance(cell, tuple) else (None, None)
        elif isinstance(cell, str):
            flat.append(cell.encode("utf-8", "replace").decode())
        else:
            assert not isinstance(cell, tuple), f"{column.name} is no interval"
            flat.append(cell)
    return flat
