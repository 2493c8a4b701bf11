"""Start commands in a few milliseconds: a process that has imported everything forks one for each of them.

1. The zygote imports modules, and nothing more: it has no thread, no open store and no weights.
2. For each command it forks a keeper, which forks the command and reports its process id and its exit code.

A command is a process like any other: `kill` sends a real SIGKILL.
"""

import gc
import json
import os
import random
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: What any command imports.
ANY = (
    "tertulia.cli.main", "tertulia.cli.terminal.status_line", "tertulia.cli.views.live", "rich._emoji_codes",
    "typer._adapters", "typer._click.decorators", "sqlite_utils", "tertulia.storage.sqlite.making",
)  # fmt: skip
#: What a rehearsed conversation imports, beside.
REHEARSED = (
    *ANY, "tertulia.cli.commands.run", "tertulia.cli.commands.resume", "tertulia.cli.commands.fork",
    "tertulia.cli.commands.simulate", "tertulia.cli.commands.gc", "tertulia.cli.driving",
    "tertulia.runs.driving.conversation", "tertulia.runs.driving.towns", "tertulia.runs.driving.driver",
    "tertulia.runs.planning.starting", "tertulia.runs.planning.forking", "tertulia.graphs.dialogue",
    "tertulia.graphs.group_chat", "tertulia.graphs.town", "langchain_core.tracers.context",
    "langchain_core.tracers.run_collector", "langchain_core.tracers.stdout", "tertulia.storage.sqlite.checkpoints",
    "tertulia.models.batching", "tertulia.models.journal", "tertulia.models.loading", "tertulia.models.rehearsal",
    "tertulia.nodes.machinery.extensions", "tertulia.nodes.machinery.objects", "tertulia.nodes.machinery.registry",
    "tertulia.nodes.scorers.embedding_similarity", "tertulia.nodes.scorers.leave_one_out",
    "tertulia.nodes.scorers.length", "tertulia.nodes.scorers.random_draw", "tertulia.worlds.catalog",
    "tertulia.worlds.town",
)  # fmt: skip
#: What reading commands import, beside.
READING = (
    *ANY, "tertulia.cli.commands.runs", "tertulia.cli.commands.show", "tertulia.cli.commands.timeline",
    "tertulia.cli.commands.replay", "tertulia.cli.commands.days", "tertulia.cli.commands.search",
    "tertulia.cli.commands.diff", "tertulia.cli.commands.stats", "tertulia.cli.commands.export",
    "tertulia.cli.commands.doctor", "tertulia.cli.commands.inventory", "tertulia.cli.commands.behaviour",
    "tertulia.cli.commands.outcomes",
    "tertulia.cli.commands.metrics", "rich.table", "rich.markdown",
)  # fmt: skip
#: What the embedded models need, beside.
EMBEDDED = (
    "torch", "tertulia.models.local.bare_opening", "tertulia.models.local.causal",
    "tertulia.models.local.embedded", "tertulia.models.local.embedder", "tertulia.models.local.grammar",
    "tertulia.models.local.kept_checks", "tertulia.models.local.minilm",
)  # fmt: skip
#: What a remote model needs, beside; participants' memories are embedded by an embedded model.
REMOTE = ("tertulia.models.local.minilm", "tertulia.models.served.chat", "langchain_openai", "support.quick_retries")

#: One thread for each process: two processes at a time are enough for two cores.
_SETTINGS = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"}
#: Bytes of a request.
_LENGTH = 65536

#: What stops a command.
_STOPPING = (signal.SIGINT, signal.SIGTERM)


