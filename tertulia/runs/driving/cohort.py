"""Driving the runs of a cohort side by side: their calls of models meet in batches (`models.cohort`).

The failure of a run stops that run alone; an interrupt or the common budget stops all of them.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from tertulia.runs.access.engines import Engines
from tertulia.runs.driving.collecting import seldom_collecting
from tertulia.runs.driving.driver import Ending, recorded_ending
from tertulia.runs.driving.events import Emit, RunEnded, RunStarted
from tertulia.runs.driving.interrupting import interruptible, run_or_abandon
from tertulia.runs.driving.limits import Limits, Look
from tertulia.runs.planning.starting import context_of
from tertulia.state.errors import TertuliaError
from tertulia.state.records import RunRecord

if TYPE_CHECKING:
    from tertulia.models.cohort import CohortBatches
    from tertulia.nodes.machinery.registry import Registry
    from tertulia.storage.sqlite.checkpoints import SynchronousSaver
    from tertulia.storage.store import SqlStore

#: A stored run with its models and its nodes.
OpenedRun = tuple[RunRecord, Engines, "Registry"]


def drive_cohort(
    store: "SqlStore", runs: Sequence[OpenedRun], emit: Emit, limits: Limits | None = None, look: Look | None = None
) -> None:
    """Drive runs side by side, each to its end, in this thread.

    Args:
        runs: All runs of the cohort that have not ended, in its order; they share models by identity.
        emit: Receives the events of all runs: `RunStarted` first and `RunEnded` last of each.
        limits: Their common budget; without them nothing is limited.
        look: Returns the name of the requester of a stop, if any.

    Raises:
        StorageError: Another process drives one of the runs; nothing is touched.
        StoppedError: The budget is spent, or a stop was requested; all are interrupted.
        KeyboardInterrupt: They were interrupted.
    """
    from tertulia.models.cohort import CohortBatches

    batches, limits = CohortBatches([run.run for run, *_ in runs], store), limits or Limits()
    with ExitStack() as locks:
        for run, *_ in runs:
            locks.enter_context(store.drive_lock(run.run))
        with interruptible(), limits.stopping(), seldom_collecting():
            run_or_abandon(_drive_all(store, runs, batches, emit, limits, look))


async def _drive_all(
    store: "SqlStore",
    runs: Sequence[OpenedRun],
    batches: "CohortBatches",
    emit: Emit,
    limits: Limits,
    look: Look | None,
) -> None:
    from tertulia.storage.checkpointing import checkpoints_of

    # One connection for all: hundreds would need as many files open as most systems allow a process.
    async with checkpoints_of(store) as checkpointer, limits.watching(look), asyncio.TaskGroup() as tasks:
        for run in runs:
            tasks.create_task(_drive(store, run, batches, checkpointer, emit, limits))


async def _drive(
    store: "SqlStore",
    opened: OpenedRun,
    batches: "CohortBatches",
    checkpointer: "SynchronousSaver",
    emit: Emit,
    limits: Limits,
) -> None:
    from tertulia.runs.driving.conversation import drive

    run, engines, registry = opened

    def report_end(ended: Ending) -> None:
        emit(RunEnded(run.run, ended.status, store.run(run.run).turns, ended.error, ended.by))

    try:
        recorded = recorded_ending(store, partial(store.set_status, run.run), report_end, limits.why)
        with suppress(TertuliaError), recorded as ending:
            context = context_of(store, run, engines, registry, batches)
            context.broker.use(limits)
            emit(RunStarted(run.run, store.run(run.run), context.start, tuple(store.turns(run.run))))
            ending.by = await drive(context, checkpointer, emit)
    finally:
        batches.leave(run.run)  # the others no longer wait for it, however it ended
