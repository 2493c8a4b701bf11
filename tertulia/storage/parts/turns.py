"""Turns of a store file, their parts, and how each came about: candidates, scores, removed units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from tertulia.state.errors import NotFoundError
from tertulia.state.line_edit import EDITED_ATTEMPT
from tertulia.state.records import Candidate, Turn, TurnRecord
from tertulia.state.store import TurnStore
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.parts.cognition import NO_LIMIT, Cognition
from tertulia.storage.parts.contents import WITH_TEXT, at_one_moment
from tertulia.storage.parts.runs import Runs
from tertulia.storage.tables import Table
from tertulia.storage.values import Value, parsed, plain_json, record_of, records_of

#: SQL for the rows of a run and of its ancestors, in a table whose rows belong to a turn.
_OF_A_RUN = "JOIN lineage ON ancestor = {0}.run AND {0}.turn <= lineage.turns WHERE lineage.run = ?"

#: Fields of a candidate that the JSON of its reply holds.
_STORED_WITH_REPLY = {"origin", "rewritable", "faults", "probability", "string_seed", "remark"}

#: Parts that other agents do not hear. A search finds them among thoughts.
_SILENT = {"plan"}


@dataclass(frozen=True)
class TurnSummary:
    """How a turn came about, in figures.

    Attributes:
        by_hand: Whether a person wrote it: it has words and no prompt.
        edited: Whether a person rewrote a model's line before it was said.
        removal_factor: λ as it was in force; `None` if nothing was scored.
        removable: The removable items of its prompt; `None` if nothing was scored.
        removed: How many of them were removed; `None` if nothing was scored.
    """

    by_hand: bool
    edited: bool
    rollbacks: int
    removal_factor: float | None
    removable: int | None
    removed: int | None


class Turns(Runs, Cognition, TurnStore):
    """Turns of a store file."""

    # --- candidates -------------------------------------------------------------------------------------------------

    @override
    def save_candidate(self, run: str, turn: int, candidate: Candidate, part: str = "") -> None:
        row = candidate_row(run, turn, part, candidate)
        with self.file.joined():
            Table(self.file, "candidates").insert(row | {"content_id": self.text_id(candidate.text)}, replace=True)

    @override
    def candidates(self, run: str, turn: int, part: str = "") -> list[Candidate]:
        rows = Table(self.file, "candidates").select(
            # BETWEEN: with `=`, SQLite reads all turns up to the last that the lineage allows.
            f"{WITH_TEXT} {_OF_A_RUN.format('candidates')} AND turn BETWEEN ? AND ? AND part = ? ORDER BY attempt",
            *(run, turn, turn, part),
            also="hash, text",
        )
        with record_faults(self.path):
            return self._read_candidates(rows)

    def _read_candidates(self, rows: Sequence[dict[str, Any]]) -> list[Candidate]:
        return [record_of(Candidate, row, **candidate_fields(row)) for row in self.verified_texts([*rows])]

    # --- turns and their parts --------------------------------------------------------------------------------------

    @override
    def save_turn(self, run: str, record: TurnRecord, parts: Mapping[str, TurnRecord] | None = None) -> None:
        with self.file.joined():
            if self._save_utterance("turns", {"run": run, **record.turn.model_dump(exclude={"text"})}, record):
                for part, utterance in (parts or {}).items():
                    # Round and time of a part are the turn's.
                    key = {"run": run, "turn": record.turn.turn, "part": part}
                    self._save_utterance("parts", {**key, "speaker": utterance.turn.speaker}, utterance)

    def _save_utterance(self, table: str, row: dict[str, Any], record: TurnRecord) -> bool:
        """Insert a row of `turns` or `parts` with its further rows; return `False` if it was stored before."""
        part = row.get("part", "")
        row |= record.model_dump(exclude={"turn", "scores", "removed", "line_scores"})
        row |= {"content_id": self.text_id(record.turn.text), "scored": record.scores is not None}
        row |= {"line_scores": None if record.line_scores is None else plain_json(record.line_scores)}
        if not Table(self.file, table).insert_new(row):
            return False
        self._save_unit_scores({"run": row["run"], "turn": row["turn"], "part": part}, record)
        if row["speaker"] is not None:
            kind = "thought" if part in _SILENT else "utterance"
            self.save_passage(row["run"], row["turn"], row["speaker"], kind, record.turn.text)
        return True

    def _save_unit_scores(self, utterance: Mapping[str, Value], record: TurnRecord) -> None:
        scores = record.scores or {}
        removal_order = {unit: place for place, unit in enumerate(record.removed, start=1)}
        units = list(dict.fromkeys([*scores, *removal_order]))
        if not units:
            return
        if record.prompt is not None:
            order = {unit: place for place, unit in enumerate(self.unit_names(record.prompt))}
            units.sort(key=lambda unit: order.get(unit, len(order)))
        Table(self.file, "unit_scores").insert_all(
            {
                **utterance,
                "position": position,
                "unit": unit,
                "score": scores.get(unit),
                "removed": removal_order.get(unit, 0),
            }
            for position, unit in enumerate(units)
        )

    @at_one_moment
    @override
    def turns(self, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        rows = self._utterances("turns", run, first, last)
        numbers = [row["turn"] for row in rows]
        after = max(first, 1) + len(rows)
        is_short = last is not None and after <= last
        if numbers != list(range(after - len(rows), after)) or (is_short and self._has_turns(run, after)):
            raise damaged(self.path, f"run {run} has a gap in its turns")
        if last is None:
            self.check_run(run)
            if not rows and self.file.rows("SELECT 1 FROM turns WHERE run = ? AND turn >= ? LIMIT 1", run, first):
                raise damaged(self.path, f"the lineage of run {run} is incomplete")
        with record_faults(self.path):
            return records_of(Turn, rows)

    def _has_turns(self, run: str, first: int) -> bool:
        return bool(
            self.file.rows(f"SELECT 1 FROM turns {_OF_A_RUN.format('turns')} AND turn >= ? LIMIT 1", run, first)
        )

    @at_one_moment
    @override
    def part_turns(
        self, run: str, first: int = 1, last: int | None = None, of: Sequence[Turn] | None = None
    ) -> dict[tuple[int, str], Turn]:
        turns = {turn.turn: turn for turn in (self.turns(run, first, last) if of is None else of)}
        rows = self._utterances("parts", run, first, last)
        with record_faults(self.path):
            given = [turns[row["turn"]].__dict__ | {"speaker": row["speaker"], "text": row["text"]} for row in rows]
            parts = records_of(Turn, given)
        return {(row["turn"], row["part"]): part for row, part in zip(rows, parts, strict=True)}

    def _utterances(self, table: str, run: str, first: int, last: int | None) -> list[dict[str, Any]]:
        # BETWEEN: an OR with NULL would have every later turn read.
        past_all = NO_LIMIT if last is None else last
        of_run = f"{WITH_TEXT} {_OF_A_RUN.format(table)} AND turn BETWEEN ? AND ? ORDER BY turn"
        return self.verified_texts(Table(self.file, table).select(of_run, run, first, past_all, also="hash, text"))

    @at_one_moment
    @override
    def turn_record(self, run: str, turn: int) -> TurnRecord:
        row = self._whole_turn(run, turn)
        with record_faults(self.path):
            return self._record_of(row, record_of(Turn, row))

    @at_one_moment
    def summaries(self, run: str, first: int = 1, last: int | None = None) -> dict[int, TurnSummary]:
        """Return how the turns from `first` on came about, in figures, by turn: a few queries for all of them."""
        key = (run, first, NO_LIMIT if last is None else last)
        self.check_run(*key, ("unit_scores",))
        rows = Table(self.file, "turns").select(f"{_OF_A_RUN.format('turns')} AND turn BETWEEN ? AND ?", *key)
        removed: dict[int, set[str]] = {}
        of_run = f"{_OF_A_RUN.format('unit_scores')} AND turn BETWEEN ? AND ? AND part = '' AND removed > 0"
        for unit in Table(self.file, "unit_scores").select(of_run, *key):
            removed.setdefault(unit["turn"], set()).add(unit["unit"])
        names = self.removable_units({row["prompt"] for row in rows if row["scored"] and row["prompt"]})
        return {row["turn"]: _summary(row, names.get(row["prompt"]), removed.get(row["turn"], set())) for row in rows}

    @at_one_moment
    @override
    def parts(self, run: str, turn: int) -> dict[str, TurnRecord]:
        whole = self._whole_turn(run, turn)
        rows = Table(self.file, "parts").select(
            f"{WITH_TEXT} WHERE run = ? AND turn = ? ORDER BY part", whole["run"], turn, also="hash, text"
        )
        with record_faults(self.path):
            own = record_of(Turn, whole)
            return {row["part"]: self._record_of(row, _part_turn(own, row)) for row in self.verified_texts(rows)}

    @at_one_moment
    def scorings(self, prompt: str, turn: int, part: str = "") -> dict[str, str]:
        """Return by scorer the first run that scored a prompt in a turn of this number.

        Args:
            turn: The number of the turn: forks and trials that share a prompt have it at the same place.
            part: The part of the turn; empty for the turn's own utterance.
        """
        table, of_part, values = ("parts", "AND part = ?", (part,)) if part else ("turns", "", ())
        self.check_all_rows(table)
        rows = self.file.rows(
            # CROSS JOIN: a look into each run's key; else SQLite would read every turn of the store.
            f"""SELECT scored_by, runs.run FROM (
                SELECT scored_by, min(runs.id) AS id FROM runs CROSS JOIN {table} WHERE {table}.run = runs.run
                AND turn = ? AND prompt = ? AND scored > 0 {of_part} AND scored_by IS NOT NULL GROUP BY scored_by
            ) AS scorings JOIN runs ON runs.id = scorings.id ORDER BY runs.id""",
            *(turn, prompt, *values),
        )
        return {row["scored_by"]: row["run"] for row in rows}

    def _whole_turn(self, run: str, turn: int) -> dict[str, Any]:
        """Return the row of a turn after checking that no row of the turn is missing."""
        rows = self._utterances("turns", run, turn, turn)
        if not rows:
            last = self.run(run).turns
            which = f"turns 1 to {last}" if last else "no turns yet"
            raise NotFoundError(f"run {run} has no turn {turn}; it has {which}")
        self.check_turn(rows[0]["run"], turn)
        return rows[0]

    def _record_of(self, row: Mapping[str, Any], turn: Turn) -> TurnRecord:
        units = Table(self.file, "unit_scores").select(
            "WHERE run = ? AND turn = ? AND part = ? ORDER BY position", row["run"], row["turn"], row.get("part", "")
        )
        return record_of(TurnRecord, row, turn=turn, **unit_fields(row, units))


def unit_fields(row: Mapping[str, Any], units: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the unit fields of a `TurnRecord`: its scores, its removed units, the line's scores."""
    removed = sorted((unit for unit in units if unit["removed"]), key=lambda unit: int(unit["removed"]))
    scores = {unit["unit"]: unit["score"] for unit in units if unit["score"] is not None}
    return {
        "scores": scores if row["scored"] else None,
        "removed": tuple(unit["unit"] for unit in removed),
        "line_scores": None if row["line_scores"] is None else parsed(row["line_scores"]),
    }


