"""Runs of a store file: their records, their starts, and the turns that they have in common with their ancestors."""

import itertools
import secrets
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property, lru_cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import override

from tertulia.state.errors import NotFoundError, StorageError, UsageError, nearest_hint
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import EndedBy, Extension, RunRecord, RunStatus, Trial
from tertulia.state.same import Same
from tertulia.state.store import Dependents, RunStore
from tertulia.storage.contract import Database
from tertulia.storage.deletion import delete_runs, delete_unused, pointed_from
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.ids import LATEST, LISTED, listed, resolve_id
from tertulia.storage.parts.cognition import NO_LIMIT
from tertulia.storage.parts.contents import Contents, at_one_moment
from tertulia.storage.parts.lineage import check_lineages
from tertulia.storage.sql_views import TURNS_OF_RUN
from tertulia.storage.sqlite.opening import MEMORY
from tertulia.storage.tables import Table
from tertulia.storage.values import Value, parsed, plain_json, record_of

#: Letters and digits that are not taken for one another.
RUN_ID_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"

#: Characters of an id that is reserved for a run of another store: there are 700 million, so that two commands that
#: reserve some at the same time hardly ever take the same.
_RESERVED_LENGTH = 6

#: Fields of a run's record that are columns as they are.
_PLAIN_FIELDS = {
    *("run", "status", "kind", "scenario", "model", "embedder", "rehearsed", "rewritten", "error", "ended_by", "label"),
}

#: By field of a trial, its column.
_TRIAL_COLUMNS = {field: "trial_case" if field == "case" else field for field in Trial.model_fields}

#: A case or a meeting, distinguished by their fields.
_START: TypeAdapter[Start] = TypeAdapter(Start, config=ConfigDict(defer_build=True))


def checked_parameters(text: str) -> dict[str, Any]:
    """Return stored parameters; `ValueError` or `KeyError` if no run can have them.

    Raises:
        StorageError: Another version of Tertulia recorded them.
    """
    _check_parameters(text)
    parameters: dict[str, Any] = parsed(text)
    return parameters


@lru_cache(maxsize=256)  # many runs of a store have the same
def _check_parameters(text: str) -> None:
    parameters = parsed(text)
    if unknown := [name for name in parameters if name not in Parameters.model_fields]:
        raise StorageError(
            f"a run here has settings that this version of Tertulia does not have ({listed(unknown)}): another version "
            "recorded it; open the store with that version, or make the run anew in another store"
        )
    Parameters.model_validate(parameters)
    parameters["removal_factor"]  # shown of every run


@lru_cache(maxsize=4)  # a command asks again and again, and a population may have ten thousand pictures
def _start_of(text: str) -> Start:
    return _START.validate_python(parsed(text))


@lru_cache(maxsize=4)  # runs of a case are stored one after another
def _text_of(start: Same[Start]) -> str:
    return plain_json(start.held.model_dump(mode="json"))


def _trial_row(trial: Trial | None) -> dict[str, Value]:
    return {column: None if trial is None else getattr(trial, field) for field, column in _TRIAL_COLUMNS.items()}


def _trial_of(row: dict[str, Any]) -> dict[str, Any] | None:
    return None if row["experiment"] is None else {field: row[column] for field, column in _TRIAL_COLUMNS.items()}


def _random_id(length: int) -> str:
    return "".join(secrets.choice(RUN_ID_ALPHABET) for _ in range(length))


