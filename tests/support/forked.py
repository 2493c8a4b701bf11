"""Commands in separate processes that can be killed, forked from a process that has imported everything already."""

import multiprocessing
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
# pytest is what the main module of this process imports, and what is imported again in every child.
_CONTEXT.set_forkserver_preload(
    [
        "pytest",
        "tertulia.cli.commands.run",
        "tertulia.cli.driving",
        "tertulia.runs.driving.conversation",
        "tertulia.storage.sqlite.checkpoints",
        "tertulia.models.rehearsal",
    ]
)


class Forked:
    """A command in a separate process, forked from a clean process without threads."""

    def __init__(
        self,
        arguments: Sequence[str],
        stderr: Path,
        largest_file: int | None = None,
        stdout: Path = Path(os.devnull),
    ) -> None:
        """Start it.

        Args:
            arguments: Of the command.
            stderr: The file to which standard error is appended.
            largest_file: Bytes that a file may grow to.
            stdout: Where standard output goes: a file, or a named pipe.
        """
        self._process = _CONTEXT.Process(target=_command, args=(list(arguments), stderr, largest_file, stdout))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def _command(arguments: list[str], stderr: Path, largest_file: int | None, stdout: Path) -> None:
    from tertulia.cli.main import main

    os.dup2(os.open(stdout, os.O_WRONLY), sys.stdout.fileno())
    sys.stdout = os.fdopen(sys.stdout.fileno(), "w", closefd=False)  # a pipe can't be sought, as what was there before
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
    sys.argv = ["tertulia", *arguments]
    main()
