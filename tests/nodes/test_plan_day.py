"""The day of a resident: composed from the log's, with minor things in another order, and the rest where it was."""

import pytest

from tertulia.nodes.town.plan_day import planned_day
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.simulations import _with_plans, plan_simulation
from tertulia.state.town import Habit, Resident
from tertulia.worlds.catalog import TOWNS
from tertulia.worlds.town import open_town

RESIDENTS = [resident for name in TOWNS for resident in open_town(name, from_log=False).town.residents]


def lasting(day: tuple[Habit, ...]) -> dict[str, int]:
    ends = [habit.minute for habit in day[1:]] + [24 * 60]
    return {habit.activity: end - habit.minute for habit, end in zip(day, ends, strict=True)}


@pytest.mark.parametrize("resident", RESIDENTS, ids=lambda resident: resident.persona.name)
def test_a_planned_day_has_the_same_things_and_the_long_ones_at_their_time(resident: Resident) -> None:
    for day in range(1, 15):
        logged, planned = resident.days[(day - 1) % len(resident.days)], planned_day(resident, day, 7)
        assert planned == planned_day(resident, day, 7)
        assert sorted(habit.activity for habit in planned) == sorted(habit.activity for habit in logged)
        minutes = [habit.minute for habit in planned]
        assert minutes == sorted(set(minutes))
        long = lasting(logged)
        for habit in logged:
            if habit.asleep or long[habit.activity] >= 90 or "10:00" in habit.activity:
                assert habit in planned
        places = {habit.activity: habit.place for habit in logged}
        assert all(habit.place == places[habit.activity] for habit in planned)


def test_days_vary_and_by_seed() -> None:
    days = {planned_day(RESIDENTS[0], day, 7) for day in (1, 3, 5, 7)}
    assert len(days) == 4
    assert planned_day(RESIDENTS[0], 1, 7) != planned_day(RESIDENTS[0], 1, 8)


def test_without_a_seed_the_log_is_repeated() -> None:
    for day in (1, 2, 3, 4):
        assert planned_day(RESIDENTS[0], day, None) == RESIDENTS[0].days[(day - 1) % 2]
    nobody_knows = RESIDENTS[0].model_copy(update={"days": ()})
    assert planned_day(nobody_knows, 1, 7) == ()


@pytest.mark.parametrize(
    ("settings", "varies"), [({}, True), ({"day_plans": "log"}, False), ({"preset": "paper"}, False)]
)
def test_what_a_simulation_stores(settings: dict[str, str], varies: bool) -> None:
    plan = plan_simulation("tidewell", RunRequest(settings))
    assert (_with_plans(plan).plan_seed is not None) == varies
    assert _with_plans(plan_simulation("tidewell", RunRequest(settings), from_log=True)).plan_seed is None
