"""The process of a worker: started by `lab.executors.processes`, with which it talks through a socket.

It ends when the other side does: a thread of its own waits for messages, and interrupts the driving.
"""

import os
import queue
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NoReturn

from tertulia.lab.executors.messages import Assignment, Driven, Happened, Hello, Message, Ready, Setup, Unable
from tertulia.lab.executors.worker import Worker
from tertulia.runs.driving.events import Event
from tertulia.runs.driving.interrupting import interruptible
from tertulia.runs.driving.stop_signals import listen
from tertulia.state.errors import TertuliaError


def main(descriptor: int) -> None:
    """Drive the cohorts that come through a socket, until it is closed or this process is told to stop."""
    listen(_stop, [signal.SIGTERM])
    # These reach the whole group of processes; the command alone acts on them.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGHUP})
    with (
        suppress(KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError),
        Connection(descriptor) as command,
    ):
        command.send(Hello())
        setup: Setup = command.recv()
        try:
            worker = Worker(setup)
        except TertuliaError as error:
            command.send(Unable(error))
            return
        command.send(Ready())
        assignments: queue.SimpleQueue[Assignment] = queue.SimpleQueue()
        threading.Thread(target=_receive, args=(command, assignments), daemon=True).start()
        while True:
            command.send(_driven(worker, assignments.get(), command))


def _stop(number: int) -> NoReturn:
    raise KeyboardInterrupt


def _receive(command: Connection, assignments: "queue.SimpleQueue[Assignment]") -> None:
    try:
        while True:
            assignments.put(command.recv())
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)


def _driven(worker: Worker, assignment: Assignment, command: Connection) -> Message:
    is_alone = False

    def emit(event: Event) -> None:
        nonlocal is_alone
        if is_alone:  # tidying up is not interrupted again
            return
        try:
            command.send(Happened((event,)))
        except OSError:  # nobody is there any more: no run has failed
            is_alone = True
            raise KeyboardInterrupt from None

    try:
        with interruptible():
            worker.drive(assignment, emit)
    except TertuliaError as error:
        return Driven(error)
    return Driven()
