"""Measure how fast stores merge: 100 shards of 100 rehearsed runs of 16 turns, in two random orders, and again.

Rehearsing ten thousand runs takes hours, so a few shards are rehearsed, and the others are these under other ids and
times: their rows are all there, but most of their texts are stored already, as they are in an experiment whose trials
share a case. The first merge of every rehearsed shard, whose texts are all new, is timed for itself.

Every tenth run of the merged store then goes on: one that was interrupted is resumed, and must end like its twin that
was not; any other is forked without a change, and must be what its fork is.

    python -m benchmarks.merging [--shards 100] [--runs 100] [--rehearsed 2]
"""

import argparse
import hashlib
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tertulia.api import diff
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.launching import RunLauncher
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Event, StepStarted
from tertulia.storage.merging.stores import merge
from tertulia.storage.schema import TABLES
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table
from tertulia.store_handle import StoreHandle
from tertulia.stored_run import Run
from tertulia.stores import open_store

TURNS = 16

#: Settings of a dialogue that nobody ends before its limit.
_ENDLESS = {"ending": "continuation", "ending_threshold": 1}

#: One run in so many goes on after merging; half as many of a shard were interrupted, each beside its twin.
GOES_ON_EVERY = 10

#: The step of the last turn but one at which a run is interrupted.
_STEP = 3

#: Seeds of the runs that are interrupted, and of their twins, are past those of the trials.
_PAST_TRIALS = 1_000_000

#: Target: runs of 16 turns that are merged in a minute on one core.
RUNS_A_MINUTE = 2000

#: Columns that hold the id of a run.
_RUN_COLUMNS = ("run", "ancestor", "parent_run")


