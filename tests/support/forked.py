"""Commands in processes of their own that can be killed, forked from one that has imported everything already."""

import multiprocessing
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
# pytest is what the main module of this process imports, and what is imported again in every child.
_CONTEXT.set_forkserver_preload(
    ["pytest", "cli.run", "cli.live_run", "tertulia.conversation", "storage.checkpoints", "models.rehearsal"]
)


class Forked:
    """A command in a process of its own, from a clean one without threads."""

    def __init__(self, arguments: Sequence[str], said: Path, largest_file: int | None = None) -> None:
        """Start it.

        Args:
            arguments: Of the command.
            said: Where standard error is appended.
            largest_file: Bytes that a file may grow to.
        """
        self._process = _CONTEXT.Process(target=_command, args=(list(arguments), said, largest_file))
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


def _command(arguments: list[str], said: Path, largest_file: int | None) -> None:
    from cli.main import main

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
    sys.argv = ["tertulia", *arguments]
    main()
