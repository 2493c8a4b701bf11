"""Budgets and stopping in Python: typed errors with the sentences of the command line, and the way on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tertulia as tt

GIVEN: dict[str, Any] = {"rehearse": True, "rounds": 5, "progress": False}


@pytest.fixture
def store(tmp_path: Path) -> tt.Store:
    return tt.Store(tmp_path / "tertulia.db")


def test_a_run_stops_and_goes_on_like_one_that_never_stopped(store: tt.Store) -> None:
    whole = tt.run("tidewell", **GIVEN, store=store)
    with pytest.raises(tt.BudgetError, match=r"^stopped by its budget of 9 calls \(9 made\)") as raised:
        tt.run("tidewell", **GIVEN, store=store, budget=tt.Budget(max_calls=np.int64(9)))
    run = store.run("@last")
    way_on = f"tertulia.resume({run.id!r}, store={str(store.path)!r})"
    assert raised.value.__notes__ == [f"run {run.id} is kept; to go on: {way_on}"]
    assert (run.status, run.record.error) == ("interrupted", str(raised.value))
    with pytest.raises(tt.BudgetError, match=r"^stopped by its budget of 3,000 tokens"):
        run.resume(budget=tt.Budget(max_tokens=3000), progress=False)
    with pytest.raises(tt.BudgetError, match=r"^stopped by its budget of 0\.004 for calls"):
        tt.resume(run, budget=tt.Budget(max_cost=0.004, prices={"rehearsal": (1, 1)}), progress=False)
    run.resume(budget=tt.Budget(max_calls=500, max_minutes=10), progress=False)
    assert (run.status, run.record.error) == ("finished", None)
    assert run.diff(whole).is_same


def test_what_can_not_be_stopped_is_told(store: tt.Store) -> None:
    finished = tt.run("tidewell", rehearse=True, rounds=2, store=store, progress=False)
    with pytest.raises(tt.UsageError, match=f"^run {finished.id} is finished; there is nothing to stop$"):
        finished.stop()
    with pytest.raises(tt.SettingError, match=r"^wait=-1: a number of seconds from 0 is expected"):
        finished.stop(wait=-1)
