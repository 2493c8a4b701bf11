"""Running an experiment: the trials that are missing, cohort by cohort, wherever an executor drives them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from tertulia.lab.experiments.cohorts import (
    Planner,
    check_files,
    check_settings,
    drive_task,
    first_of_settings,
    models_of_tasks,
)
from tertulia.lab.experiments.experiment import DistinctCases, Experiment
from tertulia.lab.experiments.fork_points import plan_case
from tertulia.lab.experiments.plan import plan_of
from tertulia.lab.experiments.reached import CohortTask, Progress, progress_of
from tertulia.lab.experiments.shards import ShardFolder, experiment_lock, gather, stop_requests
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Emit
from tertulia.runs.driving.limits import Limits
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.state.errors import StoppedError, TertuliaError
from tertulia.storage.stop_requests import experiment_key, forget_experiment
from tertulia.storage.store import SqlStore


class Executor(Protocol):
    """Drives cohorts on the machines that it has."""

    def folder(self, experiment: str) -> ShardFolder:
        """Return the folder of an experiment's shards, including those of earlier commands."""

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        """Drive cohorts to their ends; afterwards all their runs are in the experiment's store.

        Raises:
                StoppedError: The budget is spent, or a stop was asked for; likewise.
            KeyboardInterrupt: They were interrupted; the turns so far are kept.
        """


@dataclass(frozen=True)
class InProcessExecutor:
    """Drives one cohort after another in this process; models are opened once."""

    store: SqlStore
    access: ModelAccess
    additions: Additions = NOTHING_ADDED
    limits: Limits = field(default_factory=Limits)

    def folder(self, experiment: str) -> ShardFolder:
        """Return the folder of the shards that other executors left."""
        return ShardFolder.of(self.store, experiment, self.access.cache)

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        """Drive cohorts to their ends, one after another (see `Executor`).

        Raises:
            UsageError: A model can't do as a setting asks, or the file of a scenario has changed since earlier trials;
                nothing was run.
        """
        access, planner = self.access.keeping_models(), Planner(self.store, self.additions)
        check_files(self.store, tasks, self.additions)
        settings = first_of_settings(self.store, tasks, self.additions)
        self.limits.budget.check_prices(models_of_tasks(self.store, tasks, settings))
        check_settings(settings, access)
        for task in tasks:
            look = stop_requests(self.store, task.experiment.name).look_if_possible
            drive_task(self.store, task, planner.planned(task), access, self.additions, emit, self.limits, look)


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
        UsageError: The store has another experiment of that name, or one with a case of this under another name, or the
            file of a scenario has changed since.
        StorageError: Another command runs the experiment.
        StoppedError: The budget is spent, or a stop was asked for; run again, it continues.
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
        _require_distinct(store, stored, experiment)
        if not (stored.plan or before.runs):
            stored = stored.model_copy(update={"plan": plan_of(stored)})
        store.experiments.save(experiment.name, stored.model_dump(mode="json"))
        key = experiment_key(experiment.name)
        forget_experiment(store, key)  # a request of before
        try:
            executor.drive(before.tasks(), emit)
        except StoppedError:
            forget_experiment(store, key)
            raise
    return progress_of(store, experiment)


def _require_distinct(store: SqlStore, stored: Experiment, given: Experiment) -> None:
    """Refuse cases that a stored experiment has under other names; those that don't read any more are passed over."""
    if {*stored.cases} == {*given.cases}:  # they were looked at together
        return
    distinct = DistinctCases()
    for case in stored.cases:
        start = None
        with suppress(TertuliaError):
            start = plan_case(store, case, {}, stored.model).start
        if start is not None:
            distinct.add(case, start)
