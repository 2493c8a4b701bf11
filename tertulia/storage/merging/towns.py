"""Simulations of one store that become simulations of another: their residents' memories and encounters.

Their conversations are runs, and are merged as such, in the same transaction: a town is whole, or it is not there.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Literal

from tertulia.state.errors import StorageError
from tertulia.storage.faults import record_faults
from tertulia.storage.merging.carrying import Carrier, by_hash, damaged, reading
from tertulia.storage.merging.checkpoint_rows import copy_checkpoints
from tertulia.storage.merging.run_comparison import RANKS, DifferError
from tertulia.storage.merging.runs import Row
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table
from tertulia.storage.values import parsed

#: Columns of a simulation's row that may change while it goes on.
_MAY_CHANGE = {"id", "status", "error", "ended_by", "days"}

#: Memories that are read at once.
_AT_ONCE = 2000


class TownMerger:
    """Merges the rows of one simulation that are no run's, inside a transaction of the target."""

    def __init__(self, source: SqlStore, target: SqlStore, simulation: str) -> None:
        """Take two stores and the id of a simulation of the source."""
        self._source, self._target, self._name = source, target, simulation
        self._carrier = Carrier(source.file, target.file)

    def merge(self) -> None:
        """Insert the rows of the simulation that the target lacks.

        Raises:
            DifferError: The target has another one of this id, or it went on differently there.
            SourceError: It does not read.
        """
        with reading():
            (given,) = self._row(self._source)
            self._check(given)
        if self._target.file.rows("SELECT 1 FROM runs WHERE run = ?", self._name):
            raise DifferError("a run has this id")
        known = self._row(self._target)
        if not known:
            Table(self._target.file, "simulations").insert_all(self._carrier.carried("simulations", [given]))
        elif not self._is_further(given, known[0]):
            return
        with ExitStack() as locks:
            try:
                locks.enter_context(self._target.drive_lock(self._name))
            except StorageError as error:
                raise DifferError(str(error)) from None
            self._insert_missing()
            if known:
                changes = {column: given[column] for column in ("status", "error", "ended_by")}
                days = max(given["days"], known[0]["days"])
                if given["days"] < days and given["status"] == "finished":
                    changes |= {"status": "interrupted", "ended_by": None}  # the target was asked for more days
                Table(self._target.file, "simulations").update(known[0], "simulation", days=days, **changes)
            self._target.file.delete_checkpoints([self._name])
            copy_checkpoints(self._source.file, self._target.file, [self._name])

    def _row(self, store: SqlStore) -> list[Row]:
        return Table(store.file, "simulations").select("WHERE simulation = ?", self._name)

    def _check(self, row: Row) -> None:
        """Check that the simulation reads, as one that does not would hide all the others."""
        self._source.simulations.get(self._name)
        self._source.simulations.town(self._name)
        for encounter in self._source.simulations.encounters(self._name):
            if encounter.run != f"{self._name}-{encounter.day}-{encounter.number}":
                raise damaged(self._source.file, f"an encounter of simulation {self._name} names another run")

    # --- rows that both may have ------------------------------------------------------------------------------------

    def _is_further(self, given: Row, known: Row) -> bool:
        """Return whether the source has more of the simulation than the target, which has a beginning of it."""
        with reading():
            (head,) = by_hash(self._source.file, "simulations", [given])
        (known_head,) = by_hash(self._target.file, "simulations", [known])
        for column, value in head.items():
            if column not in _MAY_CHANGE and value != known_head[column]:
                raise DifferError(f"another simulation has this id, with another {column.removesuffix('_id')}")
        agents = {*self._lengths(self._source), *self._lengths(self._target)}
        more = [self._has_more("encounters", ""), *(self._has_more("memories", agent) for agent in sorted(agents))]
        if "source" in more and "target" in more:
            raise DifferError("both simulations of this id went on differently")
        ranks = [(RANKS[row["status"]], row["days"]) for row in (given, known)]
        return "source" in more or ("target" not in more and ranks[0] > ranks[1])

    def _has_more(self, table: str, agent: str) -> Literal["source", "target"] | None:
        with reading():
            given = self._by_key(self._source, table, agent)
        known = self._by_key(self._target, table, agent)
        if any(given[key] != known[key] for key in given.keys() & known.keys()):
            raise DifferError(f"both simulations of this id went on differently ({table})")
        if given.keys() == known.keys():
            return None
        return "source" if len(given) > len(known) else "target"

    def _by_key(self, store: SqlStore, table: str, agent: str) -> Mapping[Any, Any]:
        rest, values = ("AND agent = ?", (agent,)) if table == "memories" else ("", ())
        rows = Table(store.file, table).select(f"WHERE simulation = ? {rest}", self._name, *values)
        key = ("number",) if table == "memories" else ("day", "number")
        return {tuple(row[column] for column in key): row for row in by_hash(store.file, table, rows)}

    def _lengths(self, store: SqlStore) -> dict[str, int]:
        counted = "SELECT agent, max(number) AS length FROM memories WHERE simulation = ? GROUP BY agent"
        return {row["agent"]: row["length"] for row in store.file.rows(counted, self._name)}

    # --- rows that the target lacks ---------------------------------------------------------------------------------

    def _insert_missing(self) -> None:
        lengths = self._lengths(self._target)
        for rows in self._memories():
            new = [row for row in rows if row["number"] > lengths.get(row["agent"], 0)]
            Table(self._target.file, "memories").insert_all(self._carrier.carried("memories", new))
        with reading():
            encounters = Table(self._source.file, "encounters").select("WHERE simulation = ?", self._name)
        for row in encounters:
            Table(self._target.file, "encounters").insert(row)

    def _memories(self) -> Iterator[list[Row]]:
        after = 0
        while True:
            with reading():
                ids = self._source.file.rows(
                    "SELECT id FROM memories WHERE simulation = ? AND id > ? ORDER BY id LIMIT ?",
                    *(self._name, after, _AT_ONCE),
                )
                if not ids:
                    return
                first, after = after, ids[-1]["id"]
                rows = Table(self._source.file, "memories").select(
                    "WHERE simulation = ? AND id > ? AND id <= ? ORDER BY id", self._name, first, after
                )
                with record_faults(self._source.path):
                    for row in rows:
                        parsed(row["evidence"])
                        datetime.fromisoformat(row["created"])
            yield rows
