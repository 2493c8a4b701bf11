"""The store of runs: what was said in them, and how every turn came about. Implements `state.store.Store`.

1. Texts and prompts lie in `contents`, `units` and `prompts`, by the hash of what they say.
2. Runs, turns, scores, candidates, steps and calls have deterministic keys: written again, they change nothing.
3. A record that is read back equals the one that was written, to the last digit.
"""

import itertools
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import TypeAdapter

from state.cognition import Call, Trace
from state.errors import NotFoundError, StorageError, UsageError, nearest_hint
from state.meeting import Start
from state.parameters import Parameters
from state.records import (
    Candidate,
    Extension,
    Prompt,
    Record,
    Remembered,
    Reply,
    RunRecord,
    RunStatus,
    Stream,
    Turn,
    TurnRecord,
)
from state.store import AnyRecord, Recollection
from storage.cognition import Cognition
from storage.contents import Contents, verified
from storage.database import MEMORY, StoreFile
from storage.faults import DAMAGED, storage_faults
from storage.ids import LISTED, meant
from storage.journal import Journal
from storage.locks import drive_lock
from storage.simulations import Simulations
from storage.tables import Table
from storage.values import Value

#: Letters and digits that are not taken for one another.
RUN_ID_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"

#: The number of a run's turns, those that a fork has in common with its parent among them.
_TURNS_OF_RUN = "coalesce((SELECT max(turn) FROM turns WHERE turns.run = runs.run), parent_turn - 1, 0) AS turns"
_TEXT_OF_TURN = "LEFT JOIN contents ON contents.id = turns.content_id"
_TURNS = f"{_TEXT_OF_TURN} JOIN lineage ON ancestor = turns.run AND turns.turn <= lineage.turns WHERE lineage.run = ?"

#: Past all turns: how far a run has what is its own.
_NO_LIMIT = 2**62

#: Fields of a run's record that are columns as they are.
_PLAIN_COLUMNS = {"run", "status", "kind", "scenario", "model", "embedder", "rehearsed", "rewritten", "error"}

#: Of a candidate, what stands in the JSON of its reply.
_BESIDE_THE_REPLY = {"origin", "rewritable"}

#: A case or a meeting, told apart by their fields.
_START: TypeAdapter[Start] = TypeAdapter(Start)


