"""What two agree on in talk becomes an entry of their days: they meet then, know it, and remember it."""

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from langgraph.runtime import Runtime
from support.scripted import ScriptedModel
from support.store_checks import differences, faults

from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.machinery.extensions import with_shipped
from tertulia.nodes.machinery.registry import Registry
from tertulia.nodes.town.agree import agree
from tertulia.nodes.town.draw_encounters import habit_at
from tertulia.runs.access.engines import Engines, ModelAccess
from tertulia.runs.driving.towns import drive_simulation
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.simulations import begin_simulation, plan_simulation
from tertulia.state.errors import ModelError
from tertulia.state.graph_state import TownState
from tertulia.state.language_model import RenderedPrompt, ReplyField
from tertulia.state.records import Case
from tertulia.state.town import Encounter, Simulation, TownContext
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.town import town_page
from tertulia.views.reading.agreements import counts_in_words, town_agreements
from tertulia.views.reading.days import days_document

Answer = Mapping[str, str | int]


#: An answer to the question what was agreed on, besides its `by`: the one who asks.
AT_THE_SLIP = {
    "agreed": "meeting",
    "what": "Tomorrow at nine at the slip?",
    "days": 1,
    "hour": 9,
    "minute": 0,
    "place": "the slip",
}
AT_NIGHT = {**AT_THE_SLIP, "hour": 3}
NO_PLACE = {**AT_THE_SLIP, "what": "One brings the paper over.", "hour": 10, "place": ""}


class AgreeingModel(ScriptedModel):
    """Gives the same answer to each question what was agreed on; all else is rehearsed."""

    def __init__(self, answer: Answer, fails_at: int | None = None) -> None:
        super().__init__(fails_at=fails_at)
        self._answer = answer

    def _value(
        self, field: ReplyField, prompt: RenderedPrompt, generator: random.Random, several: bool
    ) -> str | bool | int:
        if field.name == "by":
            return field.choices[0]
        if field.name in self._answer:
            return self._answer[field.name]
        return super()._value(field, prompt, generator, several)


def a_begun_town(store: SqlStore, days: int = 2, **settings: object) -> Simulation:
    """Store a simulation of Tidewell with two encounters a day, of two lines each."""
    plan = plan_simulation(
        "tidewell",
        RunRequest({"max_turns": 2, "ending": "off", "redraws": 0, "drafts": 1, **settings}, model="rehearsal"),
        days=days,
        encounters_per_day=2,
    )
    return begin_simulation(store, plan, ModelAccess())[0]


def drive(store: SqlStore, simulation: Simulation, answer: Answer, fails_at: int | None = None) -> None:
    engines = Engines(AgreeingModel(answer, fails_at), {}, RehearsalEmbedder())
    registry = with_shipped(Registry(), ["importance_by_words"])
    drive_simulation(store, simulation, engines, registry, lambda event: None)


def lived(answer: Answer, path: Path | str = ":memory:", **settings: object) -> tuple[SqlStore, Simulation]:
    store = SqlStore.open(path)
    simulation = a_begun_town(store, **settings)
    drive(store, simulation, answer)
    return store, store.simulations.get(simulation.simulation)


def the_agreed(store: SqlStore, simulation: Simulation) -> list[Encounter]:
    return [met for met in store.simulations.encounters(simulation.simulation) if met.appointment is not None]


def test_two_who_agree_meet_then_and_there_and_know_it() -> None:
    store, simulation = lived(AT_THE_SLIP)
    first = store.simulations.encounters(simulation.simulation)[0]
    (entry,) = store.simulations.diary(simulation.simulation)[first.run]
    assert entry.agreement.people == first.pair
    assert (entry.place, entry.hindrance) == ("landing stage at Old Slip", None)
    met = the_agreed(store, simulation)[0]
    assert set(met.pair) == set(first.pair)
    assert met.time == datetime.combine(first.time.date(), datetime.min.time()) + timedelta(days=1, hours=9)
    assert met.place == "landing stage at Old Slip"
    assert met.appointment == entry.appointment
    prompt = store.prompt(store.turn_record(met.run, 1).prompt or "")
    how = next(unit.text for unit in prompt.units if unit.id == "environment.context")
    assert "they had agreed on it on Saturday, 16 November" in how
    assert '"Tomorrow at nine at the slip?"' in how
    texts = [memory.text for memory in store.simulations.memories_of(simulation, first.initiator)]
    assert any("agreed to meet on Sunday 17 November at 09:00 (landing stage at Old Slip)" in text for text in texts)
    assert any("as they had agreed (landing stage at Old Slip)" in text for text in texts)
    case = store.start(met.run)
    assert isinstance(case, Case)
    assert case.appointment == entry.appointment
    assert faults(store) == []


