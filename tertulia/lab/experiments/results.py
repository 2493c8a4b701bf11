"""The results of an experiment: its finished runs with their dialogues, by setting and case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tertulia.lab.experiments.experiment import Experiment, experiment_of
from tertulia.lab.experiments.fork_points import fork_point_of
from tertulia.lab.experiments.reached import Progress, progress_of
from tertulia.metrics.diversity import Dialogue
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.dialogues import spoken_in


@dataclass(frozen=True)
class TrialRun:
    """A finished trial; its run may have been one of another experiment that has the same conversation."""

    case: str
    setting: str
    trial: int
    run: RunRecord
    dialogue: Dialogue

    @property
    def first_turn(self) -> int:
        """Its first turn that is measured: of a trial that goes on from a turn, the first of its own."""
        return first_turn_of(self.case)


@dataclass(frozen=True)
class Results:
    """The finished trials in the order of cases, settings and trials, and how many have not finished."""

    experiment: Experiment
    runs: Sequence[TrialRun]
    failed: Sequence[RunRecord]
    missing: int

    def of(self, setting: str) -> dict[str, list[TrialRun]]:
        """Return the trials of a setting by case."""
        by_case: dict[str, list[TrialRun]] = {}
        for trial in self.runs:
            if trial.setting == setting:
                by_case.setdefault(trial.case, []).append(trial)
        return by_case

    def dialogues(self, setting: str) -> Mapping[str, list[Dialogue]]:
        """Return the dialogues of a setting by case; a trial in which nobody spoke has none."""
        return {case: [t.dialogue for t in trials if t.dialogue] for case, trials in self.of(setting).items()}


def first_turn_of(case: str) -> int:
    """Return the first turn that trials of a case do not share."""
    point = fork_point_of(case)
    return 1 if point is None else point.turn


def read_results(store: SqlStore, experiment: Experiment | str) -> Results:
    """Return the results of an experiment of a store; given by its name, of all that the store has of it.

    Raises:
        NotFoundError: There is no experiment of that name.
        UsageError: The store has another experiment of that name.
    """
    if isinstance(experiment, str):
        experiment = experiment_of(store.experiments.get(experiment))
    return results_of(store, progress_of(store, experiment))


def results_of(store: SqlStore, reached: Progress) -> Results:
    """Return the results of an experiment that is so far."""
    experiment = reached.experiment
    finished = [
        TrialRun(case, setting, trial, run, spoken_in(store, run, first_turn_of(case)))
        for case, setting, trial in experiment.places()
        if (run := reached.runs.get((case, setting, trial))) is not None and run.status == "finished"
    ]
    return Results(
        experiment=experiment,
        runs=finished,
        failed=reached.with_status("failed"),
        missing=reached.missing,
    )
