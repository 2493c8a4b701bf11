"""Turns of a store file, and how each came about: candidates, scores, what was removed."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from state.errors import NotFoundError, StorageError
from state.records import Candidate, Reply, Turn, TurnRecord
from state.store import TurnStore
from storage.cognition import NO_LIMIT, Cognition
from storage.faults import DAMAGED, record_faults
from storage.runs import Runs
from storage.tables import Table
from storage.values import Value, parsed, plain_json, record_of

_OF_A_RUN = """LEFT JOIN contents ON contents.id = turns.content_id
    JOIN lineage ON ancestor = turns.run AND turns.turn <= lineage.turns WHERE lineage.run = ?"""

#: Fields of a candidate that stand in the JSON of its reply.
_STORED_WITH_REPLY = {"origin", "rewritable"}


class Turns(Runs, Cognition, TurnStore):
    """Turns of a store file."""

    @override
    def save_candidate(self, run: str, turn: int, candidate: Candidate) -> None:
        reply = candidate.reply.model_dump() | candidate.model_dump(include=_STORED_WITH_REPLY)
        with self.file.transaction():
            row = {
                "run": run,
                "turn": turn,
                **candidate.model_dump(include={"attempt", "inconsistency", "comment"}),
                "content_id": self.text_id(candidate.text),
                "reply": plain_json(reply),
                "inconsistency_runs": plain_json(candidate.inconsistency_runs),
            }
            Table(self.file, "candidates").insert(row, replace=True)

    @override
    def candidates(self, run: str, turn: int) -> list[Candidate]:
        rows = Table(self.file, "candidates").select(
            """LEFT JOIN contents ON contents.id = content_id
            JOIN lineage ON ancestor = candidates.run AND turn <= lineage.turns
            WHERE lineage.run = ? AND turn = ? ORDER BY attempt""",
            *(run, turn),
            also="hash, text",
        )
        with record_faults(self.path):
            return [
                record_of(Candidate, row, inconsistency_runs=parsed(row["inconsistency_runs"]), **_stored_reply(row))
                for row in self.verified_texts(rows)
            ]

    @override
    def save_turn(self, run: str, record: TurnRecord) -> None:
        turn = record.turn
        row = {
            "run": run,
            **turn.model_dump(exclude={"text"}),
            **record.model_dump(exclude={"turn", "scores", "removed"}),
            "scored": record.scores is not None,
        }
        with self.file.transaction():
            row["content_id"] = self.text_id(turn.text)
            if Table(self.file, "turns").insert(row):
                self._save_unit_scores(run, record)
                if turn.speaker is not None:
                    self.save_passage(run, turn.turn, turn.speaker, "utterance", turn.text)

    def _save_unit_scores(self, run: str, record: TurnRecord) -> None:
        scores = record.scores or {}
        removal_order = {unit: place for place, unit in enumerate(record.removed, start=1)}
        units = list(dict.fromkeys([*scores, *removal_order]))
        if record.prompt is not None:
            order = {unit: place for place, unit in enumerate(self.unit_names(record.prompt))}
            units.sort(key=lambda unit: order.get(unit, len(order)))
        rows = [
            {
                "run": run,
                "turn": record.turn.turn,
                "position": position,
                "unit": unit,
                "score": scores.get(unit),
                "removed": removal_order.get(unit, 0),
            }
            for position, unit in enumerate(units)
        ]
        Table(self.file, "unit_scores").insert_all(rows)

    @override
    def turns(self, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        # BETWEEN: an OR with NULL would have every later turn read.
        past_all = NO_LIMIT if last is None else last
        rows = self._turn_rows("AND turn BETWEEN ? AND ? ORDER BY turn", run, first, past_all)
        numbers = [row["turn"] for row in rows]
        if numbers != list(range(max(first, 1), max(first, 1) + len(rows))):
            raise StorageError(DAMAGED.format(path=self.path, cause=f"run {run} has a gap in its turns"))
        if last is None:
            self.check_run(run)
        with record_faults(self.path):
            return [record_of(Turn, row) for row in rows]

    @override
    def turn_record(self, run: str, turn: int) -> TurnRecord:
        rows = self._turn_rows("AND turn = ?", run, turn)
        if not rows:
            last = self.run(run).turns
            which = f"turns 1 to {last}" if last else "no turns yet"
            raise NotFoundError(f"run {run} has no turn {turn}; it has {which}")
        writer = rows[0]["run"]
        self.check_turn(writer, turn)
        units = Table(self.file, "unit_scores").select("WHERE run = ? AND turn = ? ORDER BY position", writer, turn)
        removed = sorted((unit for unit in units if unit["removed"]), key=lambda unit: int(unit["removed"]))
        scores = {unit["unit"]: unit["score"] for unit in units if unit["score"] is not None}
        with record_faults(self.path):
            return record_of(
                TurnRecord,
                rows[0],
                turn=record_of(Turn, rows[0]),
                scores=scores if rows[0]["scored"] else None,
                removed=tuple(unit["unit"] for unit in removed),
            )

    def _turn_rows(self, condition: str, *values: Value) -> list[dict[str, Any]]:
        rows = Table(self.file, "turns").select(f"{_OF_A_RUN} {condition}", *values, also="hash, text")
        return self.verified_texts(rows)


def _stored_reply(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply of a candidate and the fields stored with it; older rows tell backups by their number alone."""
    stored: dict[str, Any] = {"origin": "backup" if row["attempt"] else "drawn"} | parsed(row["reply"])
    fields = {name: stored.pop(name) for name in _STORED_WITH_REPLY & set(stored)}
    return {"reply": Reply.model_validate(stored), **fields}
