"""Output: data to standard output, progress and errors to standard error, and no control characters."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tertulia.state.text import clean

#: The width of text outside tables without a terminal: nothing is ever cut.
_PIPED_WIDTH = 100_000


class DataConsole(Console):
    """A console whose caller decides the meaning of a closed pipe."""

    def on_broken_pipe(self) -> None:
        """Re-raise the error; rich would exit with 1."""
        raise


class PipedConsole(DataConsole):
    """A console of a pipe: a table is a line for each row, with tabs between whole cells, and nothing is padded."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print tables, also indented ones, as lines; all else as it is."""
        for what in objects:
            inner = what.renderable if isinstance(what, Padding) else what
            if isinstance(inner, Table):
                for row in _rows(inner):
                    self.file.write("\t".join(row).rstrip() + "\n")  # rich would make spaces of tabs
                return
            if isinstance(what, Padding) and isinstance(inner, Text):
                self.print(Text.assemble(" " * what.left, inner), **options)
                return
            if isinstance(what, Text) and len(objects) == 1 and not options and "\t" not in what.plain:
                print(what.plain, end=what.end, file=self.file, flush=True)  # rich would parse styles that a pipe lacks
                return
        if objects or options:
            super().print(*objects, **options)
        else:
            print(file=self.file, flush=True)


def data() -> Console:
    """Return the console for data; in a pipe it breaks, cuts and pads nothing (`PipedConsole`)."""
    console = DataConsole(highlight=False)
    return console if console.is_terminal else PipedConsole(highlight=False, soft_wrap=True, width=_PIPED_WIDTH)


def _rows(table: Table) -> Iterator[list[str]]:
    """Yield the texts of a table's cells, row by row, its headings first if it has any."""
    if table.show_header and any(column.header for column in table.columns):
        yield [_cell(column.header) for column in table.columns]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        yield [_cell(cell) for cell in row]


def _cell(cell: Any) -> str:
    text = cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain
    return " ".join(text.split("\n")).rstrip()


@contextmanager
def terms_explained() -> Iterator[None]:
    """At the end, print a sentence on each term that was printed meanwhile."""
    from tertulia.lab.glossary import terms_in

    texts: list[str] = []
    write = sys.stdout.write

    def keep(text: str) -> int:
        texts.append(text)
        return write(text)

    sys.stdout.write = keep  # type: ignore[method-assign]
    try:
        yield
    finally:
        sys.stdout.write = write  # type: ignore[method-assign]
        for number, (term, sentence) in enumerate(terms_in("".join(texts))):
            data().print(Text.assemble("" if number else "\n", (term, "bold"), f": {sentence}"))


def progress() -> Console:
    """Return the console for progress and errors."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def discard_output() -> None:
    """Discard further standard output, about which Python would complain when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def plain(text: str, style: str = "") -> Text:
    """Return text of any origin for printing on one line (see `clean`)."""
    return Text(clean(text), style=style)


def print_json(value: dict[str, Any]) -> None:
    """Print one line of JSON to standard output; characters outside ASCII are escaped, so any encoding carries it."""
    print(json.dumps(value), flush=True)


def bar(share: float, width: int) -> str:
    """Return a bar for a share in [0, 1] of `width` columns, drawn in eighths of a column."""
    eighths = round(min(1.0, share) * width * 8)
    return "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")
