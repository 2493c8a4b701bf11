"""How far all runs of a store are, read so cheaply that it can be asked several times a second."""

import json
import zlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tertulia.state.records import RunStatus
from tertulia.storage.sql_views import TURNS_OF_RUN
from tertulia.storage.store import SqlStore


@dataclass(frozen=True)
class RunProgress:
    """How far a run is.

    Attributes:
        status: As it is stored; a run whose process was killed is still stored as running.
        is_driven: Whether a process drives it; looked at only if it is stored as running.
    """

    status: RunStatus
    turns: int
    is_driven: bool = False


@dataclass(frozen=True)
class StoreProgress:
    """How far all runs are, newest first, and a digest that changes with any run or simulation of the store."""

    runs: Mapping[str, RunProgress] = field(default_factory=dict)
    digest: int = 0


class Watch:
    """A repeated look at an open store; the database says at little cost whether anything was written to it."""

    def __init__(self, store: SqlStore) -> None:
        """Take a store, which stays open as long as this is used."""
        self._file, self._drivers = store.file, store.file.drivers()
        self._version: Hashable = None
        self._rows: list[dict[str, Any]] = []
        self._simulations: list[dict[str, Any]] = []
        self._driven: set[str] = set()
        self._progress = StoreProgress()

    def look(self) -> StoreProgress:
        """Return how far all runs are, the same object while nothing changes; `StorageError` if that can't be read."""
        version = self._file.data_version()
        is_written = version != self._version
        if is_written:
            columns = f"run, status, label, {TURNS_OF_RUN} AS turns"
            self._rows = self._file.rows(f"SELECT {columns} FROM runs ORDER BY id DESC")
            self._simulations = self._file.rows("SELECT simulation, status, days FROM simulations ORDER BY id")
            self._version = version
        running = (row["run"] for row in self._rows if row["status"] == "running")
        driven = {run for run in running if self._drivers.is_driven(run)}
        if is_written or driven != self._driven:
            self._driven = driven
            runs = {row["run"]: RunProgress(row["status"], row["turns"], row["run"] in driven) for row in self._rows}
            everything = json.dumps([self._rows, self._simulations, sorted(driven)])
            self._progress = StoreProgress(runs, zlib.crc32(everything.encode()))
        return self._progress
