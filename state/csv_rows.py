"""Rows of CSV whose texts no spreadsheet computes and no terminal obeys."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tertulia.state.text import without_codes

#: How a text begins that a spreadsheet would compute.
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")


def csv_rows(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield rows as lines of CSV; `None` is empty, and a text that a spreadsheet would compute begins with `'`."""
    for cells in rows:
        line = io.StringIO()
        csv.writer(line).writerow([_plain(cell) for cell in cells])  # a text with a character of its ending is quoted
        yield line.getvalue().removesuffix("\r\n")


def _plain(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    return f"'{without_codes(cell)}" if cell.startswith(_COMPUTED) else without_codes(cell)
