"""Cohorts of an experiment as tasks: plain data that any executor can hand on, and how a cohort is driven."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.fork_points import plan_case
from tertulia.lab.experiments.reached import CohortTask
from tertulia.runs.access.engines import ModelAccess, open_engines, reopen_engines
from tertulia.runs.access.model_names import models_of_run, names_of_models
from tertulia.runs.driving.cohort import OpenedRun, drive_cohort
from tertulia.runs.driving.events import Emit
from tertulia.runs.driving.limits import Limits, Look
from tertulia.runs.planning.additions import Additions
from tertulia.runs.planning.starting import RunPlan, store_run
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import Extension
from tertulia.storage.store import SqlStore
from tertulia.views.reading.platforms import precision_to_keep


@dataclass(frozen=True)
class PlannedCase:
    """The part that all trials of a case in a setting share, read beside its files, with requested parameters."""

    case: str
    setting: str
    start: Start
    parameters: Parameters
    model: str
    extensions: tuple[Extension, ...] = ()
    pictures: tuple[bytes, ...] = field(default=(), repr=False)
    parent: tuple[str, int] | None = None

    @classmethod
    def of(
        cls, store: SqlStore, experiment: Experiment, case: str, setting: str, additions: Additions
    ) -> "PlannedCase":
        """Return the plan of a case in a setting, read from its files, or from the store whose turn it is.

        Raises:
            TertuliaError: There is no such scenario, or it can't be run like that.
        """
        plan = plan_case(store, case, experiment.parameters(setting), experiment.model, additions)
        extensions = plan.registry.extensions
        return cls(case, setting, plan.start, plan.parameters, plan.model, extensions, plan.pictures, plan.parent)

    @property
    def models(self) -> list[str]:
        """The names of all models that it needs."""
        return names_of_models(self.model, self.start, self.parameters)

    def run_plan(self, additions: Additions) -> RunPlan:
        """Return the plan of its trials, still without trial and seed."""
        registry = additions.registry_of(self.extensions)
        return RunPlan(self.start, self.parameters, self.model, 0, registry, parent=self.parent, pictures=self.pictures)


@dataclass
class Planner:
    """Reads cases for the trials of cohorts; it keeps the last one, as the trials of a case follow each other."""

    store: SqlStore
    additions: Additions
    _last: PlannedCase | None = None

    def planned(self, task: CohortTask) -> list[PlannedCase]:
        """Return the plans that the trials of a task have in common, by case and setting."""
        pairs = dict.fromkeys((trial.case, trial.setting) for trial in task.trials)
        return [self._planned(task.experiment, case, setting) for case, setting in pairs]

    def _planned(self, experiment: Experiment, case: str, setting: str) -> PlannedCase:
        if self._last is None or (self._last.case, self._last.setting) != (case, setting):
            self._last = PlannedCase.of(self.store, experiment, case, setting, self.additions)
        return self._last


def plans_of(task: CohortTask, planned: Sequence[PlannedCase], additions: Additions) -> Iterator[RunPlan]:
    """Yield the plan of every trial of a new cohort."""
    by_place = {(shared.case, shared.setting): shared for shared in planned}
    for place, trials in groupby(task.trials, key=lambda trial: (trial.case, trial.setting)):
        plan = by_place[place].run_plan(additions)
        for trial in trials:
            yield replace(plan, seed=task.experiment.seed_of(trial.trial), trial=trial)


def drive_task(
    store: SqlStore,
    task: CohortTask,
    planned: Sequence[PlannedCase],
    access: ModelAccess,
    additions: Additions,
    emit: Emit,
    limits: Limits | None = None,
    look: Look | None = None,
) -> None:
    """Drive a cohort to its end, from its runs in this store (see `driving.cohort.drive_cohort`).

    Raises:
        StoppedError: The budget is spent, or a stop was asked for.
        TertuliaError: It can't be begun; nothing of it is stored.
        KeyboardInterrupt: It was interrupted; the turns so far are kept.
    """
    if task.trials and not (task.runs and _is_begun(store, task.runs[0])):
        opened = _begin(store, task, planned, access, additions)
    else:
        records = [record for record in map(store.run, task.runs) if record.status != "finished"]
        kept = precision_to_keep(store, task.runs[0])
        opened = [
            (record, reopen_engines(record, access, kept), additions.reload_registry(record)) for record in records
        ]
    drive_cohort(store, opened, emit, limits, look)


def _is_begun(store: SqlStore, run: str) -> bool:
    try:
        return store.run(run).run == run
    except NotFoundError:
        return False


def _begin(
    store: SqlStore,
    task: CohortTask,
    planned: Sequence[PlannedCase],
    access: ModelAccess,
    additions: Additions,
) -> list[OpenedRun]:
    """Store all runs of a new cohort, or none of them."""
    plans = [*plans_of(task, planned, additions)]
    engines = [open_engines(plan.model, plan.start, plan.parameters, access) for plan in plans]
    ids: Sequence[str | None] = task.runs or [None] * len(plans)
    store.make_file()
    with store.transaction():
        records = [store_run(store, *planned_run) for planned_run in zip(plans, engines, ids, strict=True)]
    return [(r, e, plan.registry) for r, e, plan in zip(records, engines, plans, strict=True)]


def check_files(store: SqlStore, tasks: Sequence[CohortTask], additions: Additions) -> None:
    """Refuse scenario files that have changed since earlier trials of their experiment.

    Raises:
        UsageError: One was; nothing has been run.
    """
    first = {trial.case: (task, trial) for task in tasks for trial in task.trials if Path(trial.case).is_file()}
    for case, (task, trial) in first.items():
        runs = store.runs(experiment=trial.experiment)
        earlier = next((run for run in runs if run.trial is not None and run.trial.case == case), None)
        if earlier is None:
            continue
        if PlannedCase.of(store, task.experiment, case, trial.setting, additions).start != store.start(earlier.run):
            raise UsageError(
                f"{case} has changed since trials of experiment {trial.experiment!r} began with it; take another "
                "name for the experiment, or put the file back"
            )


def first_of_settings(store: SqlStore, tasks: Sequence[CohortTask], additions: Additions) -> list[PlannedCase]:
    """Return the plan of the first trial of each setting."""
    first = {trial.setting: (task, trial) for task in reversed(tasks) for trial in reversed(task.trials)}
    return [
        PlannedCase.of(store, task.experiment, trial.case, setting, additions)
        for setting, (task, trial) in first.items()
    ]


def check_settings(settings: Sequence[PlannedCase], access: ModelAccess) -> None:
    """Open the models of settings, and refuse settings that ask too much of a model.

    Raises:
        UsageError: A model can't do as a setting asks.
        TertuliaError: A model can't be opened.
    """
    for planned in settings:
        try:
            open_engines(planned.model, planned.start, planned.parameters, access)
        except UsageError as error:
            raise UsageError(f"setting {planned.setting!r}: {error}") from None


def models_of_tasks(store: SqlStore, tasks: Sequence[CohortTask], planned: Sequence[PlannedCase]) -> list[str]:
    """Return the names of all models that cohorts need.

    Args:
        planned: A trial of each setting.
    """
    names = {name for shared in planned for name in shared.models}
    for task in tasks:
        if not task.trials:
            names.update(name for run in task.runs for name in models_of_run(store.run(run)))
    return sorted(names)
