"""The record of an experiment in the store; a run that is a trial of one has its place in it (`Trial`)."""

from datetime import datetime
from typing import Any

from pydantic import Field

from tertulia.state.records import Record


class ExperimentRecord(Record):
    """An experiment in the store."""

    experiment: str
    definition: dict[str, Any] = Field(description="cases, settings and trials, as JSON (tertulia/lab/experiments/)")
    created: datetime
