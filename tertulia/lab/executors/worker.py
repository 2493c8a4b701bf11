"""Workers on any machine: they open models once, and drive cohorts, each in a shard of its own."""

from dataclasses import replace
from pathlib import Path

from tertulia.lab.executors.messages import Assignment, Setup
from tertulia.lab.experiments.cohorts import check_settings, drive_task
from tertulia.lab.experiments.shards import worker_lock
from tertulia.models.local.threads import use_threads
from tertulia.runs.driving.events import Emit, Event, StepStarted
from tertulia.runs.driving.limits import Limits
from tertulia.storage.store import SqlStore

#: Threads that a worker computes with, so that figures do not depend on how many workers there are.
THREADS = 1


class Worker:
    """Drives cohorts with models that are opened once."""

    def __init__(self, setup: Setup) -> None:
        """Open the models of all settings.

        Raises:
            UsageError: A model can't do as a setting asks.
            TertuliaError: A model can't be opened here.
        """
        use_threads(THREADS)
        self._setup = replace(setup, access=setup.access.keeping_models())
        check_settings(setup.settings, self._setup.access)
        self._limits = Limits(setup.budget, setup.purse)

    def drive(self, assignment: Assignment, emit: Emit) -> None:
        """Drive a cohort to its end, from the runs in its shard; steps are too many to be emitted.

        Raises:
            StoppedError: The budget of all workers is spent.
            TertuliaError: It can't be begun.
            KeyboardInterrupt: It was interrupted; the turns so far are in the shard.
        """

        def pass_on(event: Event) -> None:
            if not isinstance(event, StepStarted):
                emit(event)

        shard, setup = Path(assignment.shard), self._setup
        with worker_lock(shard), SqlStore.open(shard, create=True) as store:
            drive_task(store, assignment.task, assignment.planned, setup.access, setup.additions, pass_on, self._limits)
