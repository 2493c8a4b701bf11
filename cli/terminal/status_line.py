"""One line on the terminal that says what is being done, or waited for, while a command works."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from tertulia.cli.terminal.output import bar, discard_output, plain, progress
from tertulia.state.language_model import Activity
from tertulia.state.text import clean

if TYPE_CHECKING:
    from rich.status import Status

#: Columns of the bar of what is partly done, and of what stands beside it and its text: spinner, gaps, percentage.
_SHORTEST_BAR, _LONGEST_BAR, _BESIDE_BAR = 8, 24, 10


def can_ask() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


class StatusLine:
    """The line; where there is no terminal, only what a model waits for is printed, a line each."""

    def __init__(self, status: "Status | None") -> None:
        """Take the line of a terminal; `None` where there is none."""
        self._status = status
        self._step: Text = Text()

    def show(self, step: str) -> None:
        """Show what is being done."""
        self._step = plain(step)
        if self._status is not None:
            self._status.update(self._step)

    def report(self, activity: Activity) -> None:
        """Show what a model waits for, or how far it has come; where its text is empty, show the step again."""
        if self._status is None or activity.is_note:
            if activity.text and activity.fraction is None:
                progress().print(plain(activity.text))
        elif not activity.text:
            self._status.update(self._step)
        elif activity.fraction is None:
            self._status.update(plain(activity.text))
        else:
            text = plain(activity.text)
            width = max(_SHORTEST_BAR, min(_LONGEST_BAR, self._status.console.width - text.cell_len - _BESIDE_BAR))
            done = f"{bar(activity.fraction, width):<{width}} {activity.fraction:.0%}"
            self._status.update(Text.assemble(text, "  ", (done, "cyan")))

    def write(self, write: Callable[[], None]) -> None:
        """Write something to standard output; where nobody reads it any more, what is being done goes on without."""
        with self.pause():
            try:
                write()
                sys.stdout.flush()
            except BrokenPipeError:
                discard_output()
                progress().print("nobody reads the output any more; the work goes on")

    def confirm(self, question: str) -> bool:
        """Return whether the user says yes; `False` where nobody sits at a terminal."""
        with self.pause():
            return can_ask() and typer.confirm(clean(question), err=True)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Take the line away while inside: what is printed then has the terminal, and standard output, to itself."""
        if self._status is None:
            yield
            return
        self._status.stop()
        yield
        self._status.start()


@contextmanager
def status_line(step: str = "") -> Iterator[StatusLine]:
    """Show a status line while inside."""
    console = progress()
    if not console.is_terminal:
        yield StatusLine(None)
        return
    with console.status(plain(step)) as status:
        line = StatusLine(status)
        line.show(step)
        yield line