def main() -> None:
    """Print the figures; exit with 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shards", type=int, default=100)
    parser.add_argument("--runs", type=int, default=100, help="of each shard")
    parser.add_argument("--rehearsed", type=int, default=2, help="shards that are rehearsed, not copied")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tertulia-merging-") as name:
        sys.exit(0 if measure(Path(name), arguments.shards, arguments.runs, arguments.rehearsed) else 1)


def measure(folder: Path, shards: int, runs: int, rehearsed: int) -> bool:
    """Print the figures; return whether all is as it must be."""
    began = time.process_time()
    paths = [rehearse(folder / f"shard{number}.db", number, runs) for number in range(rehearsed)]
    a_run = (time.process_time() - began) / (rehearsed * runs)
    print(f"rehearsing a run of {TURNS} turns: {a_run * 1000:.0f} ms of one core")
    paths += [renamed(paths[n % rehearsed], folder / f"shard{n}.db", n) for n in range(rehearsed, shards)]
    size = sum(path.stat().st_size for path in paths) / 1e6
    print(f"{shards} shards of {runs} runs: {size:.0f} MB")

    new = timed(folder / "new.db", paths[:rehearsed])
    show("shards whose texts are all new", new, rehearsed * runs, a_run)
    orders = [random.Random(seed).sample(paths, shards) for seed in (1, 2)]
    one = timed(folder / "one.db", orders[0])
    show("all shards", one, shards * runs, a_run)
    other = timed(folder / "other.db", orders[1])
    show("all shards in another order", other, shards * runs, a_run)
    again = timed(folder / "other.db", paths)
    show("all shards again, of which nothing is new", again, shards * runs, a_run)
    same = digest(folder / "one.db") == digest(folder / "other.db")
    print("same rows in any order, twice the same:", "yes" if same else "NO")
    resumed, forked, differing = gone_on(folder / "one.db")
    print(f"went on: {resumed} resumed, {forked} forked, {len(differing)} differ", *differing[:10])
    return (
        not differing
        and same
        and all(spent / count * RUNS_A_MINUTE <= 60 for spent, count in ((new, rehearsed * runs), (one, shards * runs)))
    )


def rehearse(path: Path, seed: int, runs: int) -> Path:
    """Store a shard of rehearsed trials, and of runs that were interrupted, each with a twin that was not."""
    interrupted = runs // (2 * GOES_ON_EVERY)
    experiment = Experiment(
        name="merging",
        cases=("tidewell:0", "tidewell:4"),
        settings={"full": {"lambda": 0.0, **_ENDLESS}, "half": {"lambda": 0.5, **_ENDLESS}},
        trials=max(1, (runs - 2 * interrupted) // 4),
        rounds=TURNS,
        model="rehearsal",
        seed=1 + seed * runs,
    )
    with SqlStore.open(path, create=True) as store:
        run_experiment(store, experiment, InProcessExecutor(store, ModelAccess()), lambda event: None)
        store.experiments.save("merging", experiment.model_copy(update={"seed": 1}).model_dump(mode="json"))
    for number in range(interrupted):
        begin_twice(path, _PAST_TRIALS + seed * runs + number)
    return path


def begin_twice(path: Path, seed: int) -> None:
    """Store a run, and a twin of it that was interrupted within the last turn but one."""
    launcher = RunLauncher(StoreHandle(path), None, None, None)
    limits = {"max_turns": TURNS}
    plan = launcher.plan("tidewell", _ENDLESS, limits, model="rehearsal", seed=seed, seat=None, label=None)
    steps = Counter[int]()

    def interrupt(event: Event) -> None:
        if isinstance(event, StepStarted):
            steps[event.turn] += 1
            if steps[TURNS - 1] == _STEP:
                raise KeyboardInterrupt

    launcher.drive(launcher.beginning(plan), None)(lambda event: None)
    with suppress(KeyboardInterrupt):
        launcher.drive(launcher.beginning(plan), None)(interrupt)


def gone_on(path: Path) -> tuple[int, int, list[Run]]:
    """Resume or fork every tenth run of a store; return how many were resumed and forked, and which differ."""
    runs = open_store(path).runs()
    twins = {(run.seed, _shard_of(run)): run for run in runs if run.status == "finished" and run.seed >= _PAST_TRIALS}
    unfinished = [run for run in runs if run.status == "interrupted"]
    others = random.Random(1).sample([run for run in runs if run.status == "finished"], len(unfinished))
    differing = []
    for run in unfinished:
        run.resume(progress=False)
        if not diff(run, twins[run.seed, _shard_of(run)]).is_same:
            differing.append(run)
    for run in others:
        if not diff(run, run.fork(at=TURNS - 1, progress=False)).is_same:
            differing.append(run)
    return len(unfinished), len(others), differing


def _shard_of(run: Run) -> str:
    return run.id.partition("_")[2]


def renamed(shard: Path, path: Path, number: int) -> Path:
    """Copy a shard with other ids of runs, and other times at which they were created."""
    shutil.copyfile(shard, path)
    with SqlStore.open(path) as store, store.transaction():
        ids = {row["run"]: f"{row['run']}_{number}" for row in store.file.rows("SELECT run FROM runs")}
        for schema in TABLES.values():
            columns = [column.name for column in schema.columns if column.name in _RUN_COLUMNS]
            if columns:
                table = Table(store.file, schema.name)
                rows = table.select("ORDER BY id" if schema.key == ("id",) else "")
                store.file.write(f"DELETE FROM {schema.name}")
                table.insert_all([{**row, **_changed(row, columns, ids, number)} for row in rows])
    with closing(sqlite3.connect(path)) as connection, connection:
        for table_name in ("checkpoints", "writes"):
            connection.execute(f"UPDATE {table_name} SET thread_id = thread_id || '_{number}'")
    return path


def _changed(row: dict[str, Any], columns: Sequence[str], ids: dict[str, str], number: int) -> dict[str, Any]:
    changed: dict[str, Any] = {column: ids.get(str(row[column]), row[column]) for column in columns}
    if "created" in row:
        changed["created"] = (datetime.fromisoformat(str(row["created"])) + timedelta(seconds=number)).isoformat()
    return changed


def timed(into: Path, shards: Sequence[Path]) -> float:
    """Merge shards one by one; return the seconds of one core that it took."""
    began = time.process_time()
    with SqlStore.open(into, create=True) as target:
        for shard in shards:
            with SqlStore.open(shard) as source:
                merged = merge(source, target)
                assert not merged.refused, merged.refused
    return time.process_time() - began


def digest(path: Path) -> dict[str, int]:
    """Return the sum of the hashes of the rows of every table, with texts and units by what they say.

    The content that `benchmarks.store_content` compares would not fit into memory.
    """
    with closing(sqlite3.connect(path)) as connection:
        texts = dict(connection.execute("SELECT id, hash FROM contents"))
        sums = {
            "contents": _sum(sorted(texts.values())),
            "prompts": _sum(connection.execute("SELECT hash FROM prompts")),
        }
        for schema in TABLES.values():
            columns = [c for c in schema.columns if c.name not in ("id", "checksum")]
            points = [c.references is not None and c.references[0] == "contents" for c in columns]
            if schema.name not in sums:
                rows = connection.execute(f"SELECT {', '.join(c.name for c in columns)} FROM {schema.name}")
                sums[schema.name] = _sum(
                    tuple(texts.get(value) if is_text else value for value, is_text in zip(row, points, strict=True))
                    for row in rows
                )
        for table in ("checkpoints", "writes"):
            sums[table] = _sum(connection.execute(f"SELECT * FROM {table}"))
        sums["order of runs"] = zlib.crc32(
            repr(connection.execute("SELECT run FROM runs ORDER BY id").fetchall()).encode()
        )
    return sums


def _sum(rows: Iterable[object]) -> int:
    return sum(int.from_bytes(hashlib.blake2b(repr(row).encode(), digest_size=8).digest(), "big") for row in rows)


def show(what: str, spent: float, runs: int, a_run: float) -> None:
    """Print how fast it was."""
    share = f"{spent / runs / a_run:.1%} of what rehearsing them takes"
    print(f"{what}: {spent / runs * 1000:.1f} ms a run, {runs / spent * 60:.0f} runs a minute, {share}")


if __name__ == "__main__":
    main()
