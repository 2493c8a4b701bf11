"""A budget of an experiment is over all its trials and workers, and it stops as a whole when somebody asks."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.experiment_case import a_grid, conversations, drive_here

from tertulia.lab.executors.local import LocalExecutor
from tertulia.lab.executors.purses import FilePurse
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.reached import Progress
from tertulia.lab.experiments.running import run_experiment
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Event, TurnFinished, ignore
from tertulia.runs.driving.limits import Limits
from tertulia.runs.driving.stopping import stop
from tertulia.state.budget import NO_BUDGET, Budget, Spent
from tertulia.state.errors import BudgetError, StoppedError
from tertulia.storage.store import SqlStore


def driven(
    store: SqlStore, experiment: Experiment, budget: Budget = NO_BUDGET, workers: int = 1, emit: Any = ignore
) -> Progress:
    executor = LocalExecutor(store, ModelAccess(), workers=workers, limits=Limits(budget))
    return run_experiment(store, experiment, executor, emit)


def calls_of(store: SqlStore) -> int:
    return sum(len(store.calls(run.run)) for run in store.runs())


@pytest.fixture
def whole(tmp_path: Path) -> tuple[Any, int]:
    """What is said in an experiment that nobody stops, and the calls that it takes."""
    with SqlStore.open(tmp_path / "whole.db", create=True) as store:
        drive_here(store, a_grid())
        return conversations(store), calls_of(store)


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 2])
def test_all_trials_and_workers_spend_of_one_budget(tmp_path: Path, whole: tuple[Any, int], workers: int) -> None:
    spoken, needed = whole
    budget = Budget(max_calls=needed - 6)
    with SqlStore.open(tmp_path / "tertulia.db", create=True) as store:
        with pytest.raises(BudgetError, match=f"^stopped by its budget of {needed - 6} calls"):
            driven(store, a_grid(), budget, workers)
        assert 0 < calls_of(store) <= needed - 6
        stopped = [run for run in store.runs() if run.status != "finished"]
        assert stopped
        assert {run.status for run in stopped} == {"interrupted"}
        assert all(str(run.error).startswith("stopped by its budget of ") for run in stopped)
        assert driven(store, a_grid(), Budget(max_calls=needed), workers).missing == 0
        assert conversations(store) == spoken
        assert calls_of(store) == needed
        assert not any(run.error for run in store.runs())
    assert [path.name for path in tmp_path.glob("tertulia.db*")] == ["tertulia.db"]


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 2])
def test_an_experiment_stops_as_a_whole_and_goes_on(tmp_path: Path, workers: int) -> None:
    path, ended, begun = tmp_path / "tertulia.db", list[BaseException](), threading.Event()
    experiment = a_grid(rounds=60, settings={"Full": {"lambda": 0.0, "ending": "off"}}, cohort_size=1)

    def emit(event: Event) -> None:
        if isinstance(event, TurnFinished):
            begun.set()
            time.sleep(0.05)

    def drive() -> None:
        with SqlStore.open(path, create=True) as store:
            try:
                driven(store, experiment, workers=workers, emit=emit)
            except BaseException as error:
                ended.append(error)

    thread = threading.Thread(target=drive)
    thread.start()
    assert begun.wait(90)
    with SqlStore.open(path) as store:
        # In this process its trials are in the store: one of them means all.
        name = store.runs(status="running")[0].run if workers == 1 else "grid"
        (found,) = stop(store, [name], "a test", wait_s=60)
    thread.join(90)
    assert (found.kind, found.name, found.state) == ("experiment", "grid", "stopped")
    assert found.text == "experiment grid has stopped; to go on: tertulia lab resume grid"
    (error,) = ended
    assert isinstance(error, StoppedError)
    assert "(a test)" in str(error)
    with SqlStore.open(path) as store:
        assert all(run.error == str(error) for run in store.runs(status="interrupted"))
        assert store.runs(status="interrupted")
        assert not store.runs(status="running")
        assert stop(store, ["grid"], "a test")[0].state == "stale"
        assert driven(store, experiment).missing == 0  # what was asked before does not stop it again


def test_a_file_counts_for_all_who_know_it(tmp_path: Path) -> None:
    purse, same = FilePurse(tmp_path / "spent", 10), FilePurse(tmp_path / "spent", 10)
    purse.begin()
    assert (purse.reserve(4), same.reserve(4), same.reserve(3)) == (None, None, 8)
    assert purse.settle(4, Spent(3, 50, 0.25)) == Spent(3, 50, 0.25)
    assert same.reserve(3) is None
    assert same.settle(7, Spent(7, 5, 0.5)) == Spent(10, 55, 0.75)
    assert purse.reserve(1) == 10
    purse.begin()
    assert purse.reserve(10) is None
