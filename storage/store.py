"""The store of runs: what was said in them, and how every turn came about. Implements `state.contracts.Store`.

1. Texts and prompts lie in `contents`, `units` and `prompts`, by the hash of what they say.
2. Runs, turns, scores, candidates, steps and calls have deterministic keys: written again, they change nothing.
3. A record that is read back equals the one that was written, to the last digit.
"""

import itertools
import json
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import TypeAdapter

from state.cognition import Call
from state.contracts import AnyRecord, Start
from state.errors import NotFoundError, StorageError, UsageError, nearest_hint
from state.records import Candidate, Prompt, Record, Reply, RunRecord, RunStatus, Turn, TurnRecord
from storage.cognition import Cognition
from storage.contents import Contents, verified
from storage.database import MEMORY, StoreFile, Value
from storage.faults import storage_faults
from storage.locks import drive_lock

#: Letters and digits that are not taken for one another.
RUN_ID_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"

LATEST = "@last"

#: Ids that an error lists, at most.
_LISTED = 20

_RUNS = """SELECT run, status, scenario, model, embedder, rehearsed, seed, parameters, voices, parent_run, parent_turn,
    error, created, (SELECT count(*) FROM turns WHERE turns.run = runs.run) AS turns FROM runs"""
_TURNS = """SELECT turn, round, speaker, sim_time_s, ended, prompt, scored, chosen, rollbacks, scored_by, judged_by,
    hash, text FROM turns JOIN contents ON contents.id = content_id WHERE run = ?"""
_CANDIDATES = """SELECT attempt, reply, inconsistency, inconsistency_runs, comment, hash, text
    FROM candidates JOIN contents ON contents.id = content_id WHERE run = ? AND turn = ? ORDER BY attempt"""


#: A case or a meeting, told apart by their fields.
_START: TypeAdapter[Start] = TypeAdapter(Start)


