"""What models answered when they were asked about stored conversations; no part of what the runs themselves hold."""

import json
from typing import Any

from state.annotation import Annotation, Instrument
from state.errors import StorageError
from storage.database import StoreFile
from storage.faults import DAMAGED
from storage.tables import Table
from storage.values import json_text


class Annotations:
    """The part of a store file that holds readings; the key of each is (run, instrument, model, agent, first, part)."""

    def __init__(self, file: StoreFile) -> None:
        self._file, self._table = file, Table(file, "annotations")

    def save(self, run: str, readings: list[Annotation]) -> None:
        """Store readings, all of them or none; one whose key is stored takes that one's place."""
        with self._file.transaction():
            for reading in readings:
                row = {"run": run, **reading.model_dump(), "answers": json_text(reading.answers)}
                self._table.insert(row, replace=True)

    def of(self, run: str, instrument: Instrument | None = None) -> list[Annotation]:
        """Return the readings of a run; a fork has those of the turns that it has in common with its parent.

        Args:
            run: The run.
            instrument: What was asked; `None` for all.
        """
        rows = self._table.select(
            """JOIN lineage ON ancestor = annotations.run AND last <= turns
            WHERE lineage.run = ? AND (? IS NULL OR instrument = ?)
            ORDER BY instrument, model, first, agent, part, depth DESC""",
            *(run, instrument, instrument),
        )
        readings = [self._reading(row) for row in rows]
        return list({(r.instrument, r.model, r.agent, r.first, r.part): r for r in readings}.values())

    def _reading(self, row: dict[str, Any]) -> Annotation:
        try:
            known = {name: row[name] for name in Annotation.model_fields}
            return Annotation(**known | {"answers": json.loads(row["answers"])})
        except ValueError as error:
            cause = f"a reading does not read: {str(error).splitlines()[0]}"
            raise StorageError(DAMAGED.format(path=self._file.path, cause=cause)) from error
