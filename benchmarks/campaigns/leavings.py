"""What a disturbed process, or one that nobody disturbed, left: in its store, and beside it."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.store_content import content


@dataclass(frozen=True)
class Left:
    """What a disturbed process left in the store.

    Attributes:
        moment: The last thing that was stored, in words.
        calls: Calls of models that were stored.
    """

    moment: str
    calls: int


#: What a process begins that has an id: a run of no experiment, or a simulation; and all runs.
BEGUN = (
    "SELECT simulation FROM simulations",
    "SELECT run FROM runs WHERE experiment IS NULL AND run NOT GLOB '*-*'",
)
ALL = ("SELECT run FROM runs",)


def ids_in(store: Path, queries: Sequence[str] = BEGUN) -> set[str]:
    """Return the ids that a store holds."""
    found: set[str] = set()
    for query in queries if store.exists() else ():
        try:
            with closing(sqlite3.connect(store, timeout=30)) as connection:
                found |= {id for (id,) in connection.execute(query)}
        except sqlite3.OperationalError:  # it is being made
            continue
    return found


def found_in(store: Path, is_in_order: bool) -> dict[str, Any]:
    """Return all that a store holds, and the files that were written beside it."""
    held: dict[str, Any] = content(store, is_in_order) if store.exists() else {}
    written = store.with_name("out")
    adapters = sorted(written.glob("*.safetensors"))
    return {**held, "files": [(file.name, file.read_bytes()) for file in adapters]}


def largest_in(place: Path) -> int:
    """Return the bytes of the largest file in a folder."""
    sizes = [0]
    for entry in os.scandir(place):
        with suppress(FileNotFoundError):  # a log that is put away
            sizes.append(entry.stat().st_size)
    return max(sizes)


def left_beside(store: Path) -> list[str]:
    """Return what lies beside a store that nobody has open, and should not."""
    known = {
        store.name,
        f"{store.name}-wal",
        f"{store.name}-shm",
        "other.db",
        "out",
        "elsewhere",
        stderr_of(store).name,
    }
    return sorted(entry.name for entry in store.parent.iterdir() if entry.name not in known)


def last_run(store: Path) -> str:
    """Return the id of the last run of a store."""
    with closing(sqlite3.connect(store)) as connection:
        (run,) = connection.execute("SELECT run FROM runs ORDER BY id DESC LIMIT 1").fetchone()
    return str(run)


def spoken_turn(store: Path) -> int:
    """Return a turn past a quarter of the last run in which somebody speaks."""
    with closing(sqlite3.connect(store)) as connection:
        (turn,) = connection.execute(
            """SELECT min(turn) FROM turns WHERE speaker IS NOT NULL
            AND run = (SELECT run FROM runs ORDER BY id DESC LIMIT 1)
            AND turn > (SELECT count(*) FROM turns AS each WHERE each.run = turns.run) / 4.0"""
        ).fetchone()
    return int(turn or 1)


def calls_in(store: Path) -> int:
    """Return how many calls of models a store holds."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        return int(connection.execute("SELECT count(*) FROM calls").fetchone()[0])


def look_at(store: Path) -> Left:
    """Return what a disturbed process left in the store; a copy is read, as opening the file would tidy it up."""
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("", "-wal"):
            if (file := store.with_name(store.name + ending)).exists():
                shutil.copy(file, folder)
        with closing(sqlite3.connect(os.path.join(folder, store.name))) as connection:
            return Left(*_left(connection))


def _left(connection: sqlite3.Connection) -> tuple[str, int]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "calls" not in tables:
        return "before its store was made", 0
    (calls,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    last = connection.execute("SELECT run, status FROM runs ORDER BY id DESC LIMIT 1").fetchone()
    if last is None:
        return "before its first run", calls
    run, status = last
    (turns,) = connection.execute("SELECT count(*) FROM turns WHERE run = ?", (run,)).fetchone()
    count = "SELECT count(*) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
    checkpoints = connection.execute(count, (run,)).fetchone()[0] if "checkpoints" in tables else 0
    if status == "finished":
        return "after an end was noted", calls
    if turns > checkpoints:
        return "after a turn was stored, before its checkpoint", calls
    call = connection.execute("SELECT node FROM calls WHERE run = ? ORDER BY id DESC LIMIT 1", (run,)).fetchone()
    return f"after a call of {call[0]}" if call else "before a first call", calls


def said_on(store: Path) -> str:
    """Return what processes on a store have printed on standard error."""
    stderr = stderr_of(store)
    return stderr.read_text() if stderr.exists() else ""


def stderr_of(store: Path) -> Path:
    """Return the file that takes the standard error of processes on a store."""
    return store.with_name("stderr.txt")