class Runs(Contents, RunStore):
    """Runs of a store file."""

    def new_run_id(self) -> str:
        """Return an id that no run has: four characters, more when those become few."""
        names = (_random_id(4 + attempt // 8) for attempt in itertools.count())
        return next(name for name in names if not self._is_taken(name))

    def new_run_ids(self, number: int) -> list[str]:
        """Return ids that no run has, for runs that are made in other stores: long, as others may do the same now."""
        found = dict[str, None]()
        while len(found) < number:
            if not self._is_taken(name := _random_id(_RESERVED_LENGTH)):
                found[name] = None
        return list(found)

    def _is_taken(self, name: str) -> bool:
        taken = "SELECT 1 FROM runs WHERE run = ? UNION ALL SELECT 1 FROM simulations WHERE simulation = ?"
        return bool(self.file.rows(taken, name, name))

    def drive_lock(self, run: str) -> AbstractContextManager[None]:
        """Hold the lock by which one process drives a run; `StorageError` names a process that holds it already."""
        return self.file.drive_lock(run)

    def clear_locks(self) -> None:
        """Remove the locks that killed drivers have left."""
        self.file.clear_locks()

    @override
    def create_run(self, run: RunRecord, start: Start) -> None:
        parent_run, parent_turn = run.parent or (None, None)
        row = {
            **run.model_dump(include=_PLAIN_FIELDS),
            "seed": str(run.seed),
            "parameters": plain_json(run.parameters),
            "participant_models": plain_json({name: m.model_dump() for name, m in run.participant_models.items()}),
            "extensions": plain_json([extension.model_dump() for extension in run.extensions]),
            "parent_run": parent_run,
            "parent_turn": parent_turn,
            "created": run.created.isoformat(),
            **_trial_row(run.trial),
        }
        with self.file.transaction():
            row["case_id"] = self.text_id(_text_of(Same(start)))
            is_new = self.insert_run(row, run, start)
        if not is_new and self.run(run.run).created != run.created:
            raise StorageError(f"another run in {self.path} has just taken the id {run.run}; start again")
        self.file.save_log()

    def insert_run(self, row: dict[str, Any], run: RunRecord, start: Start) -> bool:
        """Insert the row of a run, its lineage and passages, inside a transaction; return whether its id was new."""
        is_new = Table(self.file, "runs").insert_new(row)
        for shared in self._lineage_rows(run):
            Table(self.file, "lineage").insert(shared)
        participants = (start.participant(name) for name in start.names)
        memories = ((person.persona.name, memory.text) for person in participants for memory in person.memories)
        self.save_start_memories(row["case_id"], memories)
        return is_new

    def _lineage_rows(self, run: RunRecord) -> list[dict[str, Any]]:
        # A run has all that it wrote itself.
        itself = {"run": run.run, "ancestor": run.run, "depth": 0, "turns": NO_LIMIT, "rounds": NO_LIMIT}
        if run.parent is None:
            return [itself]
        parent, turn = run.parent
        turns = turn - 1
        # A fork at the first turn shares no preparation either; one that rewrites a turn has the thoughts before it.
        rounds = turn if run.rewritten else turns if turns else -1
        return [itself] + [
            {
                "run": run.run,
                "ancestor": row["ancestor"],
                "depth": row["depth"] + 1,
                "turns": min(row["turns"], turns),
                "rounds": min(row["rounds"], rounds),
            }
            for row in Table(self.file, "lineage").select("WHERE run = ?", parent)
        ]

    @at_one_moment
    @override
    def run(self, run: str) -> RunRecord:
        # Asked for by its id, as while it is driven, a run does not take longer to find the more there are.
        run_ids = [run] if self.file.rows("SELECT 1 FROM runs WHERE run = ?", run) else self._run_ids()
        if run not in run_ids and self.file.rows("SELECT 1 FROM simulations WHERE simulation = ?", run):
            way = f"try tertulia days {run} --encounters, or tertulia simulate --resume {run}"
            raise UsageError(f"{run} is a simulation, not a run; its conversations are runs: {way}")
        name = resolve_id(run, run_ids, "run", self.path)
        if name is None:
            raise self._no_such_run(run, run_ids)
        also = f"{TURNS_OF_RUN} AS turns, (SELECT max(turn) FROM traces WHERE traces.run = runs.run) AS traced"
        rows = Table(self.file, "runs").select("WHERE run = ?", name, also=also)
        if not rows:
            raise damaged(self.path, f"run {name} is not found by its id")
        # This turn's number is the count of all.
        Table(self.file, "turns").select("WHERE run = ? AND turn = ?", name, rows[0]["turns"])
        if (rows[0]["traced"] or 0) > rows[0]["turns"]:
            raise damaged(self.path, f"turn {rows[0]['traced']} of run {name} is missing")
        Table(self.file, "lineage").select("WHERE run = ?", name)
        check_lineages(self.file, [name])
        return self.run_record(rows[0])

    @at_one_moment
    @override
    def runs(
        self,
        scenario: str | None = None,
        status: RunStatus | None = None,
        label: str | None = None,
        limit: int | None = None,
        experiment: str | None = None,
    ) -> list[RunRecord]:
        wanted = {"scenario": scenario, "status": status, "label": label, "experiment": experiment}
        given = {column: value for column, value in wanted.items() if value is not None}
        where = f"WHERE {' AND '.join(f'{column} = ?' for column in given)}" if given else ""
        rows = Table(self.file, "runs").select(
            f"{where} ORDER BY id DESC LIMIT ?",
            *given.values(),
            NO_LIMIT if limit is None else limit,
            also=f"{TURNS_OF_RUN} AS turns",
        )
        check_lineages(self.file, [row["run"] for row in rows])
        if self.file.is_checked:
            check_nothing_is_lost(self.file)
            if given:
                self.check_all_rows("runs")
        return [self.run_record(row) for row in rows]

    def check_all_rows(self, table: str) -> None:
        """Check a whole table if that is cheap, before rows are chosen by a column that may have been altered.

        Raises:
            StorageError: A row does not match its checksum.
        """
        if self.file.is_checked and self._checked.get(table) != (version := self.file.data_version()):
            Table(self.file, table).select("")
            self._checked[table] = version

    @cached_property
    def _checked(self) -> dict[str, Hashable]:
        """The version of the database at which each table was checked; rows written here have their checksums."""
        return {}

    @override
    def start(self, run: str) -> Start:
        join = "LEFT JOIN contents ON contents.id = case_id WHERE run = ?"
        rows = self.verified_texts(Table(self.file, "runs").select(join, run, also="hash, text"))
        if not rows:
            raise self._no_such_run(run, self._run_ids())
        with record_faults(self.path):
            return _start_of(rows[0]["text"])

    @override
    def set_status(
        self, run: str, status: RunStatus, error: str | None = None, ended_by: EndedBy | None = None
    ) -> None:
        self._update_run(run, status=status, error=error, ended_by=ended_by)
        if status != "running":
            self.file.save_log()

    @override
    def set_label(self, run: str, label: str | None) -> None:
        self._update_run(run, label=label)

    @override
    def set_extensions(self, run: str, extensions: Sequence[Extension]) -> None:
        self._update_run(run, extensions=plain_json([extension.model_dump() for extension in extensions]))

    @at_one_moment
    @override
    def dependents_of(self, run: str) -> Dependents:
        simulations = self.file.rows("SELECT simulation FROM encounters WHERE run = ?", run)
        return Dependents(
            self._forks(run, with_their_forks=True), simulations[0]["simulation"] if simulations else None
        )

    @at_one_moment
    def forks_of(self, run: str) -> tuple[str, ...]:
        """Return the ids of the runs that were forked from a run itself, not from a fork of it, the oldest first."""
        self.check_all_rows("runs")
        return self._forks(run, with_their_forks=False)

    def _forks(self, run: str, with_their_forks: bool) -> tuple[str, ...]:
        """Return forks of a run as their own records have it: a fork whose lineage is lost is one nevertheless."""
        forks = "SELECT run FROM runs WHERE parent_run = ?"
        if with_their_forks:
            forks += " UNION SELECT runs.run FROM runs JOIN forks ON runs.parent_run = forks.run"
        rows = self.file.rows(
            f"WITH RECURSIVE forks (run) AS ({forks}) SELECT runs.run FROM forks JOIN runs ON runs.run = forks.run "
            "ORDER BY id",
            run,
        )
        return tuple(row["run"] for row in rows)

    @override
    def remove_run(self, run: str, with_forks: bool = False) -> tuple[str, ...]:
        with ExitStack() as locks, self.file.transaction():
            run_ids = self._run_ids()
            if run not in run_ids:
                raise self._no_such_run(run, run_ids)
            dependents = self.dependents_of(run)
            if dependents.simulation is not None:
                raise UsageError(
                    f"run {run} is a conversation of simulation {dependents.simulation}, which would not be whole "
                    "without it; it stays"
                )
            if dependents.forks and not with_forks:
                raise UsageError(
                    f"run {run} has forks that have its turns in common ({listed(dependents.forks)}); remove them "
                    "first, or together with it (--with-forks)"
                )
            removed = (run, *dependents.forks)
            for name in removed:
                locks.enter_context(self.drive_lock(name))
            pointed = pointed_from(self.file, removed)
            delete_runs(self.file, removed)
            # A run that is driven may be about to point to a text that it has stored, or found, a moment ago.
            if not self._is_anything_driven(removed):
                delete_unused(self.file, pointed)
        return removed

    def _is_anything_driven(self, removed: tuple[str, ...]) -> bool:
        """Return whether a run or a simulation, other than the removed ones, is being driven."""
        running = "SELECT {0} AS run FROM {0}s WHERE status = 'running'"
        for row in self.file.rows(f"{running.format('run')} UNION {running.format('simulation')}"):
            if row["run"] not in removed:
                try:
                    with self.drive_lock(row["run"]):
                        pass
                except StorageError:
                    return True
        return False

    def _run_ids(self) -> list[str]:
        return [row["run"] for row in self.file.rows("SELECT run FROM runs ORDER BY id DESC")]

    def run_record(self, row: dict[str, Any]) -> RunRecord:
        """Return the record of a row of `runs`."""
        with record_faults(self.path):
            return record_of(
                RunRecord,
                row,
                parameters=checked_parameters(row["parameters"]),
                participant_models=parsed(row["participant_models"]),
                extensions=parsed(row["extensions"]),
                parent=None if row["parent_run"] is None else (row["parent_run"], row["parent_turn"]),
                trial=_trial_of(row),
            )

    def _update_run(self, run: str, **changes: Value) -> None:
        with self.file.transaction():
            rows = Table(self.file, "runs").select("WHERE run = ?", run)
            if not rows:
                raise self._no_such_run(run, self._run_ids())
            Table(self.file, "runs").update(rows[0], "run", **changes)

    def _no_such_run(self, run: str, run_ids: list[str]) -> StorageError | NotFoundError:
        if self.file.rows("SELECT 1 FROM lineage WHERE run = ? AND ancestor = run", run):
            return damaged(self.path, f"the record of run {run} is missing")
        if run_ids:
            return NotFoundError(f"no run {run!r} in {self.path}{nearest_hint(run, [LATEST, *run_ids[:LISTED]])}")
        state = "does not exist yet" if self.file.path == MEMORY != self.path else "holds no runs yet"
        return NotFoundError(
            f"no run {run!r}: the store {self.path} {state}; begin with `tertulia run`, or give store=…"
        )


def check_nothing_is_lost(file: Database) -> None:
    """Raise `StorageError` if a run lacks its record or its lineage, or an executed turn its row."""
    for lost, what in (
        ("lineage WHERE run = ancestor AND run NOT IN (SELECT run FROM runs)", "the record of run {run}"),
        ("runs WHERE run NOT IN (SELECT run FROM lineage WHERE run = ancestor)", "the lineage of run {run}"),
        ("traces WHERE (run, turn) NOT IN (SELECT run, turn FROM turns)", "turn {turn} of run {run}"),
    ):
        if found := file.rows(f"SELECT * FROM {lost} LIMIT 1"):
            raise damaged(file.path, f"{what.format_map(found[0])} is missing")
