"""Annotations: models' answers about stored conversations. They are no part of the runs."""

from typing import Any

from tertulia.state.annotation import Annotation, Instrument
from tertulia.state.text import first_line
from tertulia.storage.contract import Database
from tertulia.storage.faults import damaged
from tertulia.storage.tables import Table
from tertulia.storage.values import json_text, parsed, record_of

#: The key of the probabilities in the column of the answers, if there are some: no answer is a mapping.
_PROBABILITIES = "probabilities"


class Annotations:
    """Annotations of a store file; the key of each is (run, instrument, model, agent, first, part)."""

    def __init__(self, file: Database) -> None:
        self._file, self._table = file, Table(file, "annotations")

    def save(self, run: str, annotations: list[Annotation]) -> None:
        """Store annotations, all of them or none, each in place of the one with its key."""
        with self._file.transaction():
            rows = [{"run": run, **_columns(given)} for given in annotations]
            self._table.insert_all(rows, replace=True)

    def of(self, run: str, instrument: Instrument | None = None) -> list[Annotation]:
        """Return the annotations of a run; a fork has those of the turns that it has in common with its parent."""
        return self._of(run, "CAST(? AS TEXT) IS NULL OR instrument = ?", instrument, instrument)

    def of_turn(self, run: str, turn: int, *instruments: Instrument) -> list[Annotation]:
        """Return those by some instruments that begin with a turn."""
        return self._of(run, f"first = ? AND instrument IN ({', '.join('?' * len(instruments))})", turn, *instruments)

    def _of(self, run: str, which: str, *values: int | str | None) -> list[Annotation]:
        rows = self._table.select(
            f"""JOIN lineage ON ancestor = annotations.run AND last <= turns
            WHERE lineage.run = ? AND ({which})
            ORDER BY instrument, model, first, agent, part, depth DESC""",
            *(run, *values),
        )
        found = [self._annotation(row) for row in rows]
        return list({(a.instrument, a.model, a.agent, a.first, a.part): a for a in found}.values())

    def _annotation(self, row: dict[str, Any]) -> Annotation:
        try:
            answers = parsed(row["answers"])
            probabilities = answers.pop(_PROBABILITIES) if isinstance(answers.get(_PROBABILITIES), dict) else {}
            return record_of(Annotation, row, answers=answers, probabilities=probabilities)
        except (ValueError, TypeError, AttributeError) as error:
            raise damaged(self._file.path, f"an annotation does not read: {first_line(error)}") from error


def _columns(given: Annotation) -> dict[str, Any]:
    beside = {_PROBABILITIES: given.probabilities} if given.probabilities else {}
    return {**given.model_dump(exclude={_PROBABILITIES}), "answers": json_text({**given.answers, **beside})}
