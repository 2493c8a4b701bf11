"""Measure long and large meetings, and many writers of one store, all rehearsed (`make bench-long`).

1. A meeting of five: time, bytes and memory by the hundred rounds. The last hundred costs what the first does.
2. A meeting of many: time by the round.
3. Several processes that write runs into one store at once: none fails, and every run is whole.
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.driving.events import Event, TurnFinished
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import begin, plan_run
from tertulia.storage.store import SqlStore

#: A hundred rounds may cost so many times the first.
GROWTH = 1.2
SAMPLE = 100
POLES = ("extroverted", "agreeable", "conscientious", "emotionally stable", "open")


@dataclass(frozen=True)
class Sample:
    """The cost of a round, as the mean over some rounds."""

    last: int
    cpu_ms: float
    kilobytes: float
    resident_mb: float

    def __str__(self) -> str:
        """Return it as a line."""
        return (
            f"up to round {self.last:6}: {self.cpu_ms:8.1f} ms of CPU, {self.kilobytes:8.1f} KB a round; "
            f"{self.resident_mb:5.0f} MB of memory"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what is found; exit with 1 where something grows, or fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10_000, help="of the meeting of five")
    parser.add_argument("--people", type=int, default=200, help="in the large meeting")
    parser.add_argument("--large-rounds", type=int, default=10, help="of the large meeting")
    parser.add_argument("--writers", type=int, default=4, help="processes that write into one store")
    parser.add_argument("--runs", type=int, default=100, help="of each of them")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tertulia-long-") as folder:
        is_met = [
            long(Path(folder), chosen.rounds) if chosen.rounds else True,
            large(Path(folder), chosen.people, chosen.large_rounds) if chosen.large_rounds else True,
            many_writers(Path(folder), chosen.writers, chosen.runs) if chosen.runs else True,
        ]
    sys.exit(not all(is_met))


def long(folder: Path, rounds: int) -> bool:
    """Hold a meeting of five for so many rounds; return whether its last rounds cost what its first do."""
    print(f"a meeting of 5, {rounds} rounds")
    samples = measured(folder, people=5, rounds=rounds, every=SAMPLE)
    # What is made once (tables, the start, caches) falls into the first hundred; the second has none of it.
    first, last = samples[min(1, len(samples) - 1)], samples[-1]
    ratios = {
        "time": last.cpu_ms / first.cpu_ms,
        "bytes": last.kilobytes / first.kilobytes,
        "memory": last.resident_mb / first.resident_mb,
    }
    print("  last to first: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))
    return all(ratio <= GROWTH for ratio in ratios.values())


def large(folder: Path, people: int, rounds: int) -> bool:
    """Hold a meeting of so many people; return whether it came to its end."""
    print(f"a meeting of {people}, {rounds} rounds")
    return len(measured(folder, people, rounds, every=1)) == rounds


def measured(folder: Path, people: int, rounds: int, every: int) -> list[Sample]:
    """Return what rounds of a rehearsed meeting cost, by so many rounds."""
    path, samples = folder / f"{people}.db", list[Sample]()
    settings = {"max_turns": rounds, "max_minutes": 1e9, "removal_factor": 0.5}
    with SqlStore.open(path, create=True) as store:
        plan = plan_run(str(scenario(folder, people)), RunRequest(settings, model="rehearsal"))
        context = begin(store, plan, ModelAccess())
        before = time.process_time(), written(path)

        def note(event: Event) -> None:
            nonlocal before
            if isinstance(event, TurnFinished) and event.turn.turn % every == 0:
                now = time.process_time(), written(path)
                cpu_s, size = (after - earlier for after, earlier in zip(now, before, strict=True))
                samples.append(Sample(event.turn.turn, 1000 * cpu_s / every, size / every / 1000, resident_mb()))
                print(f"  {samples[-1]}", flush=True)
                before = now

        drive_run(store, context, note)
    return samples


def many_writers(folder: Path, writers: int, runs: int) -> bool:
    """Let processes write rehearsed runs into one store at once; return whether all are finished and whole."""
    print(f"{writers} processes, {runs} runs each, into one store")
    path, at = folder / "shared.db", scenario(folder, 3)
    started = time.perf_counter()
    with ProcessPoolExecutor(writers, multiprocessing.get_context("spawn")) as pool:
        failures = [
            error for found in pool.map(write_runs, *zip(*[(path, at, runs)] * writers, strict=True)) for error in found
        ]
    with SqlStore.open(path) as store:
        statuses = [record.status for record in store.runs()]
        turns = sum(len(store.turns(record.run)) for record in store.runs())
    took = time.perf_counter() - started
    print(f"  {statuses.count('finished')} of {writers * runs} runs finished, {turns} turns, in {took:.0f} s")
    for error, count in Counter(failures).items():
        print(f"  {count} times: {error}")
    return not failures and statuses == ["finished"] * writers * runs


def write_runs(path: Path, at: Path, runs: int) -> list[str]:
    """Write rehearsed runs, each with a connection of its own; return what failed."""
    failures = []
    for seed in range(runs):
        try:
            with SqlStore.open(path, create=True) as store:
                plan = plan_run(str(at), RunRequest({"max_turns": 3}, model="rehearsal", seed=seed))
                drive_run(store, begin(store, plan, ModelAccess()), lambda event: None)
        except Exception as error:
            failures.append(f"{type(error).__name__}: {error}")
    return failures


def scenario(folder: Path, people: int) -> Path:
    """Write a meeting of so many people that has no end."""
    participants = [
        {
            "name": f"Person {number}",
            "traits": list(POLES),
            "background": f"Person {number} keeps boat {number} at the quay, and has done so for {number % 30} years.",
            "goals": [{"goal": "get the crane mended", "sub_goals": ["find the money", "agree on a day"]}],
            "memories": [f"Person {number} once paid for {thing}." for thing in ("a rope", "the crane", "two oars")],
        }
        for number in range(1, people + 1)
    ]
    meeting = {
        "kind": "group_chat",
        "name": "The quay",
        "description": "Boat owners talk about the broken crane at the quay.",
        "time": "2026-05-06 15:00:00",
        "opening": {"speaker": "Person 1", "text": "The crane has to be mended before summer."},
        "participants": participants,
    }
    path = folder / f"quay_of_{people}.yaml"
    path.write_text(yaml.safe_dump(meeting, sort_keys=False), encoding="utf-8")
    return path


def written(path: Path) -> int:
    """Return the bytes of a store, and of its log that is not in it yet."""
    return sum(file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.exists())


def resident_mb() -> float:
    """Return the resident memory of this process (Linux: proc_pid_status(5))."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