def candidate_row(run: str, turn: int, part: str, candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as its row, without the row of its text."""
    reply = candidate.reply.model_dump() | candidate.model_dump(include=_STORED_WITH_REPLY)
    return {
        **{"run": run, "turn": turn, "part": part},
        **candidate.model_dump(include={"attempt", "inconsistency", "comment"}),
        "reply": plain_json(reply),
        "inconsistency_runs": plain_json(candidate.inconsistency_runs),
    }


def _summary(row: Mapping[str, Any], removable: list[str] | None, removed: set[str]) -> TurnSummary:
    return TurnSummary(
        by_hand=row["speaker"] is not None and row["prompt"] is None,
        edited=row["chosen"] == EDITED_ATTEMPT,
        rollbacks=row["rollbacks"],
        removal_factor=row["removal_factor"],
        removable=None if removable is None else len(removable),
        removed=None if removable is None else len(removed.intersection(removable)),
    )


def _part_turn(turn: Turn, row: Mapping[str, Any]) -> Turn:
    return Turn(**{**dict(turn), "speaker": row["speaker"], "text": row["text"]})


def candidate_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Candidate` in its row but its text."""
    stored: dict[str, Any] = parsed(row["reply"])
    fields = {name: stored.pop(name) for name in _STORED_WITH_REPLY & set(stored)}
    own = {name: row[name] for name in ("attempt", "inconsistency", "comment")}
    return {**own, "inconsistency_runs": parsed(row["inconsistency_runs"]), "reply": stored, **fields}
