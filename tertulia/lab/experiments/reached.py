"""How far an experiment is in a store, and its remaining tasks; nothing that drives runs is imported."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tertulia.lab.experiments.experiment import Experiment, experiment_of, joined, place_of
from tertulia.state.errors import NotFoundError, StorageError, TertuliaError
from tertulia.state.meeting import Start
from tertulia.state.records import RunRecord, Trial
from tertulia.storage.store import SqlStore


@dataclass(frozen=True)
class CohortTask:
    """A cohort that is to be driven.

    Attributes:
        trials: The trials that it begins; none if all of its runs were begun before.
        runs: The runs that it resumes; if trials begin in another store than the experiment's, the ids that are
            reserved for them there.
    """

    experiment: Experiment
    trials: tuple[Trial, ...] = ()
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Progress:
    """How far an experiment is.

    Attributes:
        experiment: The experiment as requested.
        stored: The experiment as it will be stored: with everything ever requested under its name.
        runs: By case, setting and trial, the run that was begun, or a finished run of another experiment in the store
            with the same conversation.
        cohorts: The numbers of the cohorts that were begun.
        unfinished: The runs under its name that have not finished, requested or not: a cohort resumes as a whole.
    """

    experiment: Experiment
    stored: Experiment
    runs: Mapping[tuple[str, str, int], RunRecord]
    cohorts: Collection[int] = ()
    unfinished: Sequence[RunRecord] = ()

    def with_status(self, *statuses: str) -> list[RunRecord]:
        """Return the runs with these statuses in the order of the experiment."""
        return [self.runs[p] for p in self.experiment.places() if p in self.runs and self.runs[p].status in statuses]

    @property
    def not_begun(self) -> list[tuple[str, str, int]]:
        """Case, setting and number of the trials that were not started."""
        return [place for place in self.experiment.places() if place not in self.runs]

    @property
    def left(self) -> list[tuple[str, str, int]]:
        """Case, setting and number of the trials that have not finished."""
        return [*self.not_begun, *(place for place, run in self.runs.items() if run.status != "finished")]

    @property
    def missing(self) -> int:
        """The number of trials that have not finished."""
        return len(self.not_begun) + len(self.with_status("running", "interrupted", "failed"))

    def tasks(self) -> list[CohortTask]:
        """Return the remaining cohorts: interrupted ones, then failed runs, then trials that were not started."""
        wanted = {run.run for run in self.runs.values()}
        left = [
            CohortTask(self.experiment, runs=tuple(run.run for run in cohort))
            for statuses in (("running", "interrupted"), ("failed",))
            for cohort in _by_cohort([run for run in self.unfinished if run.status in statuses])
            if any(run.run in wanted for run in cohort)
        ]
        numbers = (number for number in count(1) if number not in self.cohorts)  # as if nothing had been interrupted
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


def progress_of(store: SqlStore, experiment: Experiment) -> Progress:
    """Return how far the requested part of an experiment is in a store.

    Raises:
        UsageError: The store has another experiment of that name.
    """
    stored = experiment
    with suppress(NotFoundError):
        stored = joined(experiment_of(store.experiments.get(experiment.name)), experiment)
    started = {place_of(run.trial): run for run in store.runs(experiment=experiment.name) if run.trial is not None}
    cohorts = {run.trial.cohort for run in started.values() if run.trial is not None}
    wanted = {*experiment.places()}
    runs = {place: run for place, run in started.items() if place in wanted}
    shared = _shared(store, experiment, wanted - runs.keys()) if len(runs) < len(wanted) else {}
    places = [place for place in stored.places() if place in started]
    unfinished = [started[place] for place in places if started[place].status != "finished"]
    return Progress(experiment, stored, runs | shared, cohorts, unfinished)


def _shared(
    store: SqlStore, experiment: Experiment, wanted: Collection[tuple[str, str, int]]
) -> dict[tuple[str, str, int], RunRecord]:
    """Return finished runs of other experiments with the same conversations, by place in this experiment.

    Experiments that can't be read, as a newer version wrote them, share nothing; nor do files that were changed since.
    """
    shared: dict[tuple[str, str, int], RunRecord] = {}
    files = _Files(store, experiment)
    for record in store.experiments.all():
        try:
            known = experiment_of(record)
        except StorageError:
            continue
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
            for ours in settings.get(theirs, ()):
                if (place := (case, ours, number)) in wanted and files.are_as_read(run, case, ours):
                    shared.setdefault(place, run)
    return shared


@dataclass
class _Files:
    """Compares files of scenarios with their content in runs of other experiments; each file is read once."""

    store: SqlStore
    experiment: Experiment
    _starts: dict[tuple[str, Any], Start | None] = field(default_factory=dict)

    def are_as_read(self, run: RunRecord, case: str, setting: str) -> bool:
        """Return whether a run began with the present content of its case's file; `True` if the case is no file."""
        if not Path(case).is_file():
            return True
        read = (case, self.experiment.settings[setting].get("items_from"))  # nothing else changes the reading
        if read not in self._starts:
            self._starts[read] = self._read(case, setting)
        return self._starts[read] == self.store.start(run.run)

    def _read(self, case: str, setting: str) -> Start | None:
        from tertulia.lab.experiments.fork_points import plan_case

        with suppress(TertuliaError):  # it can't be run any more, or needs nodes that are not given here
            return plan_case(self.store, case, self.experiment.parameters(setting), self.experiment.model).start
        return None
