"""Kill runs with `kill -9` at random times and resume them: each must end like an undisturbed run (`make soak`).

1. A run that nobody disturbs is the measure: what it stores, and how long it takes.
2. The same run starts over by the command line, killed, resumed, perhaps killed again, and at last left alone.
3. What the two stores hold is compared, record by record; only ids of runs and wall-clock times may differ.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.store_checks import differences, faults, last_checkpoint
from state.errors import TertuliaError
from storage.store import SqliteStore

ROOT = Path(__file__).parents[1]

#: Rounds of the meeting, by model; the dialogue has twice as many turns.
ROUNDS = {"rehearsal": 16, "smollm2": 2}

#: A dialogue that nobody ends before its limit.
ENDLESS = ("--set", "ending=continuation", "--set", "ending_threshold=1")

#: Seeds of conversations, taken in turn, by model.
SEEDS = {"rehearsal": 4, "smollm2": 1}

#: One kill in so many is aimed at the first moments of a process, and as many at the last.
EDGE_EVERY, EDGE_S = 8, 0.04

#: Kills that are planned within one run.
KILLS_PER_RUN = (1, 1, 2, 2, 3, 5)

#: A process that takes longer hangs, in seconds.
PATIENCE_S = 1800


class Process(Protocol):
    """A process of the command line."""

    def poll(self) -> int | None:
        """Return its exit code, `None` while it runs."""

    def kill(self) -> None:
        """Send it SIGKILL."""

    def wait(self) -> int:
        """Wait for its end; return its exit code."""


#: Starts the command line with these arguments; its standard error is appended to the file.
Start = Callable[[Sequence[str], Path], Process]


class SoakError(Exception):
    """A run that did not end as it should."""


@dataclass(frozen=True)
class Command:
    """The command that starts a run, without the store.

    Attributes:
        arguments: Of the command line; `{turn}` is a turn of the parent in which somebody speaks.
        parent: The command that starts the run that is forked.
    """

    arguments: tuple[str, ...]
    parent: "Command | None" = None

    def seeded(self, seed: int) -> "Command":
        """Return the command with a seed; a fork has its parent's."""
        if self.parent is None:
            return Command((*self.arguments, "--seed", str(seed)))
        return Command(self.arguments, self.parent.seeded(seed))


@dataclass(frozen=True)
class Measure:
    """A run that nobody disturbed.

    Attributes:
        arguments: Of the command that started it, without the store.
        parent: The store with the run that it forks.
        store: Where it is.
        run: Its id.
        shared: Turns that it has in common with that run.
        turns: How many it has, those among them.
        start_s: Seconds until the id was there.
        drive_s: Seconds from there to the end of the process.
        spoken: A turn past a quarter of them in which somebody speaks.
    """

    arguments: tuple[str, ...]
    parent: Path | None
    store: Path
    run: str
    shared: int
    turns: int
    start_s: float
    drive_s: float
    spoken: int


@dataclass(frozen=True)
class Kill:
    """What a killed process left in the store.

    Attributes:
        moment: The last thing that was stored, in words.
        turns: Whole turns, from which the run goes on.
        steps: Steps of a turn under way, that are taken again.
        calls: Calls of a turn under way, that are taken from the journal.
    """

    moment: str
    turns: int
    steps: int
    calls: int


