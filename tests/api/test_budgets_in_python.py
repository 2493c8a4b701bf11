"""Budgets and stopping in Python: typed errors with the sentences of the command line, and the way on."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tertulia as tt
from tertulia.runs.driving.stopping import Stopped

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


@pytest.mark.full
def test_what_is_awaited_and_what_is_streamed_stops_too(store: tt.Store) -> None:
    async def hold() -> list[tt.Event]:
        with pytest.raises(tt.BudgetError, match="budget of 4 calls"):
            await tt.arun("tidewell", **GIVEN, store=store, budget=tt.Budget(max_calls=4))
        with pytest.raises(tt.BudgetError, match="budget of 2 calls"):
            await store.run("@last").aresume(budget=tt.Budget(max_calls=2), progress=False)
        events: list[tt.Event] = []

        async def read() -> None:
            async for event in tt.stream(
                "tidewell", rehearse=True, rounds=5, store=store, budget=tt.Budget(max_calls=5)
            ):
                events.append(event)

        with pytest.raises(tt.BudgetError, match="budget of 5 calls"):
            await read()
        return events

    *_, end = asyncio.run(hold())
    assert isinstance(end, tt.RunEnded)
    assert (end.status, str(end.error)) == ("interrupted", "stopped by its budget of 5 calls (5 made)")


def test_a_fork_has_a_budget_of_its_own(store: tt.Store) -> None:
    parent = tt.run("tidewell", **GIVEN, store=store, budget=tt.Budget(max_calls=500))
    assert parent.fork(at=3, removal_factor=0.9, progress=False).status == "finished"
    with pytest.raises(tt.BudgetError, match="budget of 3 calls"):
        parent.fork(at=3, removal_factor=0.9, progress=False, budget=tt.Budget(max_calls=3))


@pytest.mark.full
def test_an_experiment_stops_and_the_same_call_goes_on(store: tt.Store) -> None:
    grid: dict[str, Any] = {"removal_factor": [0, 1], "trials": 2, "rounds": 3, "workers": 1}
    grid |= {"rehearse": True, "store": store, "progress": False}
    with pytest.raises(tt.BudgetError, match="budget of 6 calls") as raised:
        tt.sweep("tidewell:0", **grid, budget=tt.Budget(max_calls=6))
    assert "the same call goes on" in raised.value.__notes__[0]
    (stopped,) = store.experiments()
    assert stopped.missing == 4
    assert "is not driven by any process" in stopped.stop().text
    assert tt.sweep("tidewell:0", **grid).missing == 0


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"max_calls": 0}, "max_calls=0: a whole number from 1 is expected; leave it out for no limit"),
        ({"max_calls": 2.5}, "max_calls=2.5: a whole number from 1 is expected"),
        ({"max_tokens": -3}, "max_tokens=-3: a whole number from 1 is expected"),
        ({"max_cost": float("nan")}, "max_cost=nan: a number above 0 is expected, in the currency of the prices"),
        ({"max_cost": 1}, "max_cost=1: rehearsal has no price; "),
        ({"max_cost": 1, "prices": {"smollm2": (1, 2)}}, "prices={'rehearsal': (2.5, 10)}"),
        ({"max_cost": 1, "prices": {"rehearsal": 3}}, "prices['rehearsal']=3: prices of a million tokens"),
        ({"max_cost": 1, "prices": [3]}, "prices=[3]: prices of a million tokens"),
        ({"max_minutes": 0}, "max_minutes=0: a number of minutes above 0 is expected"),
    ],
)
def test_a_wrong_budget_is_told_before_anything_is_stored(
    store: tt.Store, given: dict[str, Any], complaint: str
) -> None:
    for function, scenario in ((tt.run, "tidewell"), (tt.sweep, "tidewell:0")):
        with pytest.raises(tt.UsageError) as raised:
            function(scenario, rehearse=True, rounds=2, store=store, progress=False, budget=tt.Budget(**given))  # type: ignore[operator]
        assert complaint in str(raised.value)
    assert list(store.runs()) == []


def test_a_run_of_another_thread_is_stopped(store: tt.Store) -> None:
    settings = {"ending": "continuation", "ending_threshold": 1}
    ended, begun = list[BaseException](), threading.Event()

    async def hold() -> None:
        try:
            events = tt.stream("tidewell", rehearse=True, rounds=60, settings=settings, store=store)
            async for event in events:
                if isinstance(event, tt.TurnFinished):
                    begun.set()
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=asyncio.run, args=(hold(),))
    thread.start()
    assert begun.wait(60)
    run = store.run("@last")
    became = run.stop()
    thread.join(30)
    assert isinstance(became, Stopped)
    assert (became.state, became.name, run.status) == ("stopped", run.id, "interrupted")
    (error,) = ended
    assert isinstance(error, tt.StoppedError)
    assert "(run.stop())" in str(error)
    assert run.record.error == str(error)
    finished = tt.run("tidewell", rehearse=True, rounds=2, store=store, progress=False)
    with pytest.raises(tt.UsageError, match=f"^run {finished.id} is finished; there is nothing to stop$"):
        finished.stop()
    with pytest.raises(tt.SettingError, match=r"^wait=-1: a number of seconds from 0 is expected"):
        run.stop(wait=-1)
