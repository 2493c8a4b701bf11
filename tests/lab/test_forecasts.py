"""How long an experiment takes: from recorded calls, from a probe, or as rehearsed; and its progress in utterances."""

from typing import cast

import pytest
from support.experiment_case import a_grid, drive_here

from tertulia.lab.experiments import estimating
from tertulia.lab.experiments.call_times import CallTimes, parallel, probed_times, recorded_times
from tertulia.lab.experiments.estimating import estimate_experiment, forecast
from tertulia.lab.experiments.progress import ExperimentProgress
from tertulia.lab.experiments.reached import progress_of
from tertulia.runs.driving.events import Noted, StepStarted, TurnFinished
from tertulia.runs.planning.additions import NOTHING_ADDED
from tertulia.state.records import Turn
from tertulia.storage.store import SqlStore

#: A turn, of which nothing is read.
A_TURN = cast(Turn, None)

SERVED = "http://localhost:1/v1#parrot"

#: Settings that a served model can do without a surrogate.
TEMPERATURES = {"cool": {"lambda": 0, "temperature": 0.2}, "warm": {"lambda": 0, "temperature": 1.0}}


def test_the_time_of_a_node_is_that_of_its_calls_and_of_another_the_mean() -> None:
    times = CallTimes({"generate": 2.0, "judge": 1.0}, "recorded")
    assert times.of({"generate": 3, "judge": 4}) == 10
    assert times.of({"score": 2}) == 3
    assert CallTimes({}, "", concurrent=8).together(20) == 8
    assert CallTimes({}, "", concurrent=8).together(3) == 3


def test_two_workers_are_as_fast_as_the_last_cohorts_let_them() -> None:
    assert [parallel(cohorts, 2) for cohorts in (1, 2, 3, 4)] == [1, 2, 1.5, 2]


def test_a_served_model_is_forecast_by_its_own_calls_and_is_never_asked(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = a_grid(model=SERVED, settings=TEMPERATURES, trials=2, rounds=3)
    reached = progress_of(store, experiment)

    def refuse(*_: object) -> None:
        raise AssertionError("a paid call was made")

    unknown = estimate_experiment(store, reached, probe=refuse)
    assert unknown.seconds is None
    assert "not known before the first utterances" in unknown.lines(experiment)[-1]
    calls = CallTimes({"generate": 30.0}, "as in 2 conversations of this store", concurrent=8)
    monkeypatch.setattr(estimating, "recorded_times", lambda *_: calls)
    known = estimate_experiment(store, reached, probe=refuse)
    assert known.seconds is not None
    asked = known.calls / min(8, experiment.cohort_size) * 30
    assert asked <= known.seconds <= asked + 60
    assert "min, as in 2 conversations of this store" in known.lines(experiment)[-1]


def test_calls_are_timed_in_the_conversations_of_the_model(store: SqlStore) -> None:
    drive_here(store, a_grid())
    times = recorded_times(store, "rehearsal")
    assert times is not None
    assert times.seconds["generate"] > 0
    assert times.source == "as in 4 conversations of this store"
    assert recorded_times(store, "smollm2") is None


def test_a_probe_is_a_few_lines_that_no_store_keeps(store: SqlStore) -> None:
    times = probed_times(a_grid(trials=9, rounds=9), drive_here)
    assert times is not None
    assert times.source == "as a probe of 4 lines has it"
    assert store.runs() == []


# --- progress -------------------------------------------------------------------------------------------------------


@pytest.fixture
def counts(store: SqlStore) -> ExperimentProgress:
    now = iter(range(1000))
    return ExperimentProgress(progress_of(store, a_grid()), clock=lambda: float(next(now)))


def test_progress_is_in_utterances_of_those_that_are_expected(counts: ExperimentProgress) -> None:
    assert counts.text == "0 of about 12 utterances, 0 of 4 trials"
    counts.expect(10, 500.0)
    assert counts.text.startswith("0 of about 10 utterances, 0 of 4 trials, about 8 min left")
    counts.note(StepStarted("a001", 1, "score", "Ada"))
    assert counts.text.endswith(", scoring")
    for run in ("a001", "a002", "a003"):
        counts.note(TurnFinished(run, A_TURN))
    assert counts.text.startswith("3 of about 10 utterances, 0 of 4 trials, about ")


def test_a_note_that_several_trials_have_is_news_once(counts: ExperimentProgress) -> None:
    notes = [("a001", "unread"), ("a002", "unread"), ("a002", "other")]
    assert [counts.note(Noted(run, text)) for run, text in notes] == [True, False, True]


def test_a_forecast_is_told_before_the_first_trial(store: SqlStore) -> None:
    counts = ExperimentProgress(progress_of(store, a_grid()))
    line = forecast(store, counts, NOTHING_ADDED)
    assert line.startswith("experiment grid: 4 of 4 trials to run, about ")
    assert line.endswith(", as rehearsed just now")
    assert counts.seconds_left is not None
    assert ", as rehearsed" not in forecast(store, counts, NOTHING_ADDED, is_here=False)
    drive_here(store, a_grid())
    counts.begin(progress_of(store, a_grid()))
    assert forecast(store, counts, NOTHING_ADDED) == "experiment grid: 0 of 4 trials to run"
