"""Processes of the command line that are started, waited for and disturbed."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from support.zygote import ForkedCommand

from benchmarks.campaigns.leavings import said_on

#: A process that takes longer hangs, in seconds.
PATIENCE_S = 600


class Start(Protocol):
    """Starts the command line with these arguments; its standard error is appended to the file."""

    def __call__(self, arguments: Sequence[str], stderr: Path, *, largest_file: int | None = None) -> ForkedCommand:
        """Start it; `largest_file`: bytes that a file may grow to."""


class SoakError(Exception):
    """A process that did not end as it should."""


def wait_for_id(process: ForkedCommand, store: Path, known: set[str]) -> None:
    """Wait until a process has printed the id of its run or simulation, or has ended."""
    deadline = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < deadline:
        has_ended = process.poll() is not None
        said = said_on(store)
        if has_ended or {id for _, id in re.findall(r"^(run|simulation) (\w+)$", said, re.MULTILINE)} - known:
            return
        time.sleep(0.002)
    process.kill()
    raise SoakError(f"nothing was begun in {PATIENCE_S} s: {said_on(store)}")


def workers_of(pid: int) -> list[int]:
    """Return the worker processes of a process."""
    command = ["ps", "-ww", "-eo", "pid=,ppid=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(row[0]) for row in rows if int(row[1]) == pid and "process_worker" in row[2]]


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def exit_code_of(process: ForkedCommand, store: Path) -> int:
    """Wait for the end of a process; return its exit code.

    Raises:
        SoakError: It hangs.
    """
    deadline = time.perf_counter() + PATIENCE_S
    while (code := process.poll()) is None:
        if time.perf_counter() > deadline:
            process.kill()
            raise SoakError(f"a process hung for {PATIENCE_S} s: {said_on(store)}")
        time.sleep(0.005)
    return code


def expect_success(process: ForkedCommand, store: Path, is_done: Sequence[int] = (0,)) -> None:
    """Wait for the end of a process that nobody disturbs.

    Raises:
        SoakError: It hangs, or its exit code is none of these.
    """
    if (code := exit_code_of(process, store)) not in is_done:
        raise SoakError(f"exit code {code}: {said_on(store)}")
