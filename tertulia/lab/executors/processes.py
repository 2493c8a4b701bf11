"""Workers as processes of this machine.

Each is a fresh interpreter with a socket to this one, and either side learns from a closed socket that the other is
gone. `multiprocessing` would execute the main module again in every worker; and its pool breaks as a whole if one
process is killed.
"""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from tertulia.lab.executors.messages import Assignment, Died, Hello, Message, Setup
from tertulia.state.errors import ModelError

#: The program of a worker's interpreter; it finds modules in the same places as this one.
_CODE = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from tertulia.lab.executors.process_worker import main; main(int(sys.argv[1]))"
)

#: How long workers have to tidy up, before they are killed.
_PATIENCE_S = 10.0

#: How long one waits for words of workers at a time.
_LISTENING_S = 0.5


class ProcessCrew:
    """Worker processes; see `lab.executors.dispatch.Crew`."""

    def __init__(self) -> None:
        self._workers: dict[Connection, tuple[int, subprocess.Popen[bytes]]] = {}
        self._setups: dict[int, Setup] = {}
        self._hired = 0

    def hire(self, setup: Setup) -> int:
        """Start a process and return its number."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            connection = Connection(ours.detach())
            command = [sys.executable, "-c", _CODE, str(theirs.fileno()), *sys.path]
            # What stops the group must not reach it before it can ignore that.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
                )
            except OSError as error:
                connection.close()
                raise ModelError(f"no worker process can be started ({error.strerror}); take --workers 1") from None
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._hired += 1
        self._workers[connection] = self._hired, process
        self._setups[self._hired] = setup
        return self._hired

    def give(self, worker: int, assignment: Assignment) -> None:
        """Send a process a cohort."""
        connection = next(connection for connection, (number, _) in self._workers.items() if number == worker)
        self._send(connection, assignment)

    def messages(self) -> Iterator[tuple[int, Message]]:
        """Wait for a moment whether processes have something to say, and yield that."""
        # An interrupt of this thread is raised between two waits, not within one.
        for connection in wait(list(self._workers), _LISTENING_S):
            assert isinstance(connection, Connection)
            number, process = self._workers[connection]
            try:
                message = connection.recv()
            except (EOFError, OSError):
                connection.close()
                del self._workers[connection]
                yield number, Died(_ending(process))
                continue
            if isinstance(message, Hello):  # only now is there a reader for it
                self._send(connection, self._setups.pop(number))
            else:
                yield number, message

    def _send(self, connection: Connection, message: object) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # `messages` finds out
            connection.send(message)

    def dismiss(self) -> None:
        """Stop all processes; one that takes too long is killed."""
        for connection, (_, process) in self._workers.items():
            process.terminate()
            connection.close()
        given_up_at = time.monotonic() + _PATIENCE_S
        for _, process in self._workers.values():
            try:
                process.wait(max(0.0, given_up_at - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._workers.clear()


def _ending(process: "subprocess.Popen[bytes]") -> str:
    try:
        code = process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return "it closed its connection"
    if code < 0:
        name = signal.Signals(-code).name
        return f"{name}, as where memory runs out" if -code == signal.SIGKILL else name
    return f"exit code {code}"
