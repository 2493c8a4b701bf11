"""The place of trials: `--on`, `--workers`, `--shards` and `--scorers`."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.experiments.running import Executor
    from tertulia.runs.access.engines import ModelAccess
    from tertulia.runs.driving.limits import Limits
    from tertulia.runs.planning.additions import Additions

OnOption = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="local|ray[:ADDRESS]",
        help="Where trials run: on this machine, or on a Ray cluster (docs/clusters.md).",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="At most so many workers, each with models of its own and one thread; 1: this process, with all threads.",
    ),
]
ShardsOption = Annotated[
    str | None,
    typer.Option(
        "--shards",
        metavar="FOLDER",
        help="Where workers put what they have, until the store has it: a folder, or on Ray an address such as "
        "s3://bucket/folder. Else beside the store.",
    ),
]
ScorersOption = Annotated[
    int | None,
    typer.Option(
        "--scorers",
        metavar="N",
        min=1,
        help="On Ray: so many actors hold the surrogate of a served model, beside each worker; else the worker does.",
    ),
]


@dataclass(frozen=True)
class WhereOptions:
    """The place in which trials run."""

    on: OnOption = "local"
    workers: WorkersOption = None
    shards: ShardsOption = None
    scorers: ScorersOption = None

    def executor(
        self, store: SqlStore, access: "ModelAccess", additions: "Additions", limits: "Limits | None" = None
    ) -> "Executor":
        """Return the executor of trials; `UsageError` for an unknown place, or one without actors for the surrogate."""
        from tertulia.lab.executors.choosing import executor_of

        access = replace(access, scorers=self.scorers or 0)
        return executor_of(self.on, store, access, additions, self.workers, self.shards, limits)
