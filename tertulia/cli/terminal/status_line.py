"""A line on the terminal about the work and the waits of a command."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from tertulia.cli.terminal.output import bar, discard_output, plain, progress
from tertulia.state.language_model import Activity
from tertulia.state.text import clean

if TYPE_CHECKING:
    from rich.status import Status

#: Columns of the bar of progress, and of spinner, gaps and percentage.
_SHORTEST_BAR, _LONGEST_BAR, _BESIDE_BAR = 8, 24, 10


def can_ask() -> bool:
    """Return whether a user can be asked at a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


class StatusLine:
    """The line; without a terminal (`None`) only the waits of a model are printed, a line each."""

    def __init__(self, status: "Status | None") -> None:
        self._status = status
        self._step: Text = Text()
        self.lost: OSError | None = None  # the first error of standard output

    def show(self, step: str) -> None:
        """Show the present step."""
        self._step = plain(step)
        if self._status is not None:
            self._status.update(self._step)

    def report(self, activity: Activity) -> None:
        """Show the wait of a model, or its progress; for an empty text show the step again."""
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
        """Write to standard output; if it is closed or full, the work goes on without, and a full one is told last."""
        with self.pause():
            try:
                write()
                sys.stdout.flush()
            except OSError as error:
                discard_output()
                self.lost = None if (gone := isinstance(error, BrokenPipeError)) else error
                text = "nobody reads the output any more" if gone else f"the output can't be written ({error.strerror})"
                progress().print(f"{text}; the work goes on")

    def confirm(self, question: str) -> bool:
        """Return whether the user agrees; `False` if nobody can be asked."""
        with self.pause():
            return can_ask() and typer.confirm(clean(question), err=True)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Hide the line while inside, so that other output has the terminal to itself."""
        if self._status is None:
            yield
            return
        self._status.stop()
        yield
        self._status.start()


@contextmanager
def status_line(step: str = "") -> Iterator[StatusLine]:
    """Show a status line while inside.

    Raises:
        OSError: Standard output could not be written meanwhile.
    """
    console = progress()
    with console.status(plain(step)) if console.is_terminal else nullcontext() as status:
        line = StatusLine(status)
        line.show(step)
        yield line
    if line.lost is not None:
        raise line.lost
