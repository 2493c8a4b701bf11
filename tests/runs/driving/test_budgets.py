"""Budgets: where a run stops, what is kept, and that it ends like one that was never stopped."""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.driving.events import RunEnded, ignore
from tertulia.runs.driving.interrupting import run_or_abandon
from tertulia.runs.driving.limits import Limits
from tertulia.runs.driving.towns import drive_simulation
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.simulations import begin_simulation, plan_simulation, reopen_simulation
from tertulia.runs.planning.starting import begin, plan_run, reopen
from tertulia.state.budget import NO_BUDGET, Budget
from tertulia.state.errors import BudgetError, SettingError
from tertulia.storage.store import SqlStore
from tertulia.views.reading.comparing import compare

SCENARIOS = {"tidewell": 6, "team_building": 3, "villagers": 2}
PRICES = {"rehearsal": (2.0, 4.0)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.open(tmp_path / "tertulia.db", create=True) as opened:
        yield opened


def begun(store: SqlStore, scenario: str = "tidewell", budget: Budget = NO_BUDGET) -> str:
    """Begin a run and drive it as far as its budget goes; return its id."""
    plan = plan_run(scenario, RunRequest({"max_turns": SCENARIOS[scenario]}, model="rehearsal", seed=3))
    context = begin(store, plan, ModelAccess())
    with suppress(BudgetError):
        drive_run(store, context, ignore, limits=Limits(budget))
    return context.run


def taken(store: SqlStore, run: str) -> tuple[int, int, float]:
    """The calls of a run, their tokens, and what these cost."""
    calls = store.calls(run)
    read, written = (sum(getattr(call, name) or 0 for call in calls) for name in ("prompt_tokens", "reply_tokens"))
    return len(calls), read + written, (2 * read + 4 * written) / 1e6


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("budget", [{"max_calls": 7}, {"max_tokens": 9000}, {"max_cost": 0.02, "prices": PRICES}])
def test_a_run_that_budgets_stop_again_and_again_ends_like_one_that_never_stopped(
    store: SqlStore, scenario: str, budget: dict[str, Any]
) -> None:
    whole = begun(store, scenario)
    run, stops = begun(store, scenario, Budget(**budget)), 0
    while store.run(run).status == "interrupted" and stops < 3:
        stops += 1
        assert str(store.run(run).error).startswith("stopped by its budget of ")
        context = reopen(store, store.run(run), ModelAccess())
        with suppress(BudgetError):
            drive_run(store, context, ignore, limits=Limits(Budget(**budget)))
    if store.run(run).status == "interrupted":
        drive_run(store, reopen(store, store.run(run), ModelAccess()), ignore)
    assert stops
    assert (store.run(run).status, store.run(run).error) == ("finished", None)
    assert compare(store, whole, run).is_same
    assert taken(store, run) == taken(store, whole)


@pytest.mark.parametrize("scenario", ["tidewell", "team_building"])
@pytest.mark.parametrize("calls", [1, 4, 12])
def test_no_call_is_made_that_would_exceed_the_budget(store: SqlStore, scenario: str, calls: int) -> None:
    run = begun(store, scenario, Budget(max_calls=calls))
    made, record = taken(store, run)[0], store.run(run)
    assert made <= calls
    assert record.status == "interrupted"
    assert record.error is not None
    assert f"budget of {calls} call" in record.error
    assert f"({made} made" in record.error
    if scenario == "tidewell":  # nothing is made together
        assert made == calls


def test_tokens_and_money_end_with_the_call_that_reaches_them(store: SqlStore) -> None:
    run = begun(store, budget=Budget(max_tokens=5000))
    *before, _ = store.calls(run)
    without = sum((call.prompt_tokens or 0) + (call.reply_tokens or 0) for call in before)
    _, tokens, _ = taken(store, run)
    assert without < 5000 <= tokens
    assert store.run(run).error == f"stopped by its budget of 5,000 tokens ({tokens:,} read and written)"
    run = begun(store, budget=Budget(max_cost=0.01, prices=PRICES))
    _, _, cost = taken(store, run)
    paid = Budget(prices=PRICES).cost(store.calls(run)[-1])
    assert cost - paid < 0.01 <= cost
    assert store.run(run).error == f"stopped by its budget of 0.01 for calls ({cost:.4g} spent)"


def test_a_budget_that_is_enough_changes_nothing(store: SqlStore) -> None:
    whole = begun(store)
    run = begun(store, budget=Budget(max_calls=taken(store, whole)[0], max_minutes=5))
    assert store.run(run).status == "finished"
    assert compare(store, whole, run).is_same
    assert store.run(run).parameters == store.run(whole).parameters  # so that no fork inherits it


def test_minutes_are_of_real_time(store: SqlStore) -> None:
    ends: list[RunEnded] = []
    context = begin(
        store, plan_run("tidewell", RunRequest({"max_turns": 60, **_ENDLESS}, model="rehearsal")), ModelAccess()
    )
    started = time.monotonic()
    with pytest.raises(BudgetError, match=r"^stopped by its budget of 0\.005 minutes \(0\.005\d* passed\)$") as raised:
        drive_run(
            store,
            context,
            lambda event: ends.append(event) if isinstance(event, RunEnded) else None,
            limits=Limits(Budget(max_minutes=0.005)),
        )
    assert 0.3 <= time.monotonic() - started < 20
    assert [(end.status, end.error) for end in ends] == [("interrupted", raised.value)]


_ENDLESS = {"ending": "continuation", "ending_threshold": 1}


def test_a_simulation_stops_with_its_conversation_and_goes_on_with_the_same_digits(store: SqlStore) -> None:
    def simulated(budget: Budget) -> str:
        plan = plan_simulation(
            "tidewell", RunRequest({"max_turns": 4}, seed=5, model="rehearsal"), encounters_per_day=2, days=1
        )
        opened = begin_simulation(store, plan, ModelAccess())
        with suppress(BudgetError):
            drive_simulation(store, *opened, ignore, Limits(budget))
        return opened[0].simulation

    def runs(simulation: str) -> list[str]:
        return [encounter.run for encounter in store.simulations.encounters(simulation)]

    whole, stopped = simulated(NO_BUDGET), simulated(Budget(max_calls=8))
    found = store.simulations.get(stopped)
    assert (found.status, found.error) == ("interrupted", "stopped by its budget of 8 calls (8 made)")
    assert store.run(runs(stopped)[-1]).error == found.error
    assert sum(taken(store, run)[0] for run in runs(stopped)) == 8
    drive_simulation(store, *reopen_simulation(store, found, ModelAccess()), ignore, Limits(Budget(max_calls=500)))
    assert store.simulations.get(stopped).status == "finished"
    assert len(runs(whole)) == len(runs(stopped)) > 0
    assert all(compare(store, *pair).is_same for pair in zip(runs(whole), runs(stopped), strict=True))


def test_calls_under_way_are_waited_for_and_no_other_is_begun() -> None:
    limits, done, begun = Limits(Budget(max_calls=3)), list[int](), list[int]()

    async def call(number: int) -> None:
        async with limits.admitted(1):
            begun.append(number)
            await asyncio.sleep(0.02 * number)
            done.append(number)

    async def drive() -> None:
        async with limits.watching():
            await asyncio.gather(*map(call, range(1, 6)))

    with pytest.raises(BudgetError, match=r"budget of 3 calls \(3 made\)"), limits.stopping():
        run_or_abandon(drive())
    assert begun == done == [1, 2, 3]


@pytest.mark.parametrize("name", ["max_calls", "max_tokens"])
@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, "5", True])
def test_what_is_counted_has_a_whole_number_from_1(name: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"^{name}=.*: a whole number from 1 is expected"):
        Budget(**{name: value})


@pytest.mark.parametrize("name", ["max_cost", "max_minutes"])
@pytest.mark.parametrize("value", [0, -0.5, math.nan, math.inf, "5", True])
def test_what_is_measured_has_a_number_above_0(name: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"^{name}=.*: a number .*above 0 is expected"):
        Budget(**{name: value})


def test_money_needs_a_price_of_every_model() -> None:
    budget = Budget(max_cost=1.5, prices={"openai:one": (2.5, 10)})
    budget.check_prices(["openai:one"])
    Budget(max_calls=3).check_prices(["openai:two"])
    with pytest.raises(SettingError) as raised:
        budget.check_prices(["openai:one", "openai:two"])
    assert str(raised.value) == (
        "max_cost=1.5: openai:two has no price; say what a million tokens read, and a million written, cost: "
        "prices={'openai:two': (2.5, 10)}"
    )
