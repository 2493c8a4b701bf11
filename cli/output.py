"""Writing: data to standard output, progress and errors to standard error, and nothing that a terminal would obey."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

SCHEMA_VERSION = 1

#: How wide tables are where no terminal says it.
_PIPED_WIDTH = 120

#: Control characters, changes of direction, and halves of surrogate pairs, which no encoding carries.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]"
)


def data() -> Console:
    """Return the console for data: as wide as the terminal; in a pipe lines are never broken, and tables 120 wide."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, soft_wrap=True, width=_PIPED_WIDTH)


def progress() -> Console:
    """Return the console for progress and errors."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def plain(text: str, style: str = "") -> Text:
    """Return text of any origin as something to print on one line (see `clean`)."""
    return Text(clean(text), style=style)


def clean(text: str) -> str:
    """Return text of any origin on one line, what a terminal would obey replaced by `�`."""
    return " ".join(_CONTROL.sub("�", text).split())


def print_json(value: dict[str, Any]) -> None:
    """Print one line of JSON to standard output; characters outside ASCII are escaped, so any encoding carries it."""
    print(json.dumps(value), flush=True)


def print_columns(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()) -> None:
    """Print a long table to standard output, each row on one line: a hundred times as fast as rich's tables.

    Args:
        headings: Of the columns.
        rows: Texts of any origin.
        right: Headings of the columns that are aligned to the right.
    """
    lines = [tuple(headings), *(tuple(_one_line(cell) for cell in row) for row in rows)]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(headings))]
    for line in lines:
        cells = (
            " " * (width - cell_len(cell)) + cell if heading in right else cell + " " * (width - cell_len(cell))
            for heading, cell, width in zip(headings, line, widths, strict=True)
        )
        print("  ".join(cells).rstrip())


def _one_line(text: str) -> str:
    """Return `clean` text that keeps the spaces it begins with."""
    return " " * (len(text) - len(text.lstrip(" "))) + clean(text)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number as shown; an absent one is a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def bar(share: float, width: int) -> str:
    """Return a bar for a share in [0, 1] of `width` columns, drawn in eighths of a column."""
    eighths = round(min(1.0, share) * width * 8)
    return "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")


def grouped(notes: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return notes `what of NAME: why`, those that differ in the name alone as one, each once."""
    people: dict[tuple[str, str], list[str]] = {}
    names = list(names)
    for note in dict.fromkeys(notes):
        what, _, why = note.partition(": ")
        name = next((name for name in names if what.endswith(f" of {name}")), None)
        known = people.setdefault((what.removesuffix(f" of {name}"), why), [])
        known += [name] if name else []
    return [
        f"{what}{' of ' + ', '.join(who) if who else ''}{': ' + why if why else ''}"
        for (what, why), who in people.items()
    ]


@contextmanager
def progress_line() -> Iterator[tuple[Callable[[str], None], Callable[[], AbstractContextManager[None]]]]:
    """Show what is being done on one line, where there is a terminal; yields how to change it and how to pause it."""
    console = progress()
    if not console.is_terminal:
        yield lambda _: None, nullcontext
        return
    with console.status("") as status:

        @contextmanager
        def pause() -> Iterator[None]:
            status.stop()
            yield
            status.start()

        yield lambda what: status.update(plain(what)), pause


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what takes its time, where there is a terminal."""
    with progress_line() as (show, _):
        show(what)
        yield