def main() -> None:
    """Print a line for every run and a summary; exit with 1 on any difference."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the times of the kills")
    parser.add_argument("--model", choices=sorted(ROUNDS), default="rehearsal")
    parser.add_argument("--rounds", type=int, help="of the meeting; the dialogue has twice as many turns")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tertulia-soak-"))
    started = time.perf_counter()
    commands = commands_of(options.model, options.rounds or ROUNDS[options.model])
    try:
        kills = soak(
            commands,
            options.kills,
            options.seed,
            folder,
            SEEDS[options.model],
            report=lambda line: print(line, flush=True),
        )
    except SoakError as error:
        sys.exit(f"{error}\nthe stores are kept in {folder}")
    shutil.rmtree(folder)
    for moment, times in Counter(kill.moment for kill in kills).most_common():
        print(f"{times:6} {moment}")
    steps, calls = (sum(getattr(kill, what) for kill in kills) for what in ("steps", "calls"))
    print(f"{steps} steps were taken again; {calls} calls came from the journal; {time.perf_counter() - started:.0f} s")


def commands_of(model: str, rounds: int) -> tuple[Command, ...]:
    """Return the commands whose runs are killed: a meeting of five, a dialogue, and a fork of each."""
    by = ("--rehearse",) if model == "rehearsal" else ("--model", model)
    meeting = Command(("run", "team_building", *by, "--rounds", str(rounds)))
    dialogue = Command(("run", "tidewell", *by, *ENDLESS, "--rounds", str(2 * rounds)))
    fork = ("fork", "@last", "--at", "{turn}")
    return (
        meeting,
        dialogue,
        Command((*fork, "--say", "Let us begin with what we agree on."), meeting),
        Command((*fork, "--lambda", "0.9"), dialogue),
    )


def soak(
    commands: Sequence[Command],
    kills: int,
    seed: int,
    folder: Path,
    seeds: int,
    start: Start | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> list[Kill]:
    """Kill runs until so many kills have met a living process, and compare every run with an undisturbed one.

    Args:
        commands: Their runs are killed in turn (see `commands_of`).
        kills: How many kills.
        seed: Of the times of the kills.
        folder: For the stores; those of a run that ended as it should are deleted.
        seeds: How many different conversations each command begins.
        start: Starts a process; a new interpreter if `None`.
        report: Is called with a line for every run, and with one at the end.

    Raises:
        SoakError: A run did not end as it should; the message names every difference.
    """
    start = start or start_process
    measures: dict[Command, Measure] = {}

    def measured_run(command: Command) -> Measure:
        if command not in measures:
            parent = None if command.parent is None else measured_run(command.parent)
            measures[command] = measure(command.arguments, parent, folder / f"measure-{len(measures)}", start)
        return measures[command]

    done: list[Kill] = []
    runs = 0
    while len(done) < kills:
        generator = random.Random(f"{seed} {runs}")
        seed_of_run = 1 + runs // len(commands) % seeds
        command = commands[runs % len(commands)].seeded(seed_of_run)
        measured = measured_run(command)
        place = folder / f"run-{runs}"
        planned = min(generator.choice(KILLS_PER_RUN), kills - len(done))
        left = []
        of = f"fork of {command.parent.arguments[1]}" if command.parent else command.arguments[1]
        try:
            for kill in killed_run(measured, place, generator, planned, start):
                left.append(kill)
            wrong = problems(measured, place / "tertulia.db")
        except (SoakError, TertuliaError) as error:
            wrong = [str(error)]
        where = ", ".join(f"turn {kill.turns + 1} {kill.moment}" for kill in left) or "ended first"
        if wrong:
            raise SoakError("\n".join([f"{of} seed {seed_of_run}: {where}: {place}", *wrong]))
        shutil.rmtree(place)
        done += left
        runs += 1
        report(f"{len(done):4} kills  run {runs}, {of} seed {seed_of_run}: {where}; identical")
    report(f"{len(done)} kills, {runs} runs, each resumed to its end, {runs} identical to the undisturbed one")
    return done


# --- processes ------------------------------------------------------------------------------------------------------


def start_process(arguments: Sequence[str], stderr: Path) -> "subprocess.Popen[bytes]":
    """Start the command line in a new interpreter."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with stderr.open("ab") as opened:
        return subprocess.Popen(
            [sys.executable, "-m", "cli.main", *arguments], stdout=subprocess.DEVNULL, stderr=opened, env=environment
        )


def measure(arguments: tuple[str, ...], parent: Measure | None, folder: Path, start: Start) -> Measure:
    """Run a conversation undisturbed, and measure it; a fork needs its parent."""
    store, stderr = _place(folder, None if parent is None else parent.store)
    if parent is not None:
        arguments = tuple(argument.format(turn=parent.spoken) for argument in arguments)
    started = time.perf_counter()
    process = start([*arguments, "--json", "--store", str(store)], stderr)
    run = _run_id(process, stderr)
    known = time.perf_counter()
    _expect_success(process, stderr)
    ended = time.perf_counter()
    with SqliteStore.open(store) as opened:
        record = opened.run(run)
        spoken = [turn.turn for turn in opened.turns(run) if turn.speaker and turn.turn > record.turns / 4]
    return Measure(
        arguments,
        parent=None if parent is None else parent.store,
        store=store,
        run=run,
        shared=record.parent[1] - 1 if record.parent else 0,
        turns=record.turns,
        start_s=known - started,
        drive_s=ended - known,
        spoken=spoken[0],
    )


