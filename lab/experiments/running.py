"""Running an experiment: the trials that are missing, cohort by cohort, wherever an executor drives them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tertulia.access.engines import ModelAccess
from tertulia.driving.events import Emit
from tertulia.lab.experiments.cohorts import Planner, check_files, check_settings, drive_task, first_of_settings
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.plan import plan_of
from tertulia.lab.experiments.reached import CohortTask, Progress, progress_of
from tertulia.lab.experiments.shards import ShardFolder, experiment_lock, gather
from tertulia.planning.starting import NOTHING_ADDED, Additions
from tertulia.storage.store import SqlStore


class Executor(Protocol):
    """Drives cohorts on the machines that it has."""

    def folder(self, experiment: str) -> ShardFolder:
        """Return the folder of an experiment's shards, including those of earlier commands."""

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        """Drive cohorts to their ends; afterwards all their runs are in the experiment's store.

        Raises:
            KeyboardInterrupt: They were interrupted; the turns so far are kept.
        """


@dataclass(frozen=True)
class InProcessExecutor:
    """Drives one cohort after another in this process; models are opened once."""

    store: SqlStore
    access: ModelAccess
    additions: Additions = NOTHING_ADDED

    def folder(self, experiment: str) -> ShardFolder:
        """Return the folder of the shards that other executors left."""
        return ShardFolder.of(self.store, experiment, self.access.cache)

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        """Drive cohorts to their ends, one after another (see `Executor`).

        Raises:
            UsageError: A model can't do what a setting asks of it, or the file of a scenario has changed since earlier
                trials; nothing was run.
        """
        access, planner = self.access.keeping_models(), Planner(self.store, self.additions)
        check_files(self.store, tasks, self.additions)
        check_settings(first_of_settings(self.store, tasks, self.additions), access)
        for task in tasks:
            drive_task(self.store, task, planner.planned(task), access, self.additions, emit)


def run_experiment(
    store: SqlStore,
    experiment: Experiment,
    executor: Executor,
    emit: Emit,
    announce: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Run the missing trials of a checked experiment, and return its progress afterwards; announce that of before.

    Trials that fail do not stop the others. Shards of earlier commands are merged first.

    Raises:
        UsageError: The store has another experiment of that name, or the file of a scenario has changed since.
        StorageError: Another command runs the experiment.
        TertuliaError: A model can't be opened.
        KeyboardInterrupt: It was interrupted; run again, it continues.
    """
    store.check_writable()
    progress_of(store, experiment)
    store.make_file()
    with experiment_lock(store, experiment.name):
        gather(store, executor.folder(experiment.name), emit)
        before = progress_of(store, experiment)
        announce(before)
        stored = before.stored
        if not (stored.plan or before.runs):
            stored = stored.model_copy(update={"plan": plan_of(stored)})
        store.experiments.save(experiment.name, stored.model_dump(mode="json"))
        executor.drive(before.tasks(), emit)
    return progress_of(store, experiment)
