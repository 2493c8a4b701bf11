"""A report as a document: sections of paragraphs, tables with typed columns, and figures.

Nothing here knows the form in which it is written: Markdown (page_markdown.py), HTML (page_html.py), data files
(page_data.py), plots (plots.py). All texts are plain; the writers escape them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal, TypeVar

T = TypeVar("T")

#: The content of a cell: text, a number, or an interval; `None` for no data.
Interval = tuple[float, float]
Cell = str | int | float | Interval | None

#: How the cells of a column are read: a difference is a number shown with its sign.
ColumnKind = Literal["text", "number", "difference", "count", "interval"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its name in data files; an interval has two columns there, `NAME_low` and `NAME_high`.
        digits: Digits behind the point on a page; data files have all of them.
    """

    name: str
    title: str
    kind: ColumnKind = "text"
    digits: int = 3

    @property
    def is_text(self) -> bool:
        """Whether its cells are aligned to the left."""
        return self.kind == "text"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: The stem of its data files, such as `figures`.
        title: Its caption.
        rows: A cell for each column.
        on_page: Whether it is on the page; else in data files alone.
        is_data: Whether it is in data files; else, as its cells are for people, on the page alone.
        is_grouped: Whether rows with the same first cell belong together.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    on_page: bool = True
    is_grouped: bool = False
    is_data: bool = True


#: A column, and how its cell is taken of a thing.
Taken = tuple[Column, Callable[[T], Cell]]


def table_of(
    name: str,
    title: str,
    columns: Sequence[Taken[T]],
    things: Iterable[T],
    on_page: bool = True,
    is_grouped: bool = False,
) -> Table:
    """Return a table with a row for each thing."""
    rows = [[take(thing) for _, take in columns] for thing in things]
    return Table(name, title, [column for column, _ in columns], rows, on_page, is_grouped)


@dataclass(frozen=True)
class Point:
    """A value of a series, with those of its cases; without interval if `low` is `None`, and a gap if `y` is."""

    x: float | str
    y: float | None
    low: float | None = None
    high: float | None = None
    cases: Sequence[float] = ()


@dataclass(frozen=True)
class Series:
    """The points of one setting, in the order of the x-axis; published ones are a paper's, and drawn differently.

    The style is the number of its line, marker and colour in all panels; `None`: its place among the series.
    """

    name: str
    points: Sequence[Point]
    published: bool = False
    style: int | None = None


@dataclass(frozen=True)
class Panel:
    """A plot with its axes.

    Attributes:
        title, x_title, y_title: The texts above and at the axes.
        kind: Lines over numbers, or bars over categories.
        interval: Whether intervals of lines are bars or bands.
        y_range: The ends of the y-axis; `None` for an end that follows from the points.
        least: The y-axis begins at no less, as the measure can't.
        has_zero: Whether a line marks 0 on the y-axis.
        whole_x: Whether only whole numbers stand at the x-axis.
    """

    title: str
    x_title: str
    y_title: str
    series: Sequence[Series]
    kind: Literal["lines", "bars"] = "lines"
    interval: Literal["bars", "band"] = "bars"
    y_range: tuple[float | None, float | None] = (None, None)
    least: float = -inf
    has_zero: bool = False
    whole_x: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels in one file, which has this name before its ending; the title is in it, and is read aloud on a page."""

    name: str
    title: str
    panels: Sequence[Panel]
    columns: int = 3


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a warning is set apart."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class Items:
    """A list of short texts, each with its subject before it, or without."""

    items: Sequence[tuple[str | None, str]]


@dataclass(frozen=True)
class Commands:
    """Lines for a shell, as they were typed."""

    lines: Sequence[str]


Block = Paragraph | Items | Commands | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading, and the blocks under it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A whole page: the stem of its files, its heading, the blocks before the first section, and the sections.

    Attributes:
        beside: Texts that are files of their own beside it, by the ends of their names.
    """

    name: str
    title: str
    head: Sequence[Block] = ()
    sections: Sequence[Section] = field(default=())
    beside: Mapping[str, str] = field(default_factory=dict)

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks in reading order."""
        yield from self.head
        for section in self.sections:
            yield from section.blocks

    def tables(self) -> list[Table]:
        """Return the tables that are written as data."""
        return [block for block in self.blocks() if isinstance(block, Table) and block.is_data]

    def figures(self) -> list[Figure]:
        """Return the figures."""
        return [block for block in self.blocks() if isinstance(block, Figure)]


def shown_cell(cell: Cell, column: Column) -> str:
    """Return a cell as a page shows it: rounded, and a dash for no data."""
    if cell is None:
        return "–"
    if isinstance(cell, tuple):
        return f"[{_rounded(cell[0], column)}, {_rounded(cell[1], column)}]"
    if isinstance(cell, str) or column.kind in ("text", "count"):
        return str(cell)
    shown = _rounded(cell, column)
    return f"+{shown}" if column.kind == "difference" and round(cell, column.digits) > 0 else shown


def _rounded(value: float, column: Column) -> str:
    """Return a number with the column's digits, a true minus sign, and no minus before zero."""
    return f"{round(value, column.digits) + 0.0:.{column.digits}f}".replace("-", "−")
