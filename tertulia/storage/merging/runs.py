"""Merging runs of one store into another: runs that it lacks, and runs of which it has the beginning."""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from tertulia.state.album import Population
from tertulia.state.annotation import Annotation
from tertulia.state.errors import StorageError
from tertulia.state.meeting import Start
from tertulia.state.records import RunRecord
from tertulia.storage.contract import Beside
from tertulia.storage.faults import record_faults
from tertulia.storage.merging.carrying import Carrier, damaged, in_chunks, marks, reading
from tertulia.storage.merging.checkpoint_rows import copy_checkpoints
from tertulia.storage.merging.run_comparison import Comparison, DifferError, compare
from tertulia.storage.merging.run_rows import NUMBERED, copy_rows
from tertulia.storage.schema import TABLES
from tertulia.storage.sql_views import TURNS_OF_RUN
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table
from tertulia.storage.values import parsed, record_of

Row = dict[str, Any]

#: Ids of conversations of a simulation (state/town.py): its own, day and number.
OF_SIMULATION = re.compile(r"(.+)-\d+-\d+")


class RunMerger:
    """Merges runs of a source into a target, inside one transaction of that.

    Attributes:
        refused: Those of which nothing was written, and why.
        differing: Those of them of which the target has another copy, so that they will be refused again.
    """

    def __init__(
        self, source: SqlStore, target: SqlStore, refused: Mapping[str, str], beside: Beside | None = None
    ) -> None:
        """Take two stores, earlier refusals, and the source as it is read over the target's connection."""
        self._source, self._target, self._beside = source, target, beside
        self._carrier = Carrier(source.file, target.file)
        self._refused_before = refused
        self.added: list[str] = []
        self.continued: list[str] = []
        self.unchanged: list[str] = []
        self.differing: list[str] = []
        self.refused: dict[str, str] = {}

    def merge(self, rows: Sequence[Row]) -> None:
        """Merge runs, each after its parent; undo the transaction after a `SourceError`, for one that does not read."""
        names = [row["run"] for row in rows]
        with reading():
            records = {row["run"]: self._source.run_record(row) for row in rows}
        known = _by_name(self._target, "run", "runs", names)
        simulations = _by_name(self._target, "simulation", "simulations", [*names, *filter(None, map(town_of, names))])
        new: list[Row] = []
        for row in rows:
            run = row["run"]
            if (reason := self._reason(row, simulations)) is not None:
                self.refused[run] = reason
            elif run in known:
                self._compare(row, known[run])
            else:
                new.append(row)
        self._add(new, records)
        self._add_annotations([run for run in names if run not in self.refused])

    def _reason(self, row: Row, simulations: Mapping[str, Row]) -> str | None:
        """Return a reason, independent of its contents, why a run can't be merged."""
        refused = {**self._refused_before, **self.refused}
        town = town_of(row["run"])
        if (experiment := f"experiment {row['experiment']}") in refused:
            return f"it is a trial of {experiment}, which was refused"
        if row["parent_run"] in refused:
            return f"it was forked from {row['parent_run']}, which was refused"
        if row["run"] in simulations:
            return "a simulation has this id"
        if f"simulation {town}" in refused:
            return f"it is a conversation of simulation {town}, which was refused"
        if town in simulations and row["status"] == "finished" and not self._is_conversation(row["run"]):
            return f"simulation {town} has no such conversation"
        return None

    def _is_conversation(self, run: str) -> bool:
        simulation, day, number = run.rsplit("-", 2)
        # By its key: a town has thousands, and each would walk through all.
        key = "simulation = ? AND day = ? AND number = ?"
        found = f"SELECT 1 FROM encounters WHERE {key} AND run = ?"
        return bool(self._target.file.rows(found, simulation, int(day), int(number), run))

    # --- runs that the target has -----------------------------------------------------------------------------------

    def _compare(self, row: Row, known: Row) -> None:
        run = row["run"]
        try:
            compared = compare(self._source.file, self._target.file, row, known)
        except DifferError as error:
            self.refused[run] = str(error)
            self.differing.append(run)
            return
        if compared.longer == "source":
            with ExitStack() as locks:
                try:
                    locks.enter_context(self._target.drive_lock(run))
                except StorageError as error:
                    self.refused[run] = str(error)
                    return
                self._continue(row, known, compared)
            self.continued.append(run)
            return
        self.unchanged.append(run)
        if known["label"] is None and row["label"] is not None:
            Table(self._target.file, "runs").update(known, "run", label=row["label"])

    def _continue(self, row: Row, known: Row, compared: Comparison) -> None:
        """Replace everything after the last turn that both have; annotations and the label stay."""
        run, file = row["run"], self._target.file
        first = compared.turns + 1 if compared.turns else 0
        for table, number in NUMBERED.items():
            file.write(f"DELETE FROM {table} WHERE run = ? AND {number} >= ?", run, first)
        copy_rows(self._source.file, file, self._carrier, [run], first, self._beside)
        file.delete_checkpoints([run])
        copy_checkpoints(self._source.file, file, [run])
        changes = {column: row[column] for column in ("status", "error", "ended_by", "extensions")}
        label = row["label"] if known["label"] is None else known["label"]
        Table(file, "runs").update(known, "run", **changes, label=label)

    # --- runs that it lacks -----------------------------------------------------------------------------------------

    def _add(self, rows: Sequence[Row], records: Mapping[str, RunRecord]) -> None:
        runs = [row["run"] for row in rows]
        for row, carried in zip(rows, self._carrier.carried("runs", rows), strict=True):
            with reading():
                start = self._source.start(row["run"])
            self._check(row, start)
            self._target.insert_run(carried, records[row["run"]], start)
        copy_rows(self._source.file, self._target.file, self._carrier, runs, beside=self._beside)
        copy_checkpoints(self._source.file, self._target.file, runs)
        self.added += runs

    def _check(self, row: Row, start: Start) -> None:
        """Check that all is there that the run of a row builds on."""
        run, file = row["run"], self._source.file
        if isinstance(start, Population):
            self._carrier.carry_pictures({picture.file.hash for picture in start.pictures if picture.file is not None})
        for stream in filter(None, (start.participant(name).stream for name in start.names)):
            if not _by_name(self._target, "simulation", "simulations", [stream.simulation]):
                raise damaged(file, f"run {run} builds on simulation {stream.simulation}, which is missing")
        counted = "SELECT min(turn) AS first, max(turn) AS last, count(*) AS turns FROM turns WHERE run = ?"
        with reading():
            (turns,) = file.rows(counted, run)
        first = 1
        if row["parent_run"] is not None:
            first = row["parent_turn"]
            known = self._target.file.rows(f"SELECT {TURNS_OF_RUN} AS turns FROM runs WHERE run = ?", row["parent_run"])
            if not known or not 1 <= first <= known[0]["turns"] + 1:
                raise damaged(file, f"run {run} was forked from a turn that its parent does not have")
        if turns["turns"] and (turns["first"], turns["last"]) != (first, first + turns["turns"] - 1):
            raise damaged(file, f"run {run} has a gap in its turns")

    # --- annotations ------------------------------------------------------------------------------------------------

    def _add_annotations(self, runs: Sequence[str]) -> None:
        """Insert annotations that the target lacks; one that it has with other answers stays as it is there."""
        if not runs:
            return
        which = f"WHERE run IN ({marks(runs)})"
        with reading():
            given = {_key_of(row): row for row in Table(self._source.file, "annotations").select(which, *runs)}
            with record_faults(self._source.path):
                for row in given.values():
                    record_of(Annotation, row, answers=parsed(row["answers"]))
        known = (
            {_key_of(row): row for row in Table(self._target.file, "annotations").select(which, *runs)} if given else {}
        )
        new = [row for key, row in given.items() if key not in known]
        Table(self._target.file, "annotations").insert_all(self._carrier.carried("annotations", new))
        for key in given.keys() & known.keys():
            if given[key]["answers"] != known[key]["answers"]:
                run, instrument, model = key[:3]
                reason = f"{model} answered otherwise there; the answers that were there stay"
                self.refused[f"annotation {instrument} of {run}"] = reason


def _key_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[column] for column in TABLES["annotations"].key)


def _by_name(store: SqlStore, column: str, table: str, names: Sequence[str]) -> dict[str, Row]:
    rows = (
        row
        for chunk in in_chunks(names)
        for row in Table(store.file, table).select(f"WHERE {column} IN ({marks(chunk)})", *chunk)
    )
    return {row[column]: row for row in rows}


def town_of(run: str) -> str | None:
    """Return the simulation to which a run belongs, by its id; `None` for other runs."""
    match = OF_SIMULATION.fullmatch(run)
    return match[1] if match else None
