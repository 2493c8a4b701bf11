"""Kill processes with `kill -9` at random times and go on: each store must end like an undisturbed one.

1. A process that nobody disturbs is the measure: what is stored at its end, and how long it takes.
2. The same process starts over, is killed, goes on, is perhaps killed again, and is at last left alone.
3. All that the two stores hold is compared (see `benchmarks.store_content`).
"""

import os
import random
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks.older_store import make_older
from benchmarks.store_checks import faults
from benchmarks.store_content import content, differences
from benchmarks.subjects import Command, Subject
from state.errors import TertuliaError
from storage.store import SqlStore

#: One kill in so many is aimed at the first moments of a process, and as many at the last.
EDGE_EVERY, EDGE_S = 8, 0.04

#: A process that takes longer hangs, in seconds.
PATIENCE_S = 600


class Process(Protocol):
    """A process of the command line."""

    def poll(self) -> int | None:
        """Return its exit code, `None` while it runs."""

    def kill(self) -> None:
        """Send it SIGKILL."""

    def wait(self) -> int | None:
        """Wait for its end; return its exit code."""


#: Starts the command line with these arguments; its standard error is appended to the file.
Start = Callable[[Sequence[str], Path], Process]


class SoakError(Exception):
    """A process that did not end as it should."""


@dataclass(frozen=True)
class Measure:
    """A process that nobody disturbed.

    Attributes:
        subject: What it is.
        begins: The command that began it.
        before: The store as it was before it began; `None`: there was none.
        content: What its store held at the end.
        calls: How many calls of models it made.
        start_s: Seconds until its id was there, or the whole.
        drive_s: Seconds from there to its end.
    """

    subject: Subject
    begins: Command
    before: Path | None
    content: dict[str, list[Any]]
    calls: int
    start_s: float
    drive_s: float


@dataclass(frozen=True)
class Kill:
    """What a killed process left in the store.

    Attributes:
        moment: The last thing that was stored, in words.
        calls: Calls of models that were stored.
    """

    moment: str
    calls: int


@dataclass
class Attempt:
    """A process that was killed, perhaps several times, and left alone at last.

    Attributes:
        kills: What was found after every kill.
        problems: What is wrong with its store at the end.
    """

    kills: list[Kill] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        where = ", ".join(kill.moment for kill in self.kills) or "ended first"
        return "\n".join([where, *self.problems]) if self.problems else f"{where}; identical"


class Killer:
    """Kills processes and compares what they leave."""

    def __init__(self, folder: Path, start: Start, server: str = "") -> None:
        """Note what is needed.

        Args:
            folder: For the stores; those of a process that ended as it should are deleted.
            start: Starts a process.
            server: The name of the model on the failing server.
        """
        self._folder, self._start, self._server = folder, start, server
        self._measures: dict[Subject, Measure] = {}
        self._places = 0

    def attempt(self, subject: Subject, drawn: random.Random, planned: int) -> Attempt:
        """Kill a process at most so many times, and compare its store with an undisturbed one.

        Args:
            subject: What is killed.
            drawn: Draws the times of the kills.
            planned: How often it is killed at most; a time after its end is no kill.
        """
        place = self._place()
        attempt = Attempt()
        try:
            measure = self.measure(subject)
            for kill in self._killed(measure, place, drawn, planned):
                attempt.kills.append(kill)
            attempt.problems += problems(measure, place / "tertulia.db")
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
        turn = None if before is None else _spoken_turn(before)
        begins = tuple(argument.format(turn=turn, server=self._server) for argument in subject.begins)
        place = self._place(before)
        store, stderr = place / "tertulia.db", place / "stderr.txt"
        calls_before = 0 if before is None else _calls(before)
        started = time.perf_counter()
        process = self._start([*begins, "--json", "--store", str(store)], stderr)
        if subject.prints_id:
            _id(process, stderr)
        known = time.perf_counter()
        _expect_success(process, stderr)
        ended = time.perf_counter()
        calls = _calls(store) - calls_before
        self._run(subject.after, store, stderr)
        start_s = known - started if subject.prints_id else 0.0
        drive_s = ended - known if subject.prints_id else ended - started
        return Measure(subject, begins, before, content(store, subject.is_in_order), calls, start_s, drive_s)

    def _prepared(self, subject: Subject) -> Path | None:
        """Return the store as it is before a process begins."""
        if not subject.before and subject.left_unfinished is None:
            return None
        place = self._place()
        store, stderr = place / "before.db", place / "stderr.txt"
        self._run(subject.before, store, stderr)
        if subject.left_unfinished is not None:
            stderr = place / "unfinished.txt"
            process = self._start([*subject.left_unfinished, "--store", str(store)], stderr)
            _id(process, stderr)
            calls = _calls(store)
            while _calls(store) < calls + 20 and process.poll() is None:
                time.sleep(0.005)
            process.kill()
            process.wait()
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if subject.is_older:
            make_older(store, place / "older.db")
            return place / "older.db"
        return store

    def _run(self, commands: Sequence[Command], store: Path, stderr: Path) -> None:
        for command in commands:
            turn = _spoken_turn(store) if "{turn}" in command else None
            arguments = [argument.format(turn=turn, server=self._server) for argument in command]
            _expect_success(self._start([*arguments, "--store", str(store)], stderr), stderr)

    def _killed(self, measure: Measure, place: Path, drawn: random.Random, planned: int) -> Iterator[Kill]:
        """Run the process in a store of its own, killed and gone on with; yield what every kill left.

        The time of a kill is uniform over what the process has ahead of it (once its id is there, if it has one), save
        those that are aimed at its beginning and its end.
        """
        subject = measure.subject
        store, stderr = _filled(place, measure.before)
        process = self._start([*measure.begins, "--json", "--store", str(store)], stderr)
        id = _id(process, stderr) if subject.prints_id else ""
        ahead_s = measure.drive_s
        goes_on = [argument.format(id=id) for argument in subject.goes_on]
        calls_before = 0 if measure.before is None else _calls(measure.before)
        for _ in range(planned):
            if not _was_killed(process, time.perf_counter() + _delay_s(drawn, ahead_s)):
                break
            kill = look_at(store)
            yield kill
            left = 1 - (kill.calls - calls_before) / measure.calls if measure.calls else 1.0
            ahead_s = measure.start_s + measure.drive_s * left
            process = self._start([*goes_on, "--json", "--store", str(store)], stderr)
        _expect_success(process, stderr)
        self._run(subject.after, store, stderr)

    def _place(self, before: Path | None = None) -> Path:
        self._places += 1
        place = self._folder / f"{self._places}"
        place.mkdir(parents=True)
        _filled(place, before)
        return place


