"""Running an experiment: the trials that are missing, cohort by cohort, wherever an executor drives them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lab.experiment import Experiment, experiment_of, joined, place_of
from state.errors import NotFoundError, UsageError
from state.records import RunRecord, Trial
from tertulia.cohort import OpenedRun, drive_cohort
from tertulia.engines import ModelAccess, open_engines, reopen_engines
from tertulia.events import Emit
from tertulia.starting import NOTHING_ADDED, Additions, RunPlan, plan_run, store_run

if TYPE_CHECKING:
    from storage.store import SqlStore


@dataclass(frozen=True)
class CohortTask:
    """A cohort that is to be driven: plain data, so that any executor can hand it to whoever drives it.

    Attributes:
        experiment: What it is a part of.
        trials: The trials that it begins; none where all of its runs were begun before.
        runs: The runs that it goes on with.
    """

    experiment: Experiment
    trials: tuple[Trial, ...] = ()
    runs: tuple[str, ...] = ()


class Executor(Protocol):
    """Drives cohorts, wherever it has room for them."""

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        """Drive cohorts to their ends; every run of theirs is in the experiment's store afterwards.

        Raises:
            KeyboardInterrupt: They were interrupted; what they had is kept.
        """


@dataclass(frozen=True)
class LocalExecutor:
    """Drives one cohort after another in this process; models are opened once.

    Attributes:
        store: The open store of the experiment.
        access: What opening models needs.
        additions: Nodes and mechanisms of the user's own.
    """

    store: "SqlStore"
    access: ModelAccess
    additions: Additions = NOTHING_ADDED

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        """Drive cohorts to their ends, one after another (see `Executor`).

        Raises:
            UsageError: A model can't do what a setting asks of it, or the file of a scenario has changed since earlier
                trials; nothing was run.
        """
        access = self.access.keeping_models()
        self._check_files(tasks)
        self._check_settings(tasks, access)
        for task in tasks:
            runs = self._begin(task, access) if task.trials else [self._reopen(run, access) for run in task.runs]
            drive_cohort(self.store, runs, emit)

    def _check_files(self, tasks: Sequence[CohortTask]) -> None:
        first = {trial.case: (task, trial) for task in tasks for trial in task.trials if Path(trial.case).is_file()}
        for case, (task, trial) in first.items():
            (plan,) = _plans(replace(task, trials=(trial,)), self.additions)
            runs = self.store.runs(experiment=trial.experiment)
            earlier = next((run for run in runs if run.trial is not None and run.trial.case == case), None)
            if earlier is not None and plan.start != self.store.start(earlier.run):
                raise UsageError(
                    f"{case} has changed since trials of experiment {trial.experiment!r} began with it; take another "
                    "name for the experiment, or put the file back"
                )

    def _check_settings(self, tasks: Sequence[CohortTask], access: ModelAccess) -> None:
        first = {trial.setting: (task, trial) for task in reversed(tasks) for trial in reversed(task.trials)}
        for setting, (task, trial) in first.items():
            (plan,) = _plans(replace(task, trials=(trial,)), self.additions)
            try:
                open_engines(plan.model, plan.start, plan.parameters, access)
            except UsageError as error:
                raise UsageError(f"setting {setting!r}: {error}") from None

    def _begin(self, task: CohortTask, access: ModelAccess) -> list[OpenedRun]:
        """Store all runs of a new cohort, or none of them."""
        plans = [*_plans(task, self.additions)]
        engines = [open_engines(plan.model, plan.start, plan.parameters, access) for plan in plans]
        self.store.make_file()
        with self.store.transaction():
            records = [store_run(self.store, *planned) for planned in zip(plans, engines, strict=True)]
        return [(r, e, plan.registry) for r, e, plan in zip(records, engines, plans, strict=True)]

    def _reopen(self, run: str, access: ModelAccess) -> OpenedRun:
        record = self.store.run(run)
        registry = self.additions.reload_registry(record)
        return record, reopen_engines(record, access), registry


def _plans(task: CohortTask, additions: Additions) -> Iterator[RunPlan]:
    """Yield the plan of every trial of a new cohort; a case is read once for all of its trials."""
    experiment = task.experiment
    for (case, setting), trials in groupby(task.trials, key=lambda trial: (trial.case, trial.setting)):
        plan = plan_run(case, experiment.parameters(setting), model=experiment.model, additions=additions)
        for trial in trials:
            yield replace(plan, seed=experiment.seed_of(trial.trial), trial=trial, named=frozenset())


@dataclass(frozen=True)
class Progress:
    """How far an experiment is.

    Attributes:
        experiment: As it was asked for.
        stored: As it is stored then: with all that was ever asked for under its name.
        runs: By case, setting and trial, the run that was begun; or a finished one of another experiment of the store
            that has the same conversation.
        cohorts: The number of its last cohort; 0 before the first.
        unfinished: The runs under its name that have not finished, asked for or not: a cohort goes on as a whole.
    """

    experiment: Experiment
    stored: Experiment
    runs: Mapping[tuple[str, str, int], RunRecord]
    cohorts: int = 0
    unfinished: Sequence[RunRecord] = ()

    def with_status(self, *statuses: str) -> list[RunRecord]:
        """Return the runs of these statuses in the order of the experiment."""
        return [self.runs[p] for p in self.experiment.places() if p in self.runs and self.runs[p].status in statuses]

    @property
    def not_begun(self) -> list[tuple[str, str, int]]:
        """Case, setting and number of the trials that were not started."""
        return [place for place in self.experiment.places() if place not in self.runs]

    @property
    def missing(self) -> int:
        """The number of trials that have not finished."""
        return len(self.not_begun) + len(self.with_status("running", "interrupted", "failed"))

    def tasks(self) -> list[CohortTask]:
        """Return the cohorts that are left: those that were interrupted, what failed, and what was not started."""
        wanted = {run.run for run in self.runs.values()}
        left = [
            CohortTask(self.experiment, runs=tuple(run.run for run in cohort))
            for statuses in (("running", "interrupted"), ("failed",))
            for cohort in _by_cohort([run for run in self.unfinished if run.status in statuses])
            if any(run.run in wanted for run in cohort)
        ]
        numbers = count(self.cohorts + 1)
        size, places = self.experiment.cohort_size, self.not_begun
        for start in range(0, len(places), size):
            number = next(numbers)
            trials = tuple(
                Trial(experiment=self.experiment.name, setting=setting, case=case, trial=trial, cohort=number)
                for case, setting, trial in places[start : start + size]
            )
            left.append(CohortTask(self.experiment, trials))
        return left


def _by_cohort(runs: Sequence[RunRecord]) -> list[list[RunRecord]]:
    cohorts: dict[int, list[RunRecord]] = {}
    for run in runs:
        if run.trial is not None:
            cohorts.setdefault(run.trial.cohort, []).append(run)
    return [cohorts[number] for number in sorted(cohorts)]


def progress_of(store: "SqlStore", experiment: Experiment) -> Progress:
    """Return how far an experiment is in a store; of what is stored under its name, what is asked for now.

    Raises:
        UsageError: The store has another experiment of that name.
    """
    stored = experiment
    with suppress(NotFoundError):
        stored = joined(experiment_of(store.experiments.get(experiment.name)), experiment)
    started = {place_of(run.trial): run for run in store.runs(experiment=experiment.name) if run.trial is not None}
    cohorts = max((run.trial.cohort for run in started.values() if run.trial is not None), default=0)
    wanted = {*experiment.places()}
    runs = {place: run for place, run in started.items() if place in wanted}
    shared = _shared(store, experiment, wanted - runs.keys()) if len(runs) < len(wanted) else {}
    places = [place for place in stored.places() if place in started]
    unfinished = [started[place] for place in places if started[place].status != "finished"]
    return Progress(experiment, stored, runs | shared, cohorts, unfinished)


def _shared(
    store: "SqlStore", experiment: Experiment, wanted: Collection[tuple[str, str, int]]
) -> dict[tuple[str, str, int], RunRecord]:
    """Return finished runs of other experiments that have the same conversations, by their place in this experiment."""
    shared: dict[tuple[str, str, int], RunRecord] = {}
    for known in map(experiment_of, store.experiments.all()):
        same = ("model", "rounds", "seed")
        if known.name == experiment.name or any(getattr(known, n) != getattr(experiment, n) for n in same):
            continue
        settings: dict[str, list[str]] = {}  # of this experiment, by the other's
        for theirs, values in known.settings.items():
            settings[theirs] = [ours for ours, parameters in experiment.settings.items() if parameters == values]
        if not any(settings.values()):
            continue
        for run in store.runs(experiment=known.name, status="finished"):
            case, theirs, number = place_of(run.trial) if run.trial is not None else ("", "", 0)
            if Path(case).is_file():  # it may have been written anew since
                continue
            for ours in settings.get(theirs, ()):
                if (place := (case, ours, number)) in wanted:
                    shared.setdefault(place, run)
    return shared


def run_experiment(store: "SqlStore", experiment: Experiment, executor: Executor, emit: Emit) -> Progress:
    """Run the trials of an experiment that are missing, and return how far it is then.

    Trials that fail do not stop the others.

    Args:
        store: The open store.
        experiment: Checked (`lab.experiment.checked`); asked for again, it may have grown.
        executor: Drives the cohorts.
        emit: Takes the events of all runs.

    Raises:
        UsageError: The store has another experiment of that name, or the file of a scenario has changed since.
        TertuliaError: A model can't be opened.
        KeyboardInterrupt: It was interrupted; asked for again, it goes on.
    """
    before = progress_of(store, experiment)
    store.check_writable()
    store.make_file()
    store.experiments.save(experiment.name, before.stored.model_dump(mode="json"))
    executor.drive(before.tasks(), emit)
    return progress_of(store, experiment)
