"""Writing: data to standard output, progress and errors to standard error, and nothing that a terminal would obey."""

import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from tertulia.state.text import clean

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


def discard_output() -> None:
    """Let what is still written to standard output go nowhere; Python would complain of it when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