def _filled(place: Path, before: Path | None) -> tuple[Path, Path]:
    """Return the store and the file for standard error in a folder; the store is a copy of the one before."""
    store = place / "tertulia.db"
    if before is not None:
        shutil.copy(before, store)
    return store, place / "stderr.txt"


def _delay_s(drawn: random.Random, ahead_s: float) -> float:
    aim = drawn.randrange(EDGE_EVERY)
    if aim == 0:
        return drawn.uniform(0, min(EDGE_S, ahead_s))
    return drawn.uniform(max(0, ahead_s - EDGE_S), ahead_s) if aim == 1 else drawn.uniform(0, ahead_s)


def _id(process: Process, stderr: Path) -> str:
    """Return the id of a run or a simulation, once it is printed on standard error."""
    deadline = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < deadline:
        ended = process.poll() is not None
        known = re.search(r"^(?:run|simulation) (\w+)\n", stderr.read_text() if stderr.exists() else "", re.MULTILINE)
        if known:
            return known[1]
        if ended:
            break
        time.sleep(0.002)
    process.kill()
    raise SoakError(f"nothing was started: {stderr.read_text()}")


def _was_killed(process: Process, at: float) -> bool:
    """Kill a process at a time of `perf_counter`; return whether it was still running."""
    while time.perf_counter() < at:
        if process.poll() is not None:
            return False
        time.sleep(max(0.0, min(0.005, at - time.perf_counter())))
    process.kill()
    return process.wait() != 0


def _expect_success(process: Process, stderr: Path) -> None:
    deadline = time.perf_counter() + PATIENCE_S
    while (code := process.poll()) is None:
        if time.perf_counter() > deadline:
            process.kill()
            raise SoakError(f"a process hung for {PATIENCE_S} s: {stderr.read_text()}")
        time.sleep(0.005)
    if code != 0:
        raise SoakError(f"exit code {code}: {stderr.read_text()}")


def _spoken_turn(store: Path) -> int:
    """Return a turn past a quarter of the last run in which somebody speaks."""
    with closing(sqlite3.connect(store)) as connection:
        (turn,) = connection.execute(
            """SELECT min(turn) FROM turns WHERE speaker IS NOT NULL
            AND run = (SELECT run FROM runs ORDER BY id DESC LIMIT 1)
            AND turn > (SELECT count(*) FROM turns AS each WHERE each.run = turns.run) / 4.0"""
        ).fetchone()
    return int(turn or 1)


def _calls(store: Path) -> int:
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        return int(connection.execute("SELECT count(*) FROM calls").fetchone()[0])


def look_at(store: Path) -> Kill:
    """Return what a killed process left in the store; a copy is read, as opening the file itself would tidy it up."""
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("", "-wal"):
            if (file := store.with_name(store.name + ending)).exists():
                shutil.copy(file, folder)
        with closing(sqlite3.connect(os.path.join(folder, store.name))) as connection:
            return Kill(*_left(connection))


def _left(connection: sqlite3.Connection) -> tuple[str, int]:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (calls,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "participant_models" not in {row[1] for row in connection.execute("PRAGMA table_info(runs)")}:
        return f"before its migration from version {version}", calls
    last = connection.execute("SELECT run, status FROM runs ORDER BY id DESC LIMIT 1").fetchone()
    if last is None:
        return "before its first run", calls
    run, status = last
    (turns,) = connection.execute("SELECT count(*) FROM turns WHERE run = ?", (run,)).fetchone()
    count = "SELECT count(*) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
    checkpoints = connection.execute(count, (run,)).fetchone()[0] if "checkpoints" in tables else 0
    if status == "finished":
        return "after its end was noted", calls
    if turns > checkpoints:
        return "after its turn was stored, before its checkpoint", calls
    call = connection.execute("SELECT node FROM calls WHERE run = ? ORDER BY id DESC LIMIT 1", (run,)).fetchone()
    return f"after a call of {call[0]}" if call else "before its first call", calls


def problems(measure: Measure, store: Path) -> list[str]:
    """Return what is wrong with a store in which the same process was killed and went on."""
    found = [f"{lock.name} was left" for lock in store.parent.glob("*.lock")]
    found += differences(measure.content, content(store, measure.subject.is_in_order))
    with SqlStore.open(store) as opened:
        return found + faults(opened)
