"""Goals in the days of a town: who means to see somebody seeks them, once, where they are, and it is said why."""

from datetime import datetime
from pathlib import Path

import pytest

from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.nodes.town.draw_encounters import habit_at
from tertulia.runs.access.engines import Engines, ModelAccess
from tertulia.runs.driving.towns import drive_simulation
from tertulia.runs.planning.simulations import begin_simulation, plan_simulation
from tertulia.state.errors import ModelError
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case
from tertulia.state.town import Encounter, Simulation
from tertulia.storage.store import SqlStore
from tertulia.views.reading.agreements import mark_of

SETTINGS = {"max_turns": 2, "ending": "off", "redraws": 0, "drafts": 1, "agreements": False}


def begun(store: SqlStore, days: int = 2, **settings: object) -> Simulation:
    plan = plan_simulation(
        "tidewell", {**SETTINGS, "goals": True, **settings}, days=days, encounters_per_day=2, model="rehearsal"
    )
    return begin_simulation(store, plan, ModelAccess())[0]


class FailingModel(RehearsalModel):
    """Fails once it has generated so many times."""

    left = 10**6

    def generate(self, requests):  # type: ignore[no-untyped-def]
        self.left -= 1
        if self.left < 0:
            raise ModelError("rehearsal", "stopped")
        return super().generate(requests)


def drive(store: SqlStore, simulation: Simulation, model: RehearsalModel | None = None) -> None:
    engines = Engines(model or RehearsalModel("rehearsal"), {}, RehearsalEmbedder())
    drive_simulation(store, simulation, engines, lambda event: None)


def lived(path: Path | str = ":memory:", **settings: object) -> tuple[SqlStore, Simulation]:
    store = SqlStore.open(path)
    simulation = begun(store, **settings)
    drive(store, simulation)
    return store, simulation


def sought_in(store: SqlStore, simulation: Simulation) -> list[Encounter]:
    return [met for met in store.simulations.encounters(simulation.simulation) if met.errand is not None]


def test_who_promised_to_tell_somebody_seeks_them_on_that_day_where_they_are() -> None:
    store, simulation = lived(days=3)
    sought = sought_in(store, simulation)
    (promised,) = (met for met in sought if "to tell Leila Haddad on Sunday" in (met.errand.what if met.errand else ""))
    assert promised.pair == ("Priya Nambiar", "Leila Haddad")
    assert promised.time.date() == datetime(2024, 11, 17).date()  # a Sunday
    town = store.simulations.town(simulation.simulation)
    there, come = (habit_at(town, name, promised.time) for name in ("Leila Haddad", "Priya Nambiar"))
    assert there is not None
    assert come is not None
    assert promised.place == there.place
    assert not there.asleep
    assert promised.activities[1] == there.activity
    expected = come.activity if come.place == there.place else f"coming over from {come.place} to see Leila Haddad"
    assert promised.activities[0] == expected
    case = store.start(promised.run)
    assert isinstance(case, Case)
    assert (case.place, case.initiator.activity) == (promised.place, expected)
    assert "sought by Priya Nambiar (Priya Nambiar promised" in mark_of(promised)
    store.close()


def test_a_goal_is_followed_once_and_few_on_a_day() -> None:
    store, simulation = lived(days=4)
    sought = sought_in(store, simulation)
    assert sought
    keys = [(met.errand.memory, met.errand.seeker, met.partner) for met in sought if met.errand]
    assert len(keys) == len(set(keys))
    for day in range(1, 5):
        assert sum(met.day == day for met in sought) <= 1  # half of two
    store.close()


@pytest.mark.parametrize("settings", [{"goals": False}, {"preset": "paper", "goals": False}])
def test_without_goals_nobody_is_sought_and_the_drawn_are_the_same(settings: dict[str, object]) -> None:
    store, simulation = lived(**settings)
    assert sought_in(store, simulation) == []
    drawn = [(met.day, met.time, met.pair) for met in store.simulations.encounters(simulation.simulation)]
    store.close()
    store, simulation = lived()
    met = [met for met in store.simulations.encounters(simulation.simulation) if met.is_drawn]
    assert [(met.day, met.pair) for met in met] == [(day, pair) for day, _, pair in drawn]
    store.close()


def test_the_paper_knows_no_goals() -> None:
    assert not Parameters().with_settings({"preset": "paper"}).goals
    assert Parameters().goals


def test_a_town_that_stops_on_a_day_with_goals_goes_on_the_same(tmp_path: Path) -> None:
    whole, simulation = lived(tmp_path / "whole.db")
    store = SqlStore.open(tmp_path / "stopped.db")
    again = begun(store)
    for left in (7, 9, 11):
        model = FailingModel("rehearsal")
        model.left = left
        with pytest.raises(ModelError):
            drive(store, again, model)
    drive(store, store.simulations.get(again.simulation))
    pairs = [
        [(met.day, met.number, met.time, met.pair, met.place, met.errand) for met in where.simulations.encounters(of)]
        for where, of in ((whole, simulation.simulation), (store, again.simulation))
    ]
    assert pairs[0] == pairs[1]
    assert any(errand for *_, errand in pairs[0])
    whole.close()
    store.close()


def test_who_names_the_number_of_encounters_gets_as_many_unless_goals_are_set() -> None:
    plans = [
        plan_simulation("tidewell", settings, encounters_per_day=number, model="rehearsal").parameters.goals
        for settings, number in (({}, None), ({}, 2), ({"goals": True}, 2), ({"goals": False}, None))
    ]
    assert plans == [True, False, True, False]
