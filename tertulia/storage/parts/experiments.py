"""Experiments of a store file, and calibrations of λ. The runs of an experiment are stored with the runs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tertulia.state.errors import NotFoundError, nearest_hint
from tertulia.state.experiment import ExperimentRecord
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.ids import LISTED
from tertulia.storage.parts.contents import Contents, at_one_moment
from tertulia.storage.tables import Table
from tertulia.storage.values import parsed, plain_json, record_of


class Experiments(Contents):
    """Experiments of a store file, by name, and calibrations, by the digest of their subject."""

    def save(self, name: str, definition: Mapping[str, Any]) -> None:
        """Store the definition of an experiment, replacing an earlier one."""
        table = Table(self.file, "experiments")
        with self.file.transaction():
            known = table.select("WHERE experiment = ?", name)
            created = known[0]["created"] if known else datetime.now(UTC).isoformat()
            table.insert({"experiment": name, "definition": plain_json(definition), "created": created}, replace=True)

    def all(self) -> list[ExperimentRecord]:
        """Return all experiments, newest first."""
        rows = Table(self.file, "experiments").select("ORDER BY created DESC, experiment")
        with record_faults(self.path):
            return [record_of(ExperimentRecord, row, definition=parsed(row["definition"])) for row in rows]

    def check_whole(self) -> None:
        """Raise `StorageError` if a trial's experiment is missing; a worker's shard has trials without experiments."""
        for lost in self._lost():
            raise damaged(self.path, f"experiment {lost!r}, of which there are trials, is missing")

    @at_one_moment
    def get(self, name: str) -> ExperimentRecord:
        """Return an experiment by name; `NotFoundError` if there is none."""
        known = {record.experiment: record for record in self.all()}
        if name in known:
            return known[name]
        if name in self._lost():
            raise NotFoundError(
                f"experiment {name!r} in {self.path} has trials and no definition any more; the command that ran it "
                "stores that again"
            )
        hint = nearest_hint(name, [*known][:LISTED])
        raise NotFoundError(f"no experiment {name!r} in {self.path}{hint}; `tertulia lab list` lists them")

    def _lost(self) -> list[str]:
        named = "SELECT DISTINCT experiment FROM runs WHERE experiment IS NOT NULL"
        rows = self.file.rows(f"{named} AND experiment NOT IN (SELECT experiment FROM experiments)")
        return [row["experiment"] for row in rows]

    def save_calibration(self, calibration: str, metric: str, curve: Mapping[str, Any]) -> None:
        """Store a calibration under the digest of its subject, replacing an earlier one."""
        row = {"calibration": calibration, "metric": metric, "curve": plain_json(curve)}
        with self.file.transaction():
            created = {"created": datetime.now(UTC).isoformat()}
            Table(self.file, "calibrations").insert(row | created, replace=True)

    def calibration(self, calibration: str) -> dict[str, Any] | None:
        """Return the curve that is stored under a digest; `None` if there is none."""
        rows = Table(self.file, "calibrations").select("WHERE calibration = ?", calibration)
        with record_faults(self.path):
            curve: dict[str, Any] | None = parsed(rows[0]["curve"]) if rows else None
        return curve
