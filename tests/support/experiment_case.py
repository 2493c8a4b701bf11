"""A rehearsed experiment in a store, as its results are read."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tertulia.access.engines import ModelAccess
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import Results, TrialRun, read_results
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.state.records import RunRecord, Trial
from tertulia.storage.store import SqlStore


def rehearsed(store: SqlStore, experiment: Experiment, without: Sequence[tuple[str, str, int]] = ()) -> Results:
    """Run an experiment with a stand-in; trials of these settings, cases and numbers are left out of its results."""
    experiment = experiment.model_copy(update={"model": "rehearsal"})
    run_experiment(store, experiment, InProcessExecutor(store, ModelAccess()), lambda event: None)
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
