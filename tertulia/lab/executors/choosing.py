"""From the options of a command to an executor."""

from tertulia.lab.executors.local import LocalExecutor
from tertulia.lab.experiments.running import Executor
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.limits import Limits
from tertulia.runs.files.shard_files import is_address, shown
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore

LOCAL, RAY = "local", "ray"


def executor_of(
    on: str,
    store: SqlStore,
    access: ModelAccess,
    additions: Additions = NOTHING_ADDED,
    workers: int | None = None,
    shards: str | None = None,
    limits: Limits | None = None,
) -> Executor:
    """Return the executor of a place.

    Args:
        on: `local`, `ray` (a known cluster, or else this machine as one), or `ray:ADDRESS`.
        workers: The most workers; `None` for a suitable number.
        shards: The folder for shards, on Ray also an address; `None` for a folder beside the store.
        limits: The most that all trials together may spend; without them nothing is limited.

    Raises:
        UsageError: There is no such place, shards can't lie there, or it has no actors for the surrogate.
    """
    limits = limits or Limits()
    kind, _, address = on.partition(":")
    if access.scorers and kind != RAY:
        raise UsageError(f"--scorers {access.scorers}: they are actors of Ray; take --on ray too")
    if on == LOCAL:
        if shards is not None and is_address(shards):
            raise UsageError(
                f"--shards {shown(shards)}: workers of this machine need a folder; an address is for --on ray"
            )
        return LocalExecutor(store, access, additions, workers, shards, limits)
    if kind == RAY and (address or on == RAY):
        from tertulia.lab.executors.ray_cluster import RayExecutor

        return RayExecutor(store, access, additions, workers, address or None, shards, limits)
    raise UsageError(f"--on {on}: trials run on local, ray, or ray:ADDRESS such as ray:10.0.0.5:6379")