class Zygote:
    """A process that forks commands; closed on exit from the `with` statement."""

    def __init__(self, *modules: str) -> None:
        """Start it, and wait until it is ready.

        Args:
            modules: What it imports before it forks the first command.
        """
        self._socket, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with remote:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "support.zygote", str(remote.fileno()), *modules],
                pass_fds=[remote.fileno()],
                env={**os.environ, **_SETTINGS},
            )
        self._lock = threading.Lock()
        if not self._socket.recv(1):
            raise ChildProcessError(f"the process that forks commands can't import {' '.join(modules)}")

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.wait()

    def start(
        self,
        arguments: Sequence[object],
        stderr: Path,
        *,
        stdout: Path = Path(os.devnull),
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        largest_file: int | None = None,
        program: str = "tertulia.cli:program",
    ) -> "ForkedCommand":
        """Start a command.

        Args:
            arguments: Of the command line.
            stderr: The file to which standard error is appended.
            stdout: Where standard output goes: a file, or a named pipe.
            folder: The working folder; this process's if `None`.
            environment: Variables that are set beside those of this process.
            largest_file: Bytes that a file may grow to.
            program: The module, and its function that is called.
        """
        reading, writing = os.pipe()
        request = {
            "arguments": [str(argument) for argument in arguments],
            "stderr": str(stderr.absolute()),
            "stdout": str(stdout.absolute()),
            "folder": str(folder or Path.cwd()),
            "environment": {**os.environ, **_SETTINGS, **(environment or {})},
            "largest_file": largest_file,
            "program": program,
        }
        try:
            with self._lock:
                socket.send_fds(self._socket, [json.dumps(request).encode()], [writing])
        finally:
            os.close(writing)
        return ForkedCommand(reading)


class ForkedCommand:
    """A command in a process that was forked."""

    def __init__(self, pipe: int) -> None:
        self._pipe = os.fdopen(pipe, "rb", buffering=0)
        self.pid = int(self._line())
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, that of `subprocess`; `None` while it runs."""
        if self._code is None and select.select([self._pipe], [], [], 0)[0]:
            self.wait()
        return self._code

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Return its exit code when it has ended; `None` if it runs for longer."""
        if self._code is None and select.select([self._pipe], [], [], timeout_s)[0]:
            self._code = int(self._line())
            self._pipe.close()
        return self._code

    def kill(self) -> None:
        """Send it SIGKILL."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _line(self) -> bytes:
        line = self._pipe.readline()
        if not line:
            raise ChildProcessError("the process that forks commands has ended")
        return line


# --- in the zygote --------------------------------------------------------------------------------------------------


def main() -> None:
    """Import modules; then fork a command for every request, until nobody can send one."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    for module in sys.argv[2:]:
        import_module(module)
    gc.collect()
    gc.freeze()  # or the collector would write to, and so copy, all pages in every child
    requests.send(b"+")
    while True:
        request, (*pipes,), _, _ = socket.recv_fds(requests, _LENGTH, 1)
        if not request:
            return
        (pipe,) = pipes
        if os.fork() == 0:
            requests.close()
            _keep(json.loads(request), pipe)
        os.close(pipe)
        _reap()


def _reap() -> None:
    """Take leave of keepers that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _keep(request: dict[str, object], pipe: int) -> None:
    """Fork the command; report its process id, and its exit code when it has ended."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)  # until the command knows what to do with them
    command = os.fork()
    if command == 0:
        os.close(pipe)
        _run(**request)  # type: ignore[arg-type]
    os.write(pipe, f"{command}\n".encode())
    _, status = os.waitpid(command, 0)
    os.write(pipe, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _run(
    arguments: list[str],
    stderr: str,
    stdout: str,
    folder: str,
    environment: dict[str, str],
    largest_file: int | None,
    program: str,
) -> None:
    """Run the command line, and end the process as the interpreter would."""
    code = 1
    for number in _STOPPING:
        signal.signal(number, lambda *_: os._exit(130))  # as the program does as soon as it can
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(stdout, os.O_WRONLY | (0 if Path(stdout).is_fifo() else os.O_CREAT | os.O_APPEND)), 1)
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        random.seed()  # or all children would draw the same ids
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
        sys.argv = ["tertulia", *arguments]
        module, _, function = program.partition(":")
        getattr(import_module(module), function)()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


if __name__ == "__main__":
    main()
