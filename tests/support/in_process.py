"""Run commands of the command line in this process."""

import contextlib
import io
import re
from typing import NamedTuple, Protocol
from unittest.mock import patch

#: What a terminal would obey, or would not show: control characters but line breaks and the tabs between cells, marks
#: of direction, surrogates.
HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]"
)


class Outcome(Protocol):
    """What a command came to: its exit code, its standard output and its standard error."""

    @property
    def code(self) -> int:
        """The exit code."""

    @property
    def out(self) -> str:
        """Standard output."""

    @property
    def err(self) -> str:
        """Standard error."""


class CommandResult(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


def command(*arguments: object) -> CommandResult:
    """Run a command in this process; return what it came to.

    Raises:
        Exception: What the command raised instead of reporting it.
    """
    from tertulia.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    code = 0
    with (
        patch("sys.argv", ["tertulia", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    texts = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        texts.append(stream.buffer.getvalue().decode("utf-8", "surrogateescape"))
    return CommandResult(code, *texts)


def complaint(result: Outcome) -> str | None:
    """Return the line with which a command failed; `None` if it did not.

    Raises:
        AssertionError: It failed without a line, with several, with a traceback, or by an error nobody had foreseen.
    """
    lines = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert (result.code == 0) == (not lines), result
    assert "Traceback" not in result.err, result
    assert result.code in (0, 1, 2, 3), result
    if not lines:
        return None
    assert len(lines) == 1, result
    assert not re.search(r"\(in \S+\.py, line \d+\)", lines[0]), lines[0]
    return lines[0]


def check_terminal(result: Outcome) -> None:
    """Assert that nothing that a terminal would obey is in what a command printed."""
    found = HIDDEN.search(result.out + result.err)
    assert not found, f"{found[0]!r} was printed" if found else ""
