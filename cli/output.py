"""Writing: data to standard output, progress and errors to standard error, and nothing that a terminal would obey."""

import json
import re
from typing import Any

from rich.console import Console
from rich.text import Text

SCHEMA_VERSION = 1

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")


def data() -> Console:
    """Return the console for data; nothing is wrapped or coloured because it is piped."""
    return Console(highlight=False, soft_wrap=True)


def progress() -> Console:
    """Return the console for progress and errors."""
    return Console(stderr=True, highlight=False)


def plain(text: str, style: str = "") -> Text:
    """Return text of any origin as something to print: control characters and bidirectional overrides shown as `�`."""
    return Text(clean(text), style=style)


def clean(text: str) -> str:
    """Replace what a terminal would obey by `�`; tabs and line breaks stay."""
    return _CONTROL.sub("�", text)


def print_json(value: dict[str, Any]) -> None:
    """Print one line of JSON to standard output; characters outside ASCII are escaped, so any encoding carries it."""
    print(json.dumps(value), flush=True)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number as shown; an absent one is a dash."""
    return "–" if value is None else f"{value:.{digits}f}"
