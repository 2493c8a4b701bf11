"""Tables whose rows have a checksum over all that they hold: what was altered behind the store's back is not read."""

from collections.abc import Mapping
from typing import Any

from state.errors import StorageError
from storage.database import StoreFile
from storage.faults import DAMAGED
from storage.values import Value, checksum

#: The columns that a checksum covers, in its order. Texts and prompts are covered by their own hashes.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "runs": (
        *("run", "status", "kind", "scenario", "model", "embedder", "rehearsed", "seed", "parameters", "voices"),
        *("extensions", "parent_run", "parent_turn", "rewritten", "error", "created", "case_id"),
    ),
    "lineage": ("run", "ancestor", "depth", "turns", "rounds"),
    "turns": (
        *("run", "turn", "round", "speaker", "content_id", "sim_time_s", "ended", "prompt", "scored", "chosen"),
        *("rollbacks", "scored_by", "judged_by"),
    ),
    "unit_scores": ("run", "turn", "position", "unit", "score", "removed"),
    "candidates": (
        *("run", "turn", "attempt", "content_id", "reply", "inconsistency", "inconsistency_runs", "comment"),
    ),
    "steps": ("run", "round", "agent", "node", "record"),
    "calls": (
        *("run", "round", "agent", "node", "attempt", "kind", "model", "prompt", "parameters_id", "replies", "tokens"),
        *("results", "prompt_tokens", "reply_tokens", "seconds"),
    ),
    "traces": ("run", "turn", "trace", "stored"),
    "passages": ("start_id", "run", "turn", "agent", "kind", "text"),
    "simulations": (
        *("simulation", "status", "town", "model", "embedder", "rehearsed", "seed", "days", "encounters_per_day"),
        *("parameters", "error", "created", "town_id"),
    ),
    "encounters": (*("simulation", "day", "number", "time", "place", "initiator", "partner", "activities", "run"),),
    "memories": (
        *("simulation", "agent", "number", "memory", "kind", "content_id", "created", "importance", "evidence"),
        "vector",
    ),
    "readings": (
        *("run", "instrument", "model", "agent", "first", "last", "part", "prompt", "answers", "prompt_tokens"),
        *("reply_tokens", "seconds"),
    ),
}


class Table:
    """One table of a store file."""

    def __init__(self, file: StoreFile, name: str) -> None:
        self._file, self._name, self._columns = file, name, COLUMNS[name]

    def insert(self, row: Mapping[str, Value], replace: bool = False) -> bool:
        """Insert a row; return whether it was inserted.

        Args:
            row: A value for every column.
            replace: Whether it takes the place of one with its key; if not, that one stays.
        """
        values = [row[column] for column in self._columns]
        names = ", ".join((*self._columns, "checksum"))
        marks = ", ".join("?" * (len(values) + 1))
        verb, otherwise = ("INSERT OR REPLACE", "") if replace else ("INSERT", " ON CONFLICT DO NOTHING")
        sql = f"{verb} INTO {self._name} ({names}) VALUES ({marks}){otherwise}"
        return self._file.write(sql, *values, checksum(values)).rowcount > 0

    def select(self, rest: str, *values: Value, also: str = "") -> list[dict[str, Any]]:
        """Return rows, each by column name.

        Args:
            rest: SQL that follows `FROM` and the table's name.
            values: The values of its question marks.
            also: More columns, of tables that are joined.

        Raises:
            StorageError: A row does not match its checksum.
        """
        names = ", ".join(f"{self._name}.{column}" for column in (*self._columns, "checksum"))
        rows = self._file.rows(f"SELECT {names}{', ' if also else ''}{also} FROM {self._name} {rest}", *values)
        for row in rows:
            if row.pop("checksum") != checksum([row[column] for column in self._columns]):
                cause = f"a row of {self._name} does not match its checksum"
                raise StorageError(DAMAGED.format(path=self._file.path, cause=cause))
        return rows
