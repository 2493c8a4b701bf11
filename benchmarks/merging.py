"""Measure how fast stores merge: 100 shards of 100 rehearsed runs of 16 turns, in some order, in another, and again.

Rehearsing ten thousand runs takes hours, so a few shards are rehearsed, and the others are these under other ids and
times: their rows are all there, but most of their texts are stored already, as they are in an experiment whose trials
share a case. The first merge of every rehearsed shard, whose texts are all new, is timed for itself.

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
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lab.experiment import Experiment
from lab.running import InProcessExecutor, run_experiment
from storage.merging import merge
from storage.schema import TABLES
from storage.store import SqlStore
from storage.tables import Table
from tertulia.engines import ModelAccess

TURNS = 16

#: Target: runs of 16 turns that are merged in a minute on one core.
RUNS_A_MINUTE = 1000

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
    one = timed(folder / "one.db", paths)
    show("all shards", one, shards * runs, a_run)
    shuffled = [*paths]
    random.Random(1).shuffle(shuffled)
    other = timed(folder / "other.db", shuffled)
    show("all shards in another order", other, shards * runs, a_run)
    again = timed(folder / "other.db", paths)
    show("all shards again, of which nothing is new", again, shards * runs, a_run)
    same = digest(folder / "one.db") == digest(folder / "other.db")
    print("same rows in any order, twice the same:", "yes" if same else "NO")
    return same and all(
        spent / count * RUNS_A_MINUTE <= 60 for spent, count in ((new, rehearsed * runs), (one, shards * runs))
    )


def rehearse(path: Path, seed: int, runs: int) -> Path:
    """Store a shard of rehearsed trials."""
    experiment = Experiment(
        name="merging",
        cases=("tidewell:0", "tidewell:4"),
        settings={"full": {"lambda": 0.0}, "half": {"lambda": 0.5}},
        trials=max(1, runs // 4),
        rounds=TURNS,
        model="rehearsal",
        seed=1 + seed * runs,
    )
    with SqlStore.open(path, create=True) as store:
        run_experiment(store, experiment, InProcessExecutor(store, ModelAccess()), lambda event: None)
        store.experiments.save("merging", experiment.model_copy(update={"seed": 1}).model_dump(mode="json"))
    return path


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
