"""Output: data to standard output, progress and errors to standard error, and no control characters."""

import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from tertulia.state.text import clean

#: The width of tables without a terminal.
_PIPED_WIDTH = 120


class DataConsole(Console):
    """A console whose caller decides what a closed pipe means."""

    def on_broken_pipe(self) -> None:
        """Re-raise the error; rich would exit with 1."""
        raise


def data() -> Console:
    """Return the console for data; in a pipe it never breaks lines, and tables are 120 columns wide."""
    console = DataConsole(highlight=False)
    return console if console.is_terminal else DataConsole(highlight=False, soft_wrap=True, width=_PIPED_WIDTH)


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
