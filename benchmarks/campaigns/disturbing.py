"""Disturb processes at drawn moments and go on: each store must end like an undisturbed one.

1. A process that nobody disturbs is the measure: what is stored at its end, and how long it takes.
2. The same process starts over, is disturbed, goes on in one of three ways, is perhaps disturbed again, and is at last
   left alone.
3. All that the two stores hold is compared (see `tests/support/store_content.py`), and what lies beside them.
"""

import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from support.protocol_server import Served
from support.store_checks import faults
from support.store_content import differences
from support.tiny import save_tiny
from support.zygote import ForkedCommand

from benchmarks.campaigns.failing_server import talk_nonsense
from benchmarks.campaigns.leavings import (
    ALL,
    Left,
    calls_in,
    found_in,
    ids_in,
    largest_in,
    last_run,
    left_beside,
    look_at,
    said_on,
    spoken_turn,
    stderr_of,
)
from benchmarks.campaigns.processes import (
    PATIENCE_S,
    SoakError,
    Start,
    exit_code_of,
    expect_success,
    send,
    wait_for_id,
    workers_of,
)
from benchmarks.campaigns.subjects import Command, Subject
from tertulia.state.errors import TertuliaError
from tertulia.storage.store import SqlStore

#: One disturbance in so many is aimed at the first moments of a process, and as many at the last.
EDGE_EVERY, EDGE_S = 8, 0.04

#: Bytes that a file may grow to where a disk error is drawn, at least: standard error must find room.
LEAST_FILE = 16_384

_STORE = "tertulia.db"


class Disturbance(StrEnum):
    """What befalls a process."""

    KILL = "SIGKILL"
    INTERRUPT = "SIGINT"
    TERMINATE = "SIGTERM"
    DISK = "disk error"
    NONSENSE = "nonsense of the server"
    WORKER = "SIGKILL of a worker"


class Way(StrEnum):
    """How it is gone on after it."""

    RESUME = "resume"
    AGAIN = "run again"
    ELSEWHERE = "merge elsewhere, and go on there"


_SIGNALS = {
    Disturbance.KILL: signal.SIGKILL,
    Disturbance.WORKER: signal.SIGKILL,
    Disturbance.INTERRUPT: signal.SIGINT,
    Disturbance.TERMINATE: signal.SIGTERM,
}

#: Exit codes of a process that was disturbed; of what was killed, minus the signal's number.
_CODES = {
    Disturbance.KILL: (-signal.SIGKILL,),
    Disturbance.INTERRUPT: (130,),
    Disturbance.TERMINATE: (130, 143),
    Disturbance.DISK: (1,),
    Disturbance.NONSENSE: (1,),
}


@dataclass(frozen=True)
class Measure:
    """A process that nobody disturbed.

    Attributes:
        subject: What it is.
        begins: The command that began it, save where the store lies.
        before: The folder with what was there before it began.
        content: What its store, and what it wrote beside, held at the end.
        elsewhere: What another store held into which that one was merged; `None` where that means nothing.
        calls: How many calls of models it made.
        start_s: Seconds until its id was there, or the whole.
        drive_s: Seconds from there to its end.
        largest: Bytes of the largest file that it wrote.
    """

    subject: Subject
    begins: Command
    before: Path
    content: dict[str, Any]
    elsewhere: dict[str, Any] | None
    calls: int
    start_s: float
    drive_s: float
    largest: int


@dataclass
class Attempt:
    """A process that was disturbed, perhaps several times, and left alone at last.

    Attributes:
        left: What was found after every disturbance.
        problems: What is wrong with its store at the end.
    """

    left: list[Left] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        where = ", ".join(left.moment for left in self.left) or "ended first"
        return "\n".join([where, *self.problems]) if self.problems else f"{where}; identical"