def killed_run(measured: Measure, folder: Path, generator: random.Random, planned: int, start: Start) -> Iterator[Kill]:
    """Run the same conversation in a new store, killed and resumed; yield what every kill left.

    The time of a kill is uniform over what the process has ahead of it (of `run` and `fork`: once the id is there),
    save those that are aimed at its beginning and its end. A time after the end is no kill.
    """
    store, stderr = _place(folder, measured.parent)
    process = start([*measured.arguments, "--json", "--store", str(store)], stderr)
    run = _run_id(process, stderr)
    ahead_s = measured.drive_s
    for _ in range(planned):
        if not _killed(process, time.perf_counter() + _delay_s(generator, ahead_s)):
            break
        kill = look_at(store, run)
        yield kill
        left = (measured.turns - kill.turns) / (measured.turns - measured.shared)
        ahead_s = measured.start_s + measured.drive_s * left
        process = start(["resume", run, "--json", "--store", str(store)], stderr)
        if kill.turns == measured.turns:
            break
    _expect_success(process, stderr)


def _place(folder: Path, parent: Path | None) -> tuple[Path, Path]:
    folder.mkdir()
    store = folder / "tertulia.db"
    if parent is not None:
        shutil.copy(parent, store)
    return store, folder / "stderr.txt"


def _delay_s(generator: random.Random, ahead_s: float) -> float:
    aim = generator.randrange(EDGE_EVERY)
    if aim == 0:
        return generator.uniform(0, EDGE_S)
    return generator.uniform(ahead_s - EDGE_S, ahead_s) if aim == 1 else generator.uniform(0, ahead_s)


def _run_id(process: Process, stderr: Path) -> str:
    while True:
        ended = process.poll() is not None
        if known := re.search(r"^run (\w+)\n", stderr.read_text() if stderr.exists() else "", re.MULTILINE):
            return known[1]
        if ended:
            raise SoakError(f"no run was started: {stderr.read_text()}")
        time.sleep(0.001)


def _killed(process: Process, at: float) -> bool:
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


def look_at(store: Path, run: str) -> Kill:
    """Return what a killed process left in the store; a copy is read, as opening the file itself would tidy it up."""
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("", "-wal"):
            if (file := store.with_name(store.name + ending)).exists():
                shutil.copy(file, folder)
        copy = Path(folder) / store.name
        with SqliteStore.open(copy) as opened:
            record = opened.run(run)
            turns = (last_checkpoint(copy, run) or {}).get("turn", record.parent[1] - 1 if record.parent else 0)
            first = turns + 1 if turns else 0
            calls = [call for call in opened.calls(run, without_shared=True) if call.round >= first]
            (steps,) = opened.file.rows("SELECT count(*) AS n FROM steps WHERE run = ? AND round >= ?", run, first)
    if record.status == "finished":
        moment = "after its end was noted"
    elif record.turns > turns:
        moment = "after its turn was stored, before its checkpoint"
    else:
        moment = f"after a call of {calls[-1].node}" if calls else "before its first call"
    return Kill(moment, turns, steps["n"], len(calls))


# --- what must be the same ------------------------------------------------------------------------------------------


def problems(measured: Measure, store: Path) -> list[str]:
    """Return what is wrong with a store in which the same run was killed and resumed."""
    locks = [f"{lock.name} was left" for lock in store.parent.glob("*.lock")]
    with SqliteStore.open(measured.store) as undisturbed, SqliteStore.open(store) as killed:
        found = locks + faults(killed)
        for expected, resumed in zip(undisturbed.runs(), killed.runs(), strict=True):
            found += differences((undisturbed, expected.run), (killed, resumed.run))
            if last_checkpoint(measured.store, expected.run) != last_checkpoint(store, resumed.run):
                found.append("the last checkpoint differs")
    return found


if __name__ == "__main__":
    main()
