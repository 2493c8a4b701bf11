"""Uniting stores: runs of one, with all that belongs to them, become runs of another."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any

from tertulia.state.errors import StorageError, UsageError
from tertulia.state.experiment import ExperimentRecord
from tertulia.state.garbage import without_collection
from tertulia.storage.contract import Beside
from tertulia.storage.faults import UnavailableError, record_faults
from tertulia.storage.merging.carrying import SourceError, reading
from tertulia.storage.merging.checkpoint_rows import has_tables, make_tables
from tertulia.storage.merging.run_comparison import DifferError
from tertulia.storage.merging.runs import Row, RunMerger, town_of
from tertulia.storage.merging.towns import TownMerger
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table
from tertulia.storage.values import parsed, plain_json

#: Joins the definitions of two experiments of one name, or refuses.
Joined = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]

#: Refuses, by raising `UsageError`, a change of a target's experiment: its name, its present and its future definition.
Agreed = Callable[[str, dict[str, Any], dict[str, Any]], None]

#: Outcomes of a run's merge, beside a refusal for missing rows.
_OUTCOMES = ("added", "continued", "unchanged", "differing")

#: Turns that are copied in one transaction, unless one run has more: other writers wait for it.
TURNS_AT_ONCE = 1000


@dataclass(frozen=True)
class Merged:
    """The outcome of a merge; ids of runs are in the order of the source.

    Attributes:
        added: The runs that the target did not have.
        continued: Those of which it had a beginning.
        unchanged: Those that it had already, or had more of.
        refused: The runs and simulations that were not merged, and why; nothing of them was written.
        differing: The refused runs of which the target has another copy, so that they will be refused again.
    """

    added: tuple[str, ...] = ()
    continued: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    differing: tuple[str, ...] = ()


def merge(
    source: SqlStore,
    target: SqlStore,
    runs: Collection[str] | None = None,
    joined: Joined | None = None,
    agreed: Agreed | None = None,
) -> Merged:
    """Copy runs, with all that belongs to them, from one store into another.

    Args:
        runs: The ids of the runs; their ancestors come with them. `None` for all that the source has.
        joined: Joins the definitions of an experiment that both stores have; without it, two that differ are refused.
        agreed: Is asked before an experiment of the target changes, while no writer waits for the target; without it,
            any may.

    Raises:
        SourceError: The source can't be read at all.
        StorageError: The target can't be read or written.
    """
    return _Merge(source, target, joined, agreed).merged(runs)


class _Merge:
    def __init__(self, source: SqlStore, target: SqlStore, joined: Joined | None, agreed: Agreed | None = None) -> None:
        self._source, self._target, self._joined, self._agreed = source, target, joined, agreed
        self._beside: Beside | None = None
        self._outcomes: dict[str, str] = {}
        self._refused: dict[str, str] = {}

    def merged(self, runs: Collection[str] | None) -> Merged:
        """Merge, and return the outcome."""
        with reading():
            rows, unread = Table(self._source.file, "runs").readable("id", "run")
            lost = self._lost_records()
        records = {row["run"]: row for row in rows}
        self._refused |= {run: why for run, why in (lost | unread).items() if runs is None or run in runs}
        chosen = self._with_ancestors(records, records if runs is None else runs)
        if has_tables(self._source.file):
            make_tables(self._target.file)
        self._merge_experiments({records[run]["experiment"] for run in chosen} if runs is not None else None)
        with self._target.file.beside(self._source.file) as self._beside:
            self._merge_runs(records, chosen, self._towns(records, chosen if runs is not None else None))
        if runs is None:
            try:
                self._merge_calibrations()
            except SourceError as error:
                self._refused["calibrations"] = str(error)
        self._renumber("runs", "run")
        self._renumber("simulations", "simulation")
        added, continued, unchanged, differing = (
            tuple(run for run in records if self._outcomes.get(run) == outcome) for outcome in _OUTCOMES
        )
        return Merged(added, continued, unchanged, self._refused, differing)

    def _lost_records(self) -> dict[str, str]:
        """Return the runs that have a lineage and no record, each with this reason."""
        lost = "SELECT run FROM lineage WHERE run = ancestor AND run NOT IN (SELECT run FROM runs)"
        try:
            return {row["run"]: "its record is missing" for row in self._source.file.rows(lost)}
        except UnavailableError:
            raise
        except StorageError as error:
            return {"lineage": str(error)}

    def _merge_runs(self, records: Mapping[str, Row], chosen: Sequence[str], towns: Mapping[str, list[str]]) -> None:
        for simulation, conversations in towns.items():
            self._merge_town(simulation, [records[run] for run in conversations])
        of_towns = {run for conversations in towns.values() for run in conversations}
        for batch in self._batches([records[run] for run in chosen if run not in of_towns]):
            self._merge_batch(batch)

    def _with_ancestors(self, records: Mapping[str, Row], runs: Collection[str]) -> list[str]:
        """Return runs and their ancestors, each after its parent; refuse a run with an incomplete lineage."""
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

    def _towns(self, records: Mapping[str, Row], chosen: Collection[str] | None) -> dict[str, list[str]]:
        """Return simulations with their conversations: all of them, or those with a chosen conversation."""
        with reading():
            rows, unread = Table(self._source.file, "simulations").readable("id", "simulation")
        if chosen is None:
            self._refused |= {f"simulation {town}": why for town, why in unread.items()}
        towns: dict[str, list[str]] = {row["simulation"]: [] for row in rows}
        for run in records:
            if (town := town_of(run)) in towns:
                towns[town].append(run)
        if chosen is None:
            return towns
        return {town: runs for town, runs in towns.items() if not set(runs).isdisjoint(chosen)}

    def _merge_town(self, simulation: str, rows: Sequence[Row]) -> None:
        merger = RunMerger(self._source, self._target, self._refused, self._beside)
        try:
            if refused := [run for run in self._refused if town_of(run) == simulation]:
                raise DifferError(f"its conversation {refused[0]} was refused: {self._refused[refused[0]]}")
            with without_collection(), self._target.transaction():
                TownMerger(self._source, self._target, simulation).merge()
                for batch in self._batches(rows):
                    merger.merge(batch)
                if refused := [run for run in merger.refused if town_of(run) == simulation]:
                    raise DifferError(f"its conversation {refused[0]} was refused: {merger.refused[refused[0]]}")
                try:
                    self._target.simulations.encounters(simulation)
                except StorageError:
                    raise DifferError("other runs have the ids of its conversations") from None
        except (SourceError, DifferError) as error:
            self._refused[f"simulation {simulation}"] = str(error)
            reason = f"it is a conversation of simulation {simulation}, which was refused"
            self._refused |= {row["run"]: reason for row in rows}
        else:
            self._done(merger)

    def _merge_calibrations(self) -> None:
        """Take the calibrations that the target lacks; of two with one digest, the later."""
        with reading():
            given = Table(self._source.file, "calibrations").select("")
            with record_faults(self._source.path):
                for row in given:
                    parsed(row["curve"]), datetime.fromisoformat(row["created"])
        table = Table(self._target.file, "calibrations")
        with self._target.transaction():
            known = {row["calibration"]: row for row in table.select("")}
            for row in given:
                if (there := known.get(row["calibration"])) is None or _moment(there) < _moment(row):
                    table.insert(row, replace=True)

    def _batches(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        with reading():
            of_runs = f"WHERE run IN {self._source.file.dialect.given_texts} GROUP BY run"
            counted = self._source.file.rows(
                f"SELECT run, count(*) AS turns FROM turns {of_runs}", json.dumps([row["run"] for row in rows])
            )
        turns = {row["run"]: row["turns"] for row in counted}
        batch: list[Row] = []
        waiting = 0
        for row in rows:
            batch.append(row)
            waiting += 1 + turns.get(row["run"], 0)
            if waiting >= TURNS_AT_ONCE:
                yield batch
                batch, waiting = [], 0
        if batch:
            yield batch

    def _merge_experiments(self, named: Collection[str] | None) -> None:
        """Merge the definitions of experiments: all of them, or those that are named."""
        with reading():
            rows, unread = Table(self._source.file, "experiments").readable("experiment", "experiment")
        given = []
        for row in rows:
            try:
                given.append(self._source.experiments.record(row))
            except StorageError as error:
                unread[row["experiment"]] = str(error)
        given = [record for record in given if named is None or record.experiment in named]
        self._refused |= {f"experiment {name}": why for name, why in unread.items() if named is None or name in named}
        agreed = self._agree(given)
        with self._target.transaction():
            known = {record.experiment: record for record in self._target.experiments.all()}
            for record in given:
                name = record.experiment
                if f"experiment {name}" in self._refused:
                    continue
                try:
                    definition, created = self._united(known.get(name), record)
                    if name in known and definition not in (known[name].definition, agreed.get(name)):
                        raise UsageError("somebody has changed it in the meantime; merge again")
                except UsageError as error:
                    self._refused[f"experiment {name}"] = str(error)
                    continue
                row = {"experiment": name, "definition": plain_json(definition), "created": created.isoformat()}
                Table(self._target.file, "experiments").insert(row, replace=True)

    def _agree(self, given: Sequence[ExperimentRecord]) -> dict[str, dict[str, Any]]:
        """Return the definitions that experiments of the target are to have, each agreed to; refuse the others."""
        known = {record.experiment: record for record in self._target.experiments.all()}
        agreed: dict[str, dict[str, Any]] = {}
        for record in given:
            name = record.experiment
            if name not in known:
                continue
            try:
                definition, _ = self._united(known[name], record)
                if self._agreed is not None and definition != known[name].definition:
                    self._agreed(name, known[name].definition, definition)
            except UsageError as error:
                self._refused[f"experiment {name}"] = str(error)
            else:
                agreed[name] = definition
        return agreed

    def _united(self, known: ExperimentRecord | None, given: ExperimentRecord) -> tuple[dict[str, Any], datetime]:
        """Return an experiment of both stores, and when it was begun; the older one first, whichever store has it."""
        if known is None:
            if self._joined is not None:
                self._joined(given.definition, given.definition)  # an invalid one would break every list of them
            return given.definition, given.created
        older, later = sorted((known, given), key=lambda record: record.created)
        if older.definition == later.definition:
            return older.definition, older.created
        if self._joined is None:
            raise UsageError(f"{self._target.path} has another experiment of this name")
        return self._joined(older.definition, later.definition), older.created

    def _merge_batch(self, rows: Sequence[Row]) -> None:
        """Merge runs in one transaction; if one of them does not read, each in a transaction of its own."""
        merger = RunMerger(self._source, self._target, self._refused, self._beside)
        try:
            with without_collection(), self._target.transaction():
                merger.merge(rows)
        except SourceError as error:
            if len(rows) == 1:
                self._refused[rows[0]["run"]] = str(error)
                return
            for row in rows:
                self._merge_batch([row])
        else:
            self._done(merger)

    def _done(self, merger: RunMerger) -> None:
        for outcome in _OUTCOMES:
            self._outcomes |= dict.fromkeys(getattr(merger, outcome), outcome)
        self._refused |= merger.refused

    def _renumber(self, table: str, column: str) -> None:
        """Number rows of the target in the order in which they were created, from any store."""
        file = self._target.file
        with self._target.transaction():
            rows = file.rows(f"SELECT id, {column} AS name, created FROM {table} ORDER BY id")
            moments = [*map(_moment, rows)]
            ages = moments if len({*moments}) == len(rows) else [*zip(moments, map(_numbered, rows), strict=True)]
            ordered = [row for _, row in sorted(zip(ages, rows, strict=True), key=itemgetter(0))]
            moved = [(before["id"], now["id"]) for before, now in zip(ordered, rows, strict=True)]
            down = [(before, now) for before, now in moved if now < before]
            up = sorted([(before, now) for before, now in moved if now > before], reverse=True)
            # Out of the way first, below zero; then those above make room for those below them, each written once.
            for move in ([(-now, before) for before, now in down], [(now, before) for before, now in up]):
                file.write_all(f"UPDATE {table} SET id = ? WHERE id = ?", move)
            if down:
                file.write(f"UPDATE {table} SET id = -id WHERE id < 0")


def _numbered(row: Row) -> list[tuple[int, str]]:
    """Return the order of rows of one moment, as a town's conversations: the parts of the name, numbers as such."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", row["name"])]


def _moment(row: Row) -> float:
    return datetime.fromisoformat(row["created"]).timestamp()
