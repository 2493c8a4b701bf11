"""Tables that break no words: columns that do not fit into the terminal are left out, or follow in a table below."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tertulia.cli.terminal.output import data, plain
from tertulia.state.text import clean

#: Columns of a terminal between two columns of a table.
_GAP = 2
#: Columns of a terminal that a column of text has at least.
_READABLE = 20


class Row(NamedTuple):
    """A row of a table, and its style."""

    cells: Sequence[Text | str]
    style: str = ""


def print_columns(
    headings: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = (), drop: Sequence[str] = ()
) -> None:
    """Print a long table to standard output, each row on one line: a hundred times as fast as rich's tables.

    In a pipe there are tabs between cells, and nothing is padded.

    Args:
        rows: Texts of any origin.
        right: Headings of the columns that are aligned to the right.
        drop: Headings of columns that a narrow terminal leaves out, in this order; empty columns go first.
    """
    lines = [tuple(headings), *(tuple(_clean_cell(cell) for cell in row) for row in rows)]
    if not data().is_terminal:  # whoever reads it finds every cell whole, and splits at tabs
        for line in lines:
            print("\t".join(line).rstrip())
        return
    widths = {heading: max(cell_len(line[at]) for line in lines) for at, heading in enumerate(headings)}
    empty = [heading for heading in drop if not any(line[headings.index(heading)] for line in lines[1:])]
    shown = _fitting(widths, list(dict.fromkeys([*empty, *drop])))
    for line in lines:
        cells = (
            " " * (widths[heading] - cell_len(cell)) + cell
            if heading in right
            else cell + " " * (widths[heading] - cell_len(cell))
            for heading, cell in zip(headings, line, strict=True)
            if heading in shown
        )
        print("  ".join(cells).rstrip())


def _fitting(widths: dict[str, int], drop: Sequence[str]) -> Collection[str]:
    """Return the headings of the columns that fit into the terminal; in a pipe all."""
    shown = dict(widths)
    console = data()
    for heading in drop:
        if not console.is_terminal or _total(shown.values()) <= console.width:
            break
        del shown[heading]
    return shown


def _total(widths: Collection[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _clean_cell(text: str) -> str:
    """Return `clean` text that keeps the spaces it begins with."""
    return " " * (len(text) - len(text.lstrip(" "))) + clean(text)


def print_table(console: Console, headings: Sequence[str], rows: Sequence[Row], right: Collection[str] = ()) -> None:
    """Print a table; columns that do not fit follow in a table below, after the first column again.

    Args:
        headings: May have several lines.
        right: Headings of the columns of figures: aligned to the right, and never broken.
    """
    columns = [[Text(heading), *(_text(row.cells[index]) for row in rows)] for index, heading in enumerate(headings)]
    least = [
        _least_width(column, is_figures=heading in right) for heading, column in zip(headings, columns, strict=True)
    ]
    for number, group in enumerate(_groups(least, console.width)):
        if number:
            console.print()
        table = Table(box=None, pad_edge=False)
        for index in group:
            justify: Literal["left", "right"] = "right" if headings[index] in right else "left"
            table.add_column(
                headings[index], justify=justify, overflow="fold", min_width=min(least[index], console.width)
            )
        for row in rows:
            table.add_row(*(_text(row.cells[index]) for index in group), style=row.style)
        console.print(table)


def _least_width(column: Iterable[Text], is_figures: bool) -> int:
    """Return the least readable width of a column, in which its longest word fits."""
    lines = [line for cell in column for line in cell.plain.split("\n")]
    widest = max(map(cell_len, lines), default=0)
    if is_figures:
        return widest
    longest_word = max((cell_len(word) for line in lines for word in line.split()), default=0)
    return max(longest_word, min(widest, _READABLE))


def _groups(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Yield the columns of each table; the first column is in each."""
    group = [0]
    for index in range(1, len(widths)):
        if len(group) > 1 and _total([widths[column] for column in (*group, index)]) > room:
            yield group
            group = [0]
        group.append(index)
    yield group


def _text(cell: Text | str) -> Text:
    return cell if isinstance(cell, Text) else plain(cell)


def has_room(console: Console, rows: Iterable[Sequence[Text]]) -> bool:
    """Return whether a table of a label and two texts has room for the longest word of each text."""
    labels, *texts = zip(*rows, strict=True)
    label = max(cell.cell_len for cell in labels)
    room = (console.width - label - _GAP * (len(texts) + 1)) // len(texts)
    return all(cell_len(word) <= room for cells in texts for cell in cells for word in cell.plain.split())
