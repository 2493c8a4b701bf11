"""The rows of many turns of a run, read by a statement for each table, and the documents of their records.

A comparison of runs reads thousands of turns: a record is checked with all others of its kind at once, and replies of
calls are read only when they are asked for.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tertulia.state.cognition import Call
from tertulia.state.records import LONGEST_S, Candidate, Record, TurnRecord
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.parts.contents import at_one_moment
from tertulia.storage.parts.journal import Journal, call_faults, call_fields
from tertulia.storage.parts.turns import candidate_fields, unit_fields
from tertulia.storage.tables import select_tuples
from tertulia.storage.values import listed, parsed

Row = dict[str, Any]

#: The tables that are read, each with the column that numbers the turn, and the order of its rows.
_READ = {
    "turns": ("turn", "turn"),
    "parts": ("turn", "turn, part"),
    "candidates": ("turn", "turn, part, attempt"),
    "unit_scores": ("turn", "turn, part, position"),
    "steps": ("round", "round, agent, depth DESC"),  # a fork may have prepared an agent anew: its own row is the last
    "calls": ("round", "depth DESC, calls.id"),
}

#: The columns that point to a text.
_TEXT = {"turns": "content_id", "parts": "content_id", "candidates": "content_id", "calls": "parameters_id"}

#: The key that tells the utterances of a run and its ancestors from each other.
_Key = tuple[str, int, str]


@dataclass(frozen=True)
class TurnRows:
    """The rows of some turns of a run, each as it was written, by table; and the texts that they point to, by row.

    Attributes:
        path: The store that messages name.
    """

    rows: Mapping[str, Sequence[Row]]
    texts: Mapping[int, str]
    path: Any

    def utterances(self) -> Iterator[tuple[int, str, Row, list[Row]]]:
        """Yield turn, part, the document of the `TurnRecord`, and those of its candidates in their order."""
        of_turns, of_parts = self.rows["turns"], self.rows["parts"]
        with record_faults(self.path):
            own = {row["turn"]: self._turn(row) for row in of_turns}
            parts = [own[row["turn"]] | {"speaker": row["speaker"], "text": self._text(row)} for row in of_parts]
            records = self._records([*of_turns, *of_parts], [*own.values(), *parts])
            candidates = self._candidates()
        for row, record in zip((*of_turns, *of_parts), records, strict=True):
            key = _utterance(row)
            yield key[1], key[2], record, candidates.get(key, [])

    def _turn(self, row: Row) -> Row:
        return {name: row[name] for name in ("turn", "round", "speaker", "sim_time_s", "ended")} | {
            "text": self._text(row)
        }

    def _records(self, rows: Sequence[Row], turns: Sequence[Row]) -> list[Row]:
        units: dict[_Key, list[Row]] = {}
        for row in self.rows["unit_scores"]:
            units.setdefault(_utterance(row), []).append(row)
        names = [name for name in TurnRecord.model_fields if name not in ("turn", "scores", "removed", "line_scores")]
        given = [
            {**{name: row[name] for name in names}, "turn": turn, **unit_fields(row, units.get(_utterance(row), ()))}
            for row, turn in zip(rows, turns, strict=True)
        ]
        if not all(map(_is_as_its_document, given)):
            return documents_of(TurnRecord, given)
        for record in given:
            record["removed"] = [*record["removed"]]
            record["turn"]["ended"] = bool(record["turn"]["ended"])
        return given

    def _candidates(self) -> dict[_Key, list[Row]]:
        rows = self.rows["candidates"]
        documents = documents_of(Candidate, [{**candidate_fields(row), "text": self._text(row)} for row in rows])
        found: dict[_Key, list[Row]] = {}
        for row, document in zip(rows, documents, strict=True):
            found.setdefault(_utterance(row), []).append(document)
        return found

    def _text(self, row: Row) -> str:
        return self.texts[row["content_id"]]

    def steps(self, node: str, kind: type[Record]) -> dict[tuple[int, str], Row]:
        """Return the documents of the steps of a node, by round and agent, in this order."""
        rows = [row for row in self.rows["steps"] if row["node"] == node]
        with record_faults(self.path):
            documents = documents_of(kind, [parsed(row["record"]) for row in rows])
        return {(row["round"], row["agent"]): document for row, document in zip(rows, documents, strict=True)}

    def calls(self, rows: Sequence[Row]) -> list[Row]:
        """Return the documents of calls, given by their rows, without their keys and durations."""
        with call_faults(self.path):
            given = [call_fields(row, self.texts.get(row["parameters_id"], "")) for row in rows]  # "" does not read
            return documents_of(Call, given, {"round", "agent", "node", "attempt", "seconds"})


class TurnRowsStore(Journal):
    """Reads the turns of a store as rows."""

    @at_one_moment
    def turn_rows(self, run: str, first: int, last: int) -> TurnRows:
        """Return the rows of the turns `first` to `last` of a run, and of its preparation if `first` is 0.

        Raises:
            StorageError: A row is damaged or missing, or a text that it points to.
        """
        self.check_run(run, first, last, ("unit_scores", "candidates", "parts", "steps", "calls"))
        rows = {table: self._rows_between(table, run, first, last) for table in _READ}
        texts = self._texts({row[column] for table, column in _TEXT.items() for row in rows[table]} - {None})
        return TurnRows(rows, texts, self.path)

    def _rows_between(self, table: str, run: str, first: int, last: int) -> list[Row]:
        number, order = _READ[table]
        limit = "turns" if number == "turn" else "rounds"
        found = select_tuples(
            self.file,
            table,
            f"""JOIN lineage ON ancestor = {table}.run AND {table}.{number} <= lineage.{limit}
            WHERE lineage.run = ? AND {table}.{number} BETWEEN ? AND ? ORDER BY {order}""",
            *(run, first, last),
        )
        return [dict(zip(found.names, row, strict=False)) for row in found.values]  # without the checksum

    def _texts(self, ids: set[int]) -> dict[int, str]:
        listed = f"FROM contents WHERE id IN {self.file.dialect.given_counts}"
        rows = self.file.rows(f"SELECT id, hash, text {listed}", json.dumps(sorted(ids)))
        if len(rows) != len(ids):
            raise damaged(self.path, "a text is missing")
        return {row["id"]: row["text"] for row in self.verified_texts(rows)}


def documents_of(kind: type[Record], given: Sequence[Mapping[str, Any]], without: Collection[str] = ()) -> list[Row]:
    """Return records as JSON has them, after all were checked at once, without some of their fields."""
    adapter = listed(kind)
    exclude = {"__all__": {*without}}
    documents: list[Row] = adapter.dump_python(adapter.validate_python(given), mode="json", exclude=exclude)
    return documents


def _is_as_its_document(given: Row) -> bool:
    """Return whether a `TurnRecord` of these fields has them as they are, by their ranges; rows tell their kinds."""
    turn, scores = given["turn"], given["scores"]
    return (
        turn["turn"] >= 0
        and turn["round"] >= 0
        and type(turn["sim_time_s"]) is float
        and 0 <= turn["sim_time_s"] <= LONGEST_S
        and turn["ended"] in (0, 1)
        and given["rollbacks"] >= 0
        and (not scores or all(type(score) is float for score in scores.values()))
    )


def _utterance(row: Row) -> _Key:
    return row["run"], row["turn"], row.get("part", "")