class Disturber:
    """Disturbs processes and compares what they leave."""

    def __init__(self, folder: Path, start: Start, server: Served | None = None) -> None:
        """Note what is needed.

        Args:
            folder: For the stores; those of a process that ended as it should are deleted.
            start: Starts a process.
            server: The failing server, for subjects that ask one.
        """
        self._folder, self._start, self._server = folder, start, server
        self._measures: dict[Subject, Measure] = {}
        self._places = 0

    def attempt(
        self, subject: Subject, disturbance: Disturbance, way: Way, drawn: random.Random, planned: int
    ) -> Attempt:
        """Disturb a process at most so many times, and compare its store with an undisturbed one.

        Args:
            subject: What is disturbed.
            disturbance: By what.
            way: How it is gone on.
            drawn: Draws the times.
            planned: How often it is disturbed at most; a time after its end is no disturbance.
        """
        attempt, place = Attempt(), self._place()
        try:
            measure = self.measure(subject)
            shutil.copytree(measure.before, place, dirs_exist_ok=True)
            process = _Disturbed(self, measure, disturbance, way, place)
            attempt.left += process.left_after(drawn, planned)
            attempt.problems += process.problems()
        except (SoakError, TertuliaError, sqlite3.Error) as error:
            attempt.problems.append(str(error))
        if attempt.problems:
            attempt.problems.append(f"kept: {place}")
        else:
            shutil.rmtree(place)
        return attempt

    def measure(self, subject: Subject) -> Measure:
        """Return an undisturbed process; it is run when it is first asked for."""
        if subject not in self._measures:
            self._measures[subject] = self._measured(subject)
        return self._measures[subject]

    def _measured(self, subject: Subject) -> Measure:
        before = self._prepared(subject)
        begins = tuple(self._filled_in(argument, before) for argument in subject.begins)
        place = self._place()
        shutil.copytree(before, place, dirs_exist_ok=True)
        store = place / _STORE
        calls_before, began = calls_in(store), time.perf_counter()
        process = self.start(begins, store)
        if subject.begins_at_once:
            wait_for_id(process, store, ids_in(before / _STORE))
        known, largest = time.perf_counter(), 0
        while process.poll() is None and time.perf_counter() < began + PATIENCE_S:
            largest = max(largest, largest_in(place))
            time.sleep(0.005)
        expect_success(process, store, (subject.done,))
        ended, calls = time.perf_counter(), calls_in(store) - calls_before
        self.run(subject.after, store)
        start_s, drive_s = (known - began, ended - known) if subject.begins_at_once else (0.0, ended - began)
        elsewhere = None
        if not subject.changes_its_store:
            merged = self._place() / _STORE
            self.merge(store, merged)
            elsewhere = found_in(merged, is_in_order=False)
        held = found_in(store, subject.is_in_order)
        return Measure(subject, begins, before, held, elsewhere, calls, start_s, drive_s, largest)

    def _prepared(self, subject: Subject) -> Path:
        """Return a folder as it is before a process begins."""
        place = self._place()
        store = place / _STORE
        self.run(subject.before, store)
        self.run(subject.given, place / "other.db")
        if subject.left_unfinished is not None:
            known, calls = ids_in(store), calls_in(store)
            process = self.start(subject.left_unfinished, store)
            wait_for_id(process, store, known)
            while calls_in(store) < calls + 20 and process.poll() is None:
                time.sleep(0.005)
            process.kill()
            process.wait()
            with closing(sqlite3.connect(store)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for leftover in place.glob("stderr*"):
            leftover.unlink()
        return place

    def _filled_in(self, argument: str, before: Path) -> str:
        """Return an argument of a command in which everything stands that does not depend on where the store lies."""
        if argument == "{base}":
            return str(save_tiny(self._folder / "base"))
        if argument == "{server}":
            assert self._server is not None
            return self._server.model
        if argument == "{turn}":
            return str(spoken_turn(before / _STORE))
        return last_run(before / _STORE) if argument == "{last}" else argument

    def start(self, command: Command, store: Path, id: str = "", largest_file: int | None = None) -> ForkedCommand:
        """Start a command on a store."""
        places = {
            "{store}": str(store),
            "{other}": str(store.with_name("other.db")),
            "{out}": str(store.with_name("out")),
            "{id}": id,
        }
        arguments = [places.get(argument, argument) for argument in command]
        return self._start([*arguments, "--json", "--store", str(store)], stderr_of(store), largest_file=largest_file)

    def run(self, commands: Sequence[Command], store: Path) -> None:
        """Run commands on a store, undisturbed."""
        for command in commands:
            arguments = tuple(self._filled_in(argument, store.parent) for argument in command)
            expect_success(self.start(arguments, store), store)

    def merge(self, store: Path, into: Path) -> None:
        """Merge a store into another one."""
        expect_success(self.start(("merge", str(store), "--into", str(into)), into), into)

    def talk_nonsense(self, is_nonsense: bool) -> None:
        """Let the server, if there is one, talk nonsense, or sense again."""
        if self._server is not None:
            talk_nonsense(self._server, is_nonsense)

    def _place(self) -> Path:
        self._places += 1
        place = self._folder / f"{self._places}"
        place.mkdir(parents=True)
        return place


class _Disturbed:
    """A process that is disturbed, and how it is gone on."""

    def __init__(self, disturber: Disturber, measure: Measure, disturbance: Disturbance, way: Way, place: Path) -> None:
        self._disturber, self._measure, self._disturbance, self._way = disturber, measure, disturbance, way
        self._first = self._store = place / _STORE
        self._known = ids_in(self._first)
        self._calls_before = calls_in(self._first)
        self._ahead_s = measure.drive_s

    def left_after(self, drawn: random.Random, planned: int) -> Iterator[Left]:
        """Run the process, disturbed and gone on with; yield what every disturbance left.

        The time of a signal is uniform over what the process has ahead of it, save those that are aimed at its
        beginning and its end; so is the size that no file may pass, over what it writes.
        """
        for _ in range(planned):
            if not self._is_disturbed(drawn):
                self._disturber.run(self._measure.subject.after, self._store)
                break
            left = look_at(self._store)
            yield left
            made = left.calls - self._calls_before
            share = 1 - made / self._measure.calls if self._measure.calls else 1.0
            self._ahead_s = self._measure.start_s + self._measure.drive_s * max(share, 0.0)
            self._move()
        else:
            self._go_on_alone(self._store)
        if self._store != self._first:
            if self._measure.subject.begins_at_once:  # trials that are driven in both would be other runs
                self._go_on_alone(self._first)
            self._disturber.merge(self._first, self._store)

    def problems(self) -> list[str]:
        """Return what is wrong with the store in which the process was disturbed and went on."""
        subject, is_elsewhere = self._measure.subject, self._store != self._first
        is_in_order = subject.is_in_order and not is_elsewhere
        expected = self._measure.elsewhere if is_elsewhere else self._measure.content
        assert expected is not None
        found = [f"{name} was left" for name in left_beside(self._store)]
        store = self._store
        if is_elsewhere:  # as the measure was: prompts of drafts, to which nothing refers, are not merged
            store = self._first.with_name("again") / _STORE
            store.parent.mkdir()
            self._disturber.merge(self._store, store)
        found += differences(expected, found_in(store, is_in_order))
        if not self._store.exists():
            return found
        with SqlStore.open(self._store) as opened:
            # Merged calls, and those of workers, take places of their own.
            return found + [fault for fault in faults(opened) if is_in_order or "journalled twice" not in fault]

    def _is_disturbed(self, drawn: random.Random) -> bool:
        """Start or go on with the process, and disturb it; return whether it was still running."""
        process = self._started(self._store, self._largest(drawn) if self._disturbance is Disturbance.DISK else None)
        if self._disturbance is Disturbance.DISK:
            return self._is_ended_by_it(process)
        if self._measure.subject.begins_at_once:
            wait_for_id(process, self._store, self._known)
        at = time.perf_counter() + _delay_s(drawn, self._ahead_s)
        while time.perf_counter() < at and process.poll() is None:
            time.sleep(max(0.0, min(0.005, at - time.perf_counter())))
        if self._disturbance is Disturbance.NONSENSE:
            self._disturber.talk_nonsense(True)
            try:
                return self._is_ended_by_it(process)
            finally:
                self._disturber.talk_nonsense(False)
        if self._disturbance is Disturbance.WORKER:
            workers = workers_of(process.pid)
            for worker in workers[:1]:
                send(worker, signal.SIGKILL)
            expect_success(process, self._store)
            return bool(workers)
        if process.poll() is None:
            send(process.pid, _SIGNALS[self._disturbance])
        return self._is_ended_by_it(process)

    def _is_ended_by_it(self, process: ForkedCommand) -> bool:
        """Wait for the end of a disturbed process; return whether the disturbance ended it.

        Raises:
            SoakError: It ended otherwise than it should.
        """
        code, said = exit_code_of(process, self._store), said_on(self._store)
        done = self._measure.subject.done
        if "Traceback" in said:
            raise SoakError(f"a traceback: {said}")
        if code != done and code not in _CODES[self._disturbance]:
            raise SoakError(f"exit code {code} after {self._disturbance}: {said}")
        return code != done

    def _largest(self, drawn: random.Random) -> int:
        """Draw what no file may pass: of the log of a store that is written, or of all that there is at the end."""
        there = self._store.stat().st_size if self._store.exists() else 0
        return LEAST_FILE + drawn.randrange(max(1, self._measure.largest - drawn.choice((0, there))))

    def _started(self, store: Path, largest_file: int | None = None) -> ForkedCommand:
        """Start the process in a store, or go on with what it has begun there."""
        subject, begun = self._measure.subject, sorted(ids_in(store) - self._known)
        if subject.goes_on and begun:
            return self._disturber.start(subject.goes_on, store, begun[-1], largest_file)
        return self._disturber.start(self._measure.begins, store, largest_file=largest_file)

    def _go_on_alone(self, store: Path) -> None:
        done = self._measure.subject.done
        is_done = (done, 3) if self._measure.subject.is_gone else (done,)
        expect_success(self._started(store), store, is_done)
        self._disturber.run(self._measure.subject.after, store)

    def _move(self) -> None:
        """Merge what there is into a store elsewhere, where the process is gone on with."""
        begun = ids_in(self._first) - self._known if self._measure.subject.begins_at_once else ids_in(self._first, ALL)
        if self._way is Way.ELSEWHERE and self._store == self._first and begun:
            self._store = self._first.with_name("elsewhere") / _STORE
            self._store.parent.mkdir()
            if (other := self._first.with_name("other.db")).exists():
                shutil.copy(other, self._store.parent)
            self._disturber.merge(self._first, self._store)


def _delay_s(drawn: random.Random, ahead_s: float) -> float:
    aim = drawn.randrange(EDGE_EVERY)
    if aim == 0:
        return drawn.uniform(0, min(EDGE_S, ahead_s))
    return drawn.uniform(max(0, ahead_s - EDGE_S), ahead_s) if aim == 1 else drawn.uniform(0, ahead_s)
