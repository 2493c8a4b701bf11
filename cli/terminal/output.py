"""Writing: data to standard output, progress and errors to standard error, and nothing that a terminal would obey."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.text import Text

from tertulia.phrases import clean

#: How wide tables are where no terminal says it.
_PIPED_WIDTH = 120


class DataConsole(Console):
    """A console that leaves it to its caller what a closed pipe means."""

    def on_broken_pipe(self) -> None:
        """Raise the error on; rich would exit with 1."""
        raise


def data() -> Console:
    """Return the console for data: as wide as the terminal; in a pipe lines are never broken, and tables 120 wide."""
    console = DataConsole(highlight=False)
    return console if console.is_terminal else DataConsole(highlight=False, soft_wrap=True, width=_PIPED_WIDTH)


def progress() -> Console:
    """Return the console for progress and errors."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def plain(text: str, style: str = "") -> Text:
    """Return text of any origin as something to print on one line (see `clean`)."""
    return Text(clean(text), style=style)


def print_json(value: dict[str, Any]) -> None:
    """Print one line of JSON to standard output; characters outside ASCII are escaped, so any encoding carries it."""
    print(json.dumps(value), flush=True)


def bar(share: float, width: int) -> str:
    """Return a bar for a share in [0, 1] of `width` columns, drawn in eighths of a column."""
    eighths = round(min(1.0, share) * width * 8)
    return "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")


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
