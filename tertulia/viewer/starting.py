"""Commands that the page starts, each in a process of its own: `run`, `fork` and `resume`, with seats in the page."""

import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from tertulia.state.errors import UsageError
from tertulia.storage.addresses import StoreAddress, argument_for
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.actions import fork_arguments, resume_arguments, seats_arguments
from tertulia.viewer.documents.seat import seats_page
from tertulia.viewer.fork_changes import check_fork, read_changes, texts_of
from tertulia.viewer.store_reader import StoreReader

#: The most commands at once, and the lines and bytes of the output of each that are shown and read.
_AT_ONCE, _LINES, _READ_BYTES = 4, 12, 20_000

#: The line by which a command says which run it drives (tertulia/cli/driving.py).
_RUN_LINE = re.compile(r"^run ([A-Za-z0-9_][A-Za-z0-9_-]*)$", re.MULTILINE)


@dataclass
class Command:
    """A command that was started.

    Attributes:
        number: Counted from 1.
        words: Its arguments, `fork` or `resume` first.
        messages: Its standard error; closed once it has ended and was read. A file, not a pipe: the run does not depend
            on a reader.
    """

    number: int
    words: Sequence[str]
    process: "subprocess.Popen[bytes]"
    messages: IO[bytes] = field(repr=False)
    _last: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.document()["exit_code"] is None

    def document(self) -> dict[str, Any]:
        """Return its state as JSON: `run` is `None` until it is known, and `exit_code` until it has ended."""
        if not self.messages.closed:
            exit_code = self.process.poll()
            self._last = self._read() | {"exit_code": exit_code}
            if exit_code is not None:
                self.messages.close()
        return self._last

    def _read(self) -> dict[str, Any]:
        self.messages.seek(0)
        beginning = self.messages.read(_READ_BYTES)
        end = self.messages.seek(0, 2)
        self.messages.seek(max(0, end - _READ_BYTES))
        lines = self.messages.read().decode("utf-8", "replace").splitlines()
        found = _RUN_LINE.search(beginning.decode("utf-8", "replace"))
        return {
            "number": self.number,
            "action": self.words[0],
            "run": found[1] if found else None,
            "lines": lines[-_LINES:],
        }


class Starter:
    """Starts commands for the page, and interrupts them when the server ends.

    Attributes:
        command: The program with its arguments before `run`, `fork` and `resume`.
        commands: Those that were started.
    """

    def __init__(self, store: StoreAddress, command: Sequence[str]) -> None:
        """Note the store, and the program with its arguments before `fork` and `resume`."""
        self._store, self.command = store, command
        self.commands: list[Command] = []

    def checked(self, store: SqlStore, asked: object) -> list[str]:
        """Return the arguments of a command that the page asks for.

        Raises:
            TertuliaError: That is neither `{"action": "fork", "run": …, "at": …, "settings": {…}, "changes": {…}}`
                nor `{"action": "sit", "run": …, "at": …, "agents": […]}` nor `{"action": "resume", "run": …}`, or no
                such fork can be made.
        """
        match asked:
            case {"action": "fork", "run": str(run), "at": int(at), "settings": dict(settings), **more} if (
                not more.keys() - {"changes"} and type(at) is int  # JSON's true is no number
            ):
                words = _checked_fork(store, run, at, settings, more.get("changes", {}))
            case {"action": "sit", "run": str(run), "at": int(at), "agents": list(agents), **more} if (
                not more and type(at) is int
            ):
                words = seats_arguments(store, run, at, agents)
            case {"action": "resume", "run": str(run), **more} if not more:
                words = resume_arguments(store.run(run).run)
            case _:
                raise UsageError("a command is a fork (run, at, settings) or goes on with a run")
        return [*words, "--in-page", "--store", argument_for(self._store)]

    def is_driving(self, run: str) -> bool:
        """Return whether a command that was started drives a run, or will."""
        running = (command for command in self.commands if command.is_running)
        return any(run in (command.words[1], command.document()["run"]) for command in running)

    def go_on(self, run: str) -> Command:
        """Go on with a run; `UsageError` if too many go on already."""
        return self.start([*resume_arguments(run), "--in-page", "--store", argument_for(self._store)])

    async def go_on_if_left(self, reader: StoreReader, run: str) -> None:
        """Go on with a run without a driver, at whichever place its process was killed, or has waited too long.

        Raises:
            UsageError: Too many go on already.
        """
        page = await reader.read(lambda store: seats_page(store, run))
        is_over = page["status"] == "finished" or page["driven"]
        if not is_over and not self.is_driving(page["run"]):
            self.go_on(page["run"])

    def start(self, words: Sequence[str]) -> Command:
        """Start a command.

        Raises:
            UsageError: Too many go on already.
        """
        if sum(command.is_running for command in self.commands) >= _AT_ONCE:
            raise UsageError(f"{_AT_ONCE} commands go on already; wait until one of them has ended")
        messages = tempfile.TemporaryFile()  # noqa: SIM115 closed once the process has ended
        try:
            process = subprocess.Popen(
                [*self.command, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                start_new_session=True,  # Ctrl-C reaches the server alone, which hands it on
            )
        except BaseException:
            messages.close()
            raise
        self.commands.append(Command(len(self.commands) + 1, words, process, messages))
        return self.commands[-1]

    def close(self) -> None:
        """Interrupt the running commands, and print how to resume them."""
        running = [command for command in self.commands if command.is_running]
        for command in running:
            with suppress(ProcessLookupError):
                command.process.send_signal(signal.SIGINT)
        for command in running:
            run = command.document()["run"]
            words = ["tertulia", *resume_arguments(run), "--store", str(self._store)] if run else []
            way = f"; to go on: {shlex.join(words)}" if words else ""
            print(f"interrupted: tertulia {shlex.join(command.words[:2])}{way}", file=sys.stderr)


def _checked_fork(store: SqlStore, run: str, at: int, given: Mapping[str, Any], changed: object) -> list[str]:
    """Return the arguments of a fork that can be made, as far as that is known before a model is opened."""
    parent, settings, changes = store.run(run), texts_of(given), read_changes(changed)
    words = fork_arguments(parent.run, at, settings, changes)
    check_fork(store, parent, at, settings, changes)
    return words
