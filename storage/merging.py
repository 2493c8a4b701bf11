"""Uniting stores: runs of one, with all that belongs to them, become runs of another."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from state.errors import UsageError
from storage.carrying import Carrier, SourceError, by_hash, in_chunks, marks, reading
from storage.checkpoint_rows import make_tables, read_checkpoints, write_checkpoints
from storage.cognition import NO_LIMIT
from storage.run_rows import NUMBERED, copy_rows, rows_of
from storage.store import SqlStore
from storage.tables import Table
from storage.values import plain_json

#: Joins the definitions of two experiments of one name, or refuses.
Joined = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]

#: Runs that are copied in one transaction: other writers wait for it.
RUNS_AT_ONCE = 50


@dataclass(frozen=True)
class Merged:
    """What a merge did; ids of runs stand in the order of the source.

    Attributes:
        added: The runs that the target did not have.
        continued: Those of which it had a beginning.
        unchanged: Those that it had already, or had more of.
        refused: What was not merged, and why; nothing of it was written.
    """

    added: tuple[str, ...] = ()
    continued: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def merge(
    source: SqlStore, target: SqlStore, runs: Collection[str] | None = None, joined: Joined | None = None
) -> Merged:
    """Copy runs, with all that belongs to them, from one store into another.

    Args:
        source: The store that they are read from.
        target: The store that they are written to.
        runs: The ids of the runs; their ancestors come with them. `None` for all that the source has.
        joined: Joins the definitions of an experiment that both stores have; without it, two that differ are refused.

    Raises:
        StorageError: The source can't be read at all, or the target can't be written.
    """
    return _Merge(source, target, joined).merged(runs)


class _Merge:
    """One merge; see `merge`."""

    def __init__(self, source: SqlStore, target: SqlStore, joined: Joined | None) -> None:
        self._source, self._target, self._joined = source, target, joined
        self._outcomes: dict[str, str] = {}
        self._refused: dict[str, str] = {}

    def merged(self, runs: Collection[str] | None) -> Merged:
        """Merge, and return what was done."""
        records = {row["run"]: row for row in Table(self._source.file, "runs").select("ORDER BY id")}
        chosen = self._with_ancestors(records, records if runs is None else runs)
        make_tables(self._target.file)
        self._merge_experiments({records[run]["experiment"] for run in chosen} if runs is not None else None)
        for batch in in_chunks(chosen, RUNS_AT_ONCE):
            self._merge_batch([records[run] for run in batch])
        self._renumber()
        added, continued, unchanged = (
            tuple(run for run in records if self._outcomes.get(run) == outcome)
            for outcome in ("added", "continued", "unchanged")
        )
        return Merged(added, continued, unchanged, self._refused)

    def _with_ancestors(self, records: Mapping[str, dict[str, Any]], runs: Collection[str]) -> list[str]:
        """Return runs and their ancestors, each after its parent; one whose lineage is not whole is refused."""
        ordered: dict[str, None] = {}
        for run in runs:
            chain: list[str] = []
            name: str | None = run
            while name is not None and name not in ordered and name in records and name not in chain:
                chain.append(name)
                name = records[name]["parent_run"]
            if name is None or name in ordered:
                ordered.update(dict.fromkeys(reversed(chain)))
            else:
                self._refused[run] = f"its lineage is not whole: there is no run {name} before it"
        return [*ordered]

    def _merge_experiments(self, named: Collection[str] | None) -> None:
        """Merge the definitions of experiments: all of them, or those that are named."""
        with reading():
            given = [record for record in self._source.experiments.all() if named is None or record.experiment in named]
        with self._target.transaction():
            known = {record.experiment: record for record in self._target.experiments.all()}
            for record in given:
                name, created, definition = record.experiment, record.created, record.definition
                if name in known:
                    created = min(created, known[name].created)
                    try:
                        definition = self._joined_definition(known[name].definition, definition)
                    except UsageError as error:
                        self._refused[f"experiment {name}"] = str(error)
                        continue
                row = {"experiment": name, "definition": plain_json(definition), "created": created.isoformat()}
                Table(self._target.file, "experiments").insert(row, replace=True)

    def _joined_definition(self, known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        if known == given:
            return known
        if self._joined is None:
            raise UsageError(f"{self._target.path} has another experiment of this name")
        return self._joined(known, given)

    def _merge_batch(self, rows: Sequence[dict[str, Any]]) -> None:
        """Merge runs in one transaction; if one of them does not read, each in a transaction of its own."""
        before = dict(self._refused)
        try:
            with self._target.transaction():
                outcomes = self._merge_runs(rows)
        except SourceError as error:
            self._refused = before
            if len(rows) == 1:
                self._refused[rows[0]["run"]] = str(error)
                return
            for row in rows:
                self._merge_batch([row])
        else:
            self._outcomes |= outcomes

    def _merge_runs(self, rows: Sequence[dict[str, Any]]) -> dict[str, str]:
        names = [row["run"] for row in rows]
        known = {
            row["run"]: row for row in Table(self._target.file, "runs").select(f"WHERE run IN ({marks(names)})", *names)
        }
        outcomes: dict[str, str] = {}
        for row in rows:
            run, parent = row["run"], row["parent_run"]
            if (experiment := f"experiment {row['experiment']}") in self._refused:
                self._refused[run] = f"it is a trial of {experiment}, which was refused"
            elif parent in self._refused:
                self._refused[run] = f"it was forked from {parent}, which was refused"
            elif run not in known:
                outcomes[run] = "added"
            elif self._is_equal(row, known[run]):
                outcomes[run] = "unchanged"
            else:
                self._refused[run] = f"the run {run} of {self._target.path} is another one"
        self._add([row for row in rows if outcomes.get(row["run"]) == "added"])
        return outcomes

    def _is_equal(self, row: dict[str, Any], known: dict[str, Any]) -> bool:
        """Return whether both stores have the same rows of a run."""
        stores = (self._source.file, self._target.file)
        heads = [by_hash(file, "runs", [found])[0] for file, found in zip(stores, (row, known), strict=True)]
        if heads[0] != heads[1]:
            return False
        return all(
            by_hash(stores[0], table, rows_of(stores[0], table, [row["run"]], 0, NO_LIMIT))
            == by_hash(stores[1], table, rows_of(stores[1], table, [row["run"]], 0, NO_LIMIT))
            for table in NUMBERED
            if table != "passages"
        )

    def _add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Insert runs that the target does not have, with all that belongs to them."""
        if not rows:
            return
        carrier = Carrier(self._source.file, self._target.file)
        for row, carried in zip(rows, carrier.carried("runs", rows), strict=True):
            with reading():
                record, start = self._source.run(row["run"]), self._source.start(row["run"])
            self._target.insert_run(carried, record, start)
        runs = [row["run"] for row in rows]
        copy_rows(self._source.file, self._target.file, carrier, runs)
        with reading():
            checkpoints = read_checkpoints(self._source.file, runs)
        write_checkpoints(self._target.file, checkpoints)

    def _renumber(self) -> None:
        """Number the runs of the target in the order in which they were created, whatever store they came from."""
        rows = self._target.file.rows("SELECT id, run, created FROM runs ORDER BY id")
        ordered = sorted(rows, key=lambda row: (datetime.fromisoformat(row["created"]).timestamp(), row["run"]))
        moved = [(row["run"], place["id"]) for row, place in zip(ordered, rows, strict=True) if row != place]
        if not moved:
            return
        with self._target.transaction():
            for run, place in moved:  # below zero first, where no other row is
                self._target.file.write("UPDATE runs SET id = ? WHERE run = ?", -place, run)
            self._target.file.write("UPDATE runs SET id = -id WHERE id < 0")
