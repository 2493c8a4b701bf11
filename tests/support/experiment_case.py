"""Rehearsed experiments in a store, and their results."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.reached import Progress
from tertulia.lab.experiments.results import Results, TrialRun, read_results
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Emit, ignore
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.state.records import RunRecord, Trial
from tertulia.storage.store import SqlStore

#: What is said, by case, setting and number of a trial.
Spoken = dict[tuple[str, str, int], Any]


def a_grid(extensions: Sequence[str] = (), **changes: Any) -> Experiment:
    """Return an experiment of four trials in two cohorts."""
    known: dict[str, Any] = {
        "name": "grid",
        "model": "rehearsal",
        "cases": ("tidewell:0", "tidewell:1"),
        "settings": {"Full": {"lambda": 0.0}, "Half": {"lambda": 0.5}},
        "trials": 1,
        "rounds": 3,
        "cohort_size": 3,
    }
    return checked(Experiment(**known | changes), extensions)


def drive_here(
    store: SqlStore, experiment: Experiment, emit: Emit = ignore, additions: Additions = NOTHING_ADDED
) -> Progress:
    """Drive what is missing of an experiment in this process."""
    return run_experiment(store, experiment, InProcessExecutor(store, ModelAccess(), additions), emit)


def conversations(store: SqlStore, experiment: str = "grid") -> Spoken:
    results = read_results(store, experiment)
    return {(trial.case, trial.setting, trial.trial): list(trial.dialogue) for trial in results.runs}


def rehearsed(store: SqlStore, experiment: Experiment, without: Sequence[tuple[str, str, int]] = ()) -> Results:
    """Run an experiment with a stand-in; trials of these settings, cases and numbers are left out of its results."""
    drive_here(store, experiment.model_copy(update={"model": "rehearsal"}))
    results = read_results(store, experiment.name)
    kept = [found for found in results.runs if (found.setting, found.case, found.trial) not in without]
    return replace(results, runs=kept, missing=results.missing + len(without))


def spoken(
    setting: str, case: str, number: int, lines: Sequence[str], speakers: Sequence[str] = ("Ada", "Ben")
) -> TrialRun:
    """Return a trial in which these lines were said in turn, which is in no store."""
    run = RunRecord(
        run=f"{setting}-{case}-{number}",
        status="finished",
        kind="dialogue",
        scenario=case,
        model="rehearsal",
        embedder="rehearsal",
        rehearsed=True,
        seed=number,
        parameters={},
        turns=len(lines),
        trial=Trial(experiment="e", setting=setting, case=case, trial=number, cohort=1),
        created=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return TrialRun(case, setting, number, run, [(speakers[at % len(speakers)], line) for at, line in enumerate(lines)])