def test_who_sleeps_or_has_agreed_before_can_not_come_and_it_is_said() -> None:
    store, simulation = lived(AT_NIGHT)
    entries = [entry for of_run in store.simulations.diary(simulation.simulation).values() for entry in of_run]
    assert entries
    assert {entry.hindrance for entry in entries} == {"asleep"}
    assert all(entry.hindered in entry.agreement.people for entry in entries)
    assert the_agreed(store, simulation) == []


def test_without_a_place_who_proposed_it_comes_over() -> None:
    store, simulation = lived(NO_PLACE)
    town = store.simulations.town(simulation.simulation)
    met = the_agreed(store, simulation)[0]
    first = store.simulations.encounters(simulation.simulation)[0]
    assert met.pair == (first.partner, first.initiator)
    host = habit_at(town, met.initiator, met.time)
    assert host is not None
    assert (met.place, met.activities[0]) == (host.place, host.activity)


def test_where_it_is_off_nobody_agrees_on_anything() -> None:
    store, simulation = lived(AT_THE_SLIP, agreements=False)
    assert store.simulations.diary(simulation.simulation) == {}
    assert the_agreed(store, simulation) == []


def test_what_became_of_agreements_is_told() -> None:
    store, simulation = lived(AT_THE_SLIP)
    outcomes = [(found.outcome, found.why) for found in town_agreements(store, simulation)]
    assert outcomes[0] == ("kept", None)
    assert ("not kept", "the last day is over before") in outcomes
    kept = [found.met for found in town_agreements(store, simulation) if found.outcome == "kept"]
    assert kept == [met.run for met in the_agreed(store, simulation)]
    assert "kept" in counts_in_words(town_agreements(store, simulation))
    asleep, night = lived(AT_NIGHT)
    assert all((found.why or "").endswith("sleeps then") for found in town_agreements(asleep, night))
    rows = days_document(simulation, [], town_agreements(store, simulation))["agreements"]
    assert rows[0]["said_place"] == "the slip"
    assert rows[0]["place"] == "landing stage at Old Slip"
    assert town_page(store, simulation.simulation)["agreements"] == rows


def everything(store: SqlStore) -> list[dict[str, object]]:
    steps = "SELECT run, round, agent, node, record FROM steps ORDER BY run, round, agent, node"
    memories = "SELECT agent, number, memory, hash, created, importance, evidence FROM memories"
    memories += " JOIN contents ON contents.id = content_id ORDER BY agent, number"
    return [*store.file.rows(steps), *store.file.rows(memories)]


def driven_on(path: Path, fails_at: int | None = None) -> bool:
    """Drive the town in a store of its own connection; return whether it was stopped by the model."""
    with SqlStore.open(path) as store:
        try:
            drive(store, store.simulations.get("town"), AT_THE_SLIP, fails_at)
        except ModelError:
            return True
    return False


@pytest.mark.parametrize("every", [5, 7])
def test_stopped_again_and_again_it_is_the_same_town(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqlStore, "new_run_id", lambda self: "town")
    with SqlStore.open(tmp_path / "stopped.db") as store:
        a_begun_town(store)
    stops = 0
    while driven_on(tmp_path / "stopped.db", fails_at=every):
        stops += 1
        assert stops < 200
    assert stops > 3
    assert_same(*lived(AT_THE_SLIP), tmp_path / "stopped.db")


def test_stopped_once_it_is_stored_it_is_the_same_town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqlStore, "new_run_id", lambda self: "town")
    with SqlStore.open(tmp_path / "stopped.db") as store:
        a_begun_town(store)
    done = []

    async def stopping(state: TownState, runtime: Runtime[TownContext]) -> TownState:
        done.append(update := await agree(state, runtime))
        if len(done) in (1, 3):
            raise ModelError("stopped")
        return update

    monkeypatch.setattr("tertulia.graphs.town.agree", stopping)
    assert [driven_on(tmp_path / "stopped.db") for _ in range(3)] == [True, True, False]
    assert_same(*lived(AT_THE_SLIP), tmp_path / "stopped.db")


def assert_same(sound: SqlStore, simulation: Simulation, path: Path) -> None:
    held = sound.simulations.encounters(simulation.simulation)
    assert any(met.appointment is not None for met in held)
    with SqlStore.open(path) as stopped:
        assert stopped.simulations.encounters("town") == held
        for met in held:
            assert differences((sound, met.run), (stopped, met.run)) == []
        assert everything(stopped) == everything(sound)
        assert faults(stopped) == []