class SqliteStore:
    """A store in one SQLite file, through one connection; made and used in one thread.

    Attributes:
        path: The file as the user named it.
        file: The connection, for plain SQL.
        simulations: Days of towns.
    """

    def __init__(self, file: StoreFile, path: Path | str) -> None:
        """Wrap an open file; see `open`.

        Args:
            file: The open file.
            path: The file that messages name.
        """
        self.path = path
        self._is_missing = file.path == MEMORY != path
        self.file = file
        self._contents = Contents(file)
        self._cognition = Cognition(file, self._contents)
        self._journal = Journal(file, self._contents)
        self.simulations = Simulations(file, self._contents, path)
        self._runs, self._lineage, self._turns = (Table(file, name) for name in ("runs", "lineage", "turns"))
        self._unit_scores, self._candidates = Table(file, "unit_scores"), Table(file, "candidates")

    @classmethod
    def open(cls, path: Path | str, create: bool = False) -> Self:
        """Open a store.

        Args:
            path: The file, or `:memory:` for a store that lives as long as this object.
            create: Whether a missing file is made. If not, a missing store is read as an empty one, in memory: it
                lists no runs, finds none, and leaves nothing on the disk.

        Raises:
            StorageError: The file can't be opened, is damaged, not a store, or from a newer version.
        """
        is_missing = path != MEMORY and not create and not Path(path).exists()
        return cls(StoreFile(MEMORY if is_missing else path, create), path)

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- contents ---------------------------------------------------------------------------------------------------

    def save_text(self, text: str) -> str:
        """Store a text once and return its content hash."""
        return self._contents.save_text(text)

    def text(self, content: str) -> str:
        """Return the text of that content hash (`StorageError` if the file lacks it)."""
        return self._contents.text(content)

    def save_prompt(self, prompt: Prompt) -> str:
        """Store a prompt, each unit's text once, and return its content hash."""
        return self._contents.save_prompt(prompt)

    def prompt(self, content: str) -> Prompt:
        """Return the prompt of that content hash (`StorageError` if the file lacks it)."""
        return self._contents.prompt(content)

    # --- runs -------------------------------------------------------------------------------------------------------

    def new_run_id(self) -> str:
        """Return an id that no run has: four characters, more when those become few."""
        taken = {*self._run_ids(), *(one.simulation for one in self.simulations.known())}
        names = ("".join(secrets.choice(RUN_ID_ALPHABET) for _ in range(4 + i // 8)) for i in itertools.count())
        return next(name for name in names if name not in taken)

    def create_run(self, run: RunRecord, start: Start) -> None:
        """Store a new run and what it starts from.

        Raises:
            StorageError: Another run has taken the id meanwhile.
        """
        parent_run, parent_turn = run.parent or (None, None)
        row = {
            **run.model_dump(include=_PLAIN_COLUMNS),
            "seed": str(run.seed),
            "parameters": _json(run.parameters),
            "participant_models": _json({name: model.model_dump() for name, model in run.participant_models.items()}),
            "extensions": _json([one.model_dump() for one in run.extensions]),
            "label": run.label,
            "parent_run": parent_run,
            "parent_turn": parent_turn,
            "created": run.created.isoformat(),
        }
        with self.file.transaction():
            row["case_id"] = self._contents.text_id(_json(start.model_dump(mode="json")))
            is_new = self._runs.insert(row)
            for kept in self._kept(run):
                self._lineage.insert(kept)
            people = (start.participant(name) for name in start.names)
            memories = ((one.persona.name, memory.text) for one in people for memory in one.memories)
            self._contents.save_memories(row["case_id"], memories)
        if not is_new and self.run(run.run).created != run.created:
            raise StorageError(f"another run in {self.path} has just taken the id {run.run}; start again")

    def _kept(self, run: RunRecord) -> list[dict[str, Any]]:
        """Return the rows of a run in the table of lineage."""
        own = {"run": run.run, "ancestor": run.run, "depth": 0, "turns": _NO_LIMIT, "rounds": _NO_LIMIT}
        if run.parent is None:
            return [own]
        parent, turn = run.parent
        turns = turn - 1
        # A fork at the first turn shares no preparation either; one that rewrites a turn has the thoughts before it.
        rounds = turn if run.rewritten else turns if turns else -1
        return [own] + [
            {
                "run": run.run,
                "ancestor": row["ancestor"],
                "depth": row["depth"] + 1,
                "turns": min(row["turns"], turns),
                "rounds": min(row["rounds"], rounds),
            }
            for row in self._lineage.select("WHERE run = ?", parent)
        ]

    def run(self, run: str) -> RunRecord:
        """Return a run.

        Args:
            run: Its id, a unique beginning of it, or `@last` for the newest.

        Raises:
            NotFoundError: There is none.
            UsageError: Several ids begin like that.
        """
        known = self._run_ids()
        if run not in known and self.simulations.has(run):
            way = f"try tertulia days {run} --encounters, or tertulia simulate --resume {run}"
            raise UsageError(f"{run} is a simulation, not a run; its conversations are runs: {way}")
        name = meant(run, known, "run", self.path)
        if name is None:
            raise NotFoundError(self._no_such_run(run, known))
        rows = self._runs.select("WHERE run = ?", name, also=_TURNS_OF_RUN)
        if not rows:
            raise StorageError(DAMAGED.format(path=self.path, cause=f"run {name} is not found by its id"))
        self._check_lineage(rows[0]["run"], rows[0]["parent_run"])
        return self._run_record(rows[0])

    def runs(self) -> list[RunRecord]:
        """Return all runs, newest first."""
        return [self._run_record(row) for row in self._runs.select("ORDER BY id DESC", also=_TURNS_OF_RUN)]

    def start(self, run: str) -> Start:
        """Return the case, or the meeting, that a run starts from.

        Raises:
            NotFoundError: There is no such run.
        """
        join = "LEFT JOIN contents ON contents.id = case_id WHERE run = ?"
        rows = self._with_text(self._runs.select(join, run, also="hash, text"))
        if not rows:
            raise NotFoundError(self._no_such_run(run, self._run_ids()))
        with storage_faults(self.path):
            return _START.validate_python(json.loads(rows[0]["text"]))

    def set_status(self, run: str, status: RunStatus, error: str | None = None) -> None:
        """Note how a run stands.

        Raises:
            NotFoundError: There is no such run.
        """
        self._update_run(run, status=status, error=error)

    def set_extensions(self, run: str, extensions: Sequence[Extension]) -> None:
        """Note the extensions of a run as they are from now on.

        Raises:
            NotFoundError: There is no such run.
        """
        self._update_run(run, extensions=_json([one.model_dump() for one in extensions]))

    def drive_lock(self, run: str) -> AbstractContextManager[None]:
        """Be the only driver of a run while inside; a store in memory has no other.

        Raises:
            StorageError: Another driver has it; the message names its process.
        """
        return nullcontext() if self.file.path == MEMORY else drive_lock(Path(self.path), run)

    # --- turns ------------------------------------------------------------------------------------------------------

    def save_candidate(self, run: str, turn: int, candidate: Candidate) -> None:
        """Store a candidate of a turn, or what was judged of it since."""
        with self.file.transaction():
            row = {
                "run": run,
                "turn": turn,
                **candidate.model_dump(include={"attempt", "inconsistency", "comment"}),
                "content_id": self._contents.text_id(candidate.text),
                "reply": _json(candidate.reply.model_dump() | candidate.model_dump(include=_BESIDE_THE_REPLY)),
                "inconsistency_runs": _json(candidate.inconsistency_runs),
            }
            self._candidates.insert(row, replace=True)

    def candidates(self, run: str, turn: int) -> list[Candidate]:
        """Return the candidates of a turn in the order of their attempts."""
        rows = self._with_text(
            self._candidates.select(
                """LEFT JOIN contents ON contents.id = content_id
                JOIN lineage ON ancestor = candidates.run AND turn <= lineage.turns
                WHERE lineage.run = ? AND turn = ? ORDER BY attempt""",
                *(run, turn),
                also="hash, text",
            )
        )
        with storage_faults(self.path):
            return [
                _read(
                    Candidate,
                    row,
                    inconsistency_runs=json.loads(row["inconsistency_runs"]),
                    **_replied(row),
                )
                for row in rows
            ]

    def save_turn(self, run: str, record: TurnRecord) -> None:
        """Store a turn with how it came about, in one transaction; a turn that is stored already stays as it is."""
        row = {
            "run": run,
            **record.turn.model_dump(exclude={"text"}),
            **record.model_dump(exclude={"turn", "scores", "removed"}),
            "scored": record.scores is not None,
        }
        with self.file.transaction():
            row["content_id"] = self._contents.text_id(record.turn.text)
            if self._turns.insert(row):
                self._save_unit_scores(run, record)
                if record.turn.speaker is not None:
                    turn = record.turn
                    self._contents.save_passage(run, turn.turn, record.turn.speaker, "utterance", turn.text)

    def turns(self, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        """Return the turns `first` to `last` (inclusive; to the end if `None`).

        Raises:
            StorageError: One of them is missing, or has not all that was stored with it.
        """
        rows = self._turn_rows("AND turn >= ? AND (? IS NULL OR turn <= ?) ORDER BY turn", run, first, last, last)
        if any(after["turn"] != before["turn"] + 1 for before, after in pairwise(rows)):
            raise StorageError(DAMAGED.format(path=self.path, cause=f"run {run} has a gap in its turns"))
        if last is None:
            self._cognition.check_run(run)
        with storage_faults(self.path):
            return [_read(Turn, row) for row in rows]

    def turn_record(self, run: str, turn: int) -> TurnRecord:
        """Return how a turn came about.

        Raises:
            NotFoundError: There is no such turn.
        """
        rows = self._turn_rows("AND turn = ?", run, turn)
        if not rows:
            last = self.run(run).turns
            which = f"turns 1 to {last}" if last else "no turns yet"
            raise NotFoundError(f"run {run} has no turn {turn}; it has {which}")
        writer = rows[0]["run"]
        self._cognition.check_turn(writer, turn)
        units = self._unit_scores.select("WHERE run = ? AND turn = ? ORDER BY position", writer, turn)
        removed = sorted((unit for unit in units if unit["removed"]), key=lambda unit: int(unit["removed"]))
        scores = {unit["unit"]: unit["score"] for unit in units if unit["score"] is not None}
        with storage_faults(self.path):
            return _read(
                TurnRecord,
                rows[0],
                turn=_read(Turn, rows[0]),
                scores=scores if rows[0]["scored"] else None,
                removed=tuple(unit["unit"] for unit in removed),
            )

    # --- cognition --------------------------------------------------------------------------------------------------

    def save_step(self, run: str, round: int, agent: str, node: str, record: Record) -> None:
        """Store what a step of an agent's cognition came to, in place of what was stored under its key."""
        self._cognition.save_step(run, round, agent, node, record)

    def step(self, run: str, round: int, agent: str, node: str, kind: type[AnyRecord]) -> AnyRecord | None:
        """Return what that step came to, read as a record of that kind; `None` if it was not taken."""
        return self._cognition.step(run, round, agent, node, kind)

    def steps(self, run: str, node: str, kind: type[AnyRecord]) -> dict[tuple[int, str], AnyRecord]:
        """Return what a step came to wherever it was taken, by round and agent, in their order."""
        return self._cognition.steps(run, node, kind)

    def save_trace(self, run: str, turn: int, trace: Trace) -> None:
        """Store what was executed in a turn, in place of what was stored of it."""
        self._cognition.save_trace(run, turn, trace)

    def trace(self, run: str, turn: int) -> Trace | None:
        """Return what was executed in a turn; `None` if nothing is known of it."""
        return self._cognition.trace(run, turn)

    def save_calls(self, run: str, calls: Sequence[Call]) -> None:
        """Store calls of models, all of them or none; one whose key is stored takes that one's place."""
        self._journal.save_calls(run, calls)

    def call(self, run: str, round: int, agent: str, node: str, attempt: int) -> Call | None:
        """Return the call of that key that the run itself has made; `None` if it has not."""
        return self._journal.call(run, round, agent, node, attempt)

    def calls(self, run: str, round: int | None = None, own: bool = False) -> list[Call]:
        """Return the calls of a run, or of one of its rounds; `own`: without those that a fork has in common."""
        return self._journal.calls(run, round, own)

    # --- towns ------------------------------------------------------------------------------------------------------

    def recollect(self, stream: Stream, points: Sequence[Sequence[float]], parameters: Parameters) -> Recollection:
        """Return what of a stream is worth a closer look; a long one is not searched whole."""
        return self.simulations.recollect(stream, points, parameters)

    def remembered(self, stream: Stream, numbers: Sequence[int] | None = None) -> list[Remembered]:
        """Return memories of a stream in their order: those of these numbers, or all."""
        return self.simulations.remembered(stream, numbers)

    # --- checkpoints ------------------------------------------------------------------------------------------------

    def checkpoint_sizes(self) -> dict[str, int]:
        """Return the size of every run's LangGraph checkpoints in bytes, for those who have any, oldest run first."""
        if not self.file.rows("SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'"):
            return {}
        rows = self.file.rows(
            """SELECT runs.run, sum(length(checkpoint) + length(metadata)) AS size FROM runs
            JOIN checkpoints ON thread_id = runs.run GROUP BY runs.run ORDER BY runs.id"""
        )
        return {row["run"]: row["size"] for row in rows}

    def drop_checkpoints(self, runs: Iterable[str]) -> None:
        """Delete the LangGraph checkpoints of runs, and give their space back to the disk."""
        with self.file.transaction():
            for run in runs:
                self.file.write("DELETE FROM checkpoints WHERE thread_id = ?", run)
                self.file.write("DELETE FROM writes WHERE thread_id = ?", run)
        self.file.write("VACUUM")

    # --- rows -------------------------------------------------------------------------------------------------------

    def _save_unit_scores(self, run: str, record: TurnRecord) -> None:
        scores = record.scores or {}
        place = {unit: at for at, unit in enumerate(record.removed, start=1)}
        names = list(dict.fromkeys([*scores, *place]))
        if record.prompt is not None:
            order = {unit: at for at, unit in enumerate(self._contents.unit_names(record.prompt))}
            names.sort(key=lambda unit: order.get(unit, len(order)))
        self._unit_scores.insert_all(
            {
                "run": run,
                "turn": record.turn.turn,
                "position": position,
                "unit": unit,
                "score": scores.get(unit),
                "removed": place.get(unit, 0),
            }
            for position, unit in enumerate(names)
        )

    def _run_ids(self) -> list[str]:
        """Return all run ids, newest first."""
        return [row["run"] for row in self.file.rows("SELECT run FROM runs ORDER BY id DESC")]

    def _check_lineage(self, run: str, parent: str | None) -> None:
        """Check that a run has what it shares with its ancestors: readers join that table by its keys alone."""
        rows = self._lineage.select("WHERE run IN (?, ?)", run, parent)
        if 2 * sum(row["run"] == run for row in rows) != len(rows) + 1:  # one more than its parent
            raise StorageError(DAMAGED.format(path=self.path, cause=f"the lineage of run {run} is incomplete"))

    def _run_record(self, row: dict[str, Any]) -> RunRecord:
        with storage_faults(self.path):
            return _read(
                RunRecord,
                row,
                parameters=json.loads(row["parameters"]),
                participant_models=json.loads(row["participant_models"]),
                extensions=json.loads(row["extensions"]),
                parent=None if row["parent_run"] is None else (row["parent_run"], row["parent_turn"]),
            )

    def _update_run(self, run: str, **changes: Value) -> None:
        with self.file.transaction():
            rows = self._runs.select("WHERE run = ?", run)
            if not rows:
                raise NotFoundError(self._no_such_run(run, self._run_ids()))
            self._runs.update(rows[0], "run", **changes)

    def _turn_rows(self, which: str, *values: Value) -> list[dict[str, Any]]:
        return self._with_text(self._turns.select(f"{_TURNS} {which}", *values, also="hash, text"))

    def _with_text(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of which each has a text and its hash, verified."""
        for row in rows:
            if row["hash"] is None:
                raise StorageError(DAMAGED.format(path=self.path, cause="a text is missing"))
            verified(row["text"], row["hash"], self.path)
        return rows

    def _no_such_run(self, run: str, known: list[str]) -> str:
        if known:
            return f"no run {run!r} in {self.path}{nearest_hint(run, known[:LISTED])}"
        state = "does not exist yet" if self._is_missing else "holds no runs yet"
        return f"no run {run!r}: the store {self.path} {state}; begin with `tertulia run`, or give --store"


def _read(kind: type[AnyRecord], row: dict[str, Any], **given: Any) -> AnyRecord:
    """Return the record of a row; `given` are the fields that a column does not hold as they are."""
    return kind(**{name: row[name] for name in kind.model_fields if name in row} | given)


def _replied(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply of a candidate, and what stands beside it; older rows tell backups by their number alone."""
    kept: dict[str, Any] = {"origin": "backup" if row["attempt"] else "drawn"} | json.loads(row["reply"])
    beside = {name: kept.pop(name) for name in _BESIDE_THE_REPLY & set(kept)}
    return {"reply": Reply.model_validate(kept), **beside}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