class SqliteStore:
    """A store in one SQLite file, through one connection; made and used in one thread.

    Attributes:
        path: The file as the user named it.
        file: The connection, for plain SQL.
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
        self._cognition = Cognition(file)

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
        taken = set(self._run_ids())
        names = ("".join(secrets.choice(RUN_ID_ALPHABET) for _ in range(4 + i // 8)) for i in itertools.count())
        return next(name for name in names if name not in taken)

    def create_run(self, run: RunRecord, start: Start) -> None:
        """Store a new run and what it starts from.

        Raises:
            StorageError: Another run has taken the id meanwhile.
        """
        parent_run, parent_turn = run.parent or (None, None)
        row = {
            **run.model_dump(include={"run", "status", "scenario", "model", "embedder", "rehearsed", "error"}),
            "seed": str(run.seed),
            "parameters": _json(run.parameters),
            "voices": _json({name: voice.model_dump(mode="json") for name, voice in run.voices.items()}),
            "parent_run": parent_run,
            "parent_turn": parent_turn,
            "created": run.created.isoformat(),
        }
        with self.file.transaction():
            row["case_id"] = self._contents.text_id(_json(start.model_dump(mode="json")))
            is_new = self._insert("runs", row)
        if not is_new and self.run(run.run).created != run.created:
            raise StorageError(f"another run in {self.path} has just taken the id {run.run}; start again")

    def run(self, run: str) -> RunRecord:
        """Return a run.

        Args:
            run: Its id, a unique beginning of it, or `@last` for the newest.

        Raises:
            NotFoundError: There is none.
            UsageError: Several ids begin like that.
        """
        known = self._run_ids()
        if run == LATEST:
            matching = known[:1]
        elif run in known:
            matching = [run]
        else:
            matching = [name for name in known if run and name.startswith(run)]
        if not matching:
            raise NotFoundError(self._no_such_run(run, known))
        if len(matching) > 1:
            listed = ", ".join(matching[:_LISTED]) + (", …" if len(matching) > _LISTED else "")
            raise UsageError(f"run {run!r} is ambiguous in {self.path}; it may be {listed}")
        (row,) = self.file.rows(f"{_RUNS} WHERE run = ?", matching[0])
        return self._run_record(row)

    def runs(self) -> list[RunRecord]:
        """Return all runs, newest first."""
        return [self._run_record(row) for row in self.file.rows(f"{_RUNS} ORDER BY id DESC")]

    def start(self, run: str) -> Start:
        """Return the case, or the meeting, that a run starts from.

        Raises:
            NotFoundError: There is no such run.
        """
        rows = self._rows_with_text(
            "SELECT hash, text FROM runs JOIN contents ON contents.id = case_id WHERE run = ?", run
        )
        if not rows:
            raise NotFoundError(self._no_such_run(run, self._run_ids()))
        with storage_faults(self.path):
            return _START.validate_python(json.loads(rows[0]["text"]))

    def set_status(self, run: str, status: RunStatus, error: str | None = None) -> None:
        """Note how a run stands.

        Raises:
            NotFoundError: There is no such run.
        """
        if not self.file.write("UPDATE runs SET status = ?, error = ? WHERE run = ?", status, error, run).rowcount:
            raise NotFoundError(self._no_such_run(run, self._run_ids()))

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
            self.file.write(
                """INSERT OR REPLACE INTO candidates
                (run, turn, attempt, content_id, reply, inconsistency, inconsistency_runs, comment)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                run,
                turn,
                candidate.attempt,
                self._contents.text_id(candidate.text),
                _json(candidate.reply.model_dump()),
                candidate.inconsistency,
                _json(candidate.inconsistency_runs),
                candidate.comment,
            )

    def candidates(self, run: str, turn: int) -> list[Candidate]:
        """Return the candidates of a turn in the order of their attempts."""
        rows = self._rows_with_text(_CANDIDATES, run, turn)
        with storage_faults(self.path):
            return [
                _read(
                    Candidate,
                    row,
                    reply=Reply.model_validate(json.loads(row["reply"])),
                    inconsistency_runs=json.loads(row["inconsistency_runs"]),
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
            if self._insert("turns", row):
                self._save_unit_scores(run, record)

    def turns(self, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        """Return the turns `first` to `last` (inclusive; to the end if `None`)."""
        rows = self._rows_with_text(
            f"{_TURNS} AND turn >= ? AND (? IS NULL OR turn <= ?) ORDER BY turn", run, first, last, last
        )
        with storage_faults(self.path):
            return [_read(Turn, row) for row in rows]

    def turn_record(self, run: str, turn: int) -> TurnRecord:
        """Return how a turn came about.

        Raises:
            NotFoundError: There is no such turn.
        """
        rows = self._rows_with_text(f"{_TURNS} AND turn = ?", run, turn)
        if not rows:
            (stored,) = self.file.rows("SELECT min(turn) AS first, max(turn) AS last FROM turns WHERE run = ?", run)
            which = "no turns yet" if stored["first"] is None else f"turns {stored['first']} to {stored['last']}"
            raise NotFoundError(f"run {run} has no turn {turn}; it has {which}")
        units = self.file.rows(
            "SELECT unit, score, removed FROM unit_scores WHERE run = ? AND turn = ? ORDER BY position", run, turn
        )
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

    def save_calls(self, run: str, calls: Sequence[Call]) -> None:
        """Store calls of models, all of them or none; one that is stored already stays as it is."""
        self._cognition.save_calls(run, calls)

    def call(self, run: str, round: int, agent: str, node: str, attempt: int) -> Call | None:
        """Return the call of that key; `None` if it was not made."""
        return self._cognition.call(run, round, agent, node, attempt)

    def calls(self, run: str, round: int | None = None) -> list[Call]:
        """Return the calls of a run, or of one of its rounds, in the order in which they were stored."""
        return self._cognition.calls(run, round)

    # --- rows -------------------------------------------------------------------------------------------------------

    def _save_unit_scores(self, run: str, record: TurnRecord) -> None:
        scores = record.scores or {}
        place = {unit: at for at, unit in enumerate(record.removed, start=1)}
        names = list(dict.fromkeys([*scores, *place]))
        if record.prompt is not None:
            order = {unit: at for at, unit in enumerate(self._contents.unit_names(record.prompt))}
            names.sort(key=lambda unit: order.get(unit, len(order)))
        for position, unit in enumerate(names):
            self._insert(
                "unit_scores",
                {
                    "run": run,
                    "turn": record.turn.turn,
                    "position": position,
                    "unit": unit,
                    "score": scores.get(unit),
                    "removed": place.get(unit, 0),
                },
            )

    def _insert(self, table: str, row: dict[str, Any]) -> bool:
        """Insert a row unless there is one of that key; return whether it was inserted."""
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        sql = f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        return self.file.write(sql, *row.values()).rowcount > 0

    def _run_ids(self) -> list[str]:
        """Return all run ids, newest first."""
        return [row["run"] for row in self.file.rows("SELECT run FROM runs ORDER BY id DESC")]

    def _run_record(self, row: dict[str, Any]) -> RunRecord:
        with storage_faults(self.path):
            return _read(
                RunRecord,
                row,
                parameters=json.loads(row["parameters"]),
                voices=json.loads(row["voices"]),
                parent=None if row["parent_run"] is None else (row["parent_run"], row["parent_turn"]),
            )

    def _rows_with_text(self, sql: str, *values: Value) -> list[dict[str, Any]]:
        """Return rows of which each has a text and its hash, verified."""
        rows = self.file.rows(sql, *values)
        for row in rows:
            verified(row["text"], row["hash"], self.path)
        return rows

    def _no_such_run(self, run: str, known: list[str]) -> str:
        if known:
            return f"no run {run!r} in {self.path}{nearest_hint(run, known[:_LISTED])}"
        state = "does not exist yet" if self._is_missing else "holds no runs yet"
        return f"no run {run!r}: the store {self.path} {state}; begin with `polylogue run`, or give --store"


def _read(kind: type[AnyRecord], row: dict[str, Any], **given: Any) -> AnyRecord:
    """Return the record of a row; `given` are the fields that a column does not hold as they are."""
    return kind(**{name: row[name] for name in kind.model_fields if name in row} | given)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
