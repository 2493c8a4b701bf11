"""Days of a town: who meets when, what stays of a conversation, and what people make of it."""

import random
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.dialogue_case import NOW, a_context, a_pier, many_memories, some_turns
from support.forked import Forked
from support.ga_builder import RunBuilder, event, real_run
from support.scripted import ScriptedModel
from support.store_checks import differences, faults

from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.town.draw_encounters import encounters_of
from tertulia.nodes.town.reflect import insights
from tertulia.nodes.town.remember import memories_of_conversation
from tertulia.prompts.cut import item_of
from tertulia.state.context import Context
from tertulia.state.records import Case, Prompt, Remembered, TurnRecord
from tertulia.state.town import Encounter, Simulation, Town
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import TOWNS
from tertulia.worlds.town import open_town

HELLO = [["Ann", "Hello."], ["Bea", "Good day."]]


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    """Three people on one day; Ann and Bea talk at noon and at three."""
    builder = RunBuilder(tmp_path / "log")
    for name in ("Ann", "Bea", "Cy"):
        builder.person(name, event("08:00:00", name, "waking up"), event("16:00:00", name, "washing up"))
        builder.step("08:00:00", name, f"reading the paper @ Ville:{name}'s house:kitchen:table")
        builder.step("15:00:00", name, f"napping @ Ville:{name}'s house:bedroom:bed")
    builder.step("07:00:00", "Cy", "sleeping @ Ville:Cy's house:bedroom:bed")
    builder.step("08:00:00", "Cy", "sleeping @ Ville:Cy's house:bedroom:bed")
    builder.step("15:00:00", "Cy", "sleeping @ Ville:Cy's house:bedroom:bed")
    builder.talk("12:00:00", "Ann", "Bea", HELLO, "greeting each other")
    return builder.talk("15:30:00", "Bea", "Ann", [["Bea", "Rain again."]], "talking about the rain")


def the_town(run: RunBuilder, from_log: bool = False) -> tuple[Town, dict[str, list[Remembered]]]:
    opened = open_town(f"ga:{run.write()}", from_log)
    return opened.town, {name: list(memories) for name, memories in opened.memories.items()}


# --- who meets when -------------------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_encounters() -> None:
    town = open_town("tidewell", from_log=False).town
    days = [encounters_of(town, day, 1, 5) for day in range(1, 8)]
    assert days == [encounters_of(town, day, 1, 5) for day in range(1, 8)]
    assert days != [encounters_of(town, day, 2, 5) for day in range(1, 8)]
    for day, encounters in enumerate(days, start=1):
        assert [encounter.number for encounter in encounters] == [1, 2, 3, 4, 5]
        assert {encounter.time.date() for encounter in encounters} == {(town.begins + timedelta(days=day - 1)).date()}
        moments = [encounter.time for encounter in encounters]
        assert all(later - earlier >= timedelta(minutes=20) for earlier, later in pairwise(moments))
        assert len({frozenset(encounter.pair) for encounter in encounters}) == 5, (
            "nobody meets twice while others have not met"
        )


def test_nobody_meets_in_their_sleep(run: RunBuilder) -> None:
    town, _ = the_town(run)
    met = {name for day in range(1, 30) for encounter in encounters_of(town, day, 1, 4) for name in encounter.pair}
    assert met == {"Ann", "Bea"}


@pytest.mark.parametrize("name", [*TOWNS, "the real log"])
def test_in_a_month_all_who_meet_are_in_one_place_or_one_is_said_to_come(name: str) -> None:
    town = open_town(f"ga:{real_run()}" if name not in TOWNS else name, from_log=False).town
    together = 0
    for encounter in (encounter for day in range(1, 31) for encounter in encounters_of(town, day, 5, 6)):
        places = []
        for person in encounter.pair:
            habits = town.resident(person).days[(encounter.day - 1) % len(town.resident(person).days)]
            minute = encounter.time.hour * 60 + encounter.time.minute
            places.append([habit.place for habit in habits if habit.minute <= minute][-1])
        assert encounter.place == places[0]
        is_visit = f"to see {encounter.initiator}" in (encounter.activities[1] or "")
        assert is_visit == (places[0] != places[1])
        together += not is_visit
    assert together, "some are in one place anyway"


def test_encounters_of_the_log_are_at_its_own_times_and_begin_again(run: RunBuilder) -> None:
    town, _ = the_town(run, from_log=True)
    for day in (1, 2):
        encounters = encounters_of(town, day, 1, None)
        date = f"2023-02-{12 + day}"
        assert [(str(encounter.time), encounter.pair) for encounter in encounters] == [
            (f"{date} 12:00:00", ("Ann", "Bea")),
            (f"{date} 15:30:00", ("Bea", "Ann")),
        ]
        assert [(encounter.day, encounter.number) for encounter in encounters] == [(day, 1), (day, 2)]


# --- what is known at the beginning ---------------------------------------------------------------------------------


def test_drawn_days_follow_the_log_and_everything_in_it_is_known(run: RunBuilder) -> None:
    town, memories = the_town(run)
    assert town.begins == datetime(2023, 2, 14)
    assert [memory.text for memory in memories["Ann"] if memory.kind == "event"] == [
        "Ann is waking up",
        "Ann is washing up",
    ]
    assert [[line.text for line in past.dialogue.utterances] for past in town.past] == [
        ["Hello.", "Good day."],
        ["Rain again."],
    ]


def test_days_of_the_log_begin_with_what_is_from_before_its_first_dialogue(run: RunBuilder) -> None:
    run.person("Ann", event("11:00:00", "Ann", "greeting each other"))  # planned ahead: it tells of the dialogue
    town, memories = the_town(run, from_log=True)
    assert town.begins == datetime(2023, 2, 13)
    assert [memory.text for memory in memories["Ann"]] == ["Ann is waking up"]
    assert town.past == ()


# --- what stays of a conversation -----------------------------------------------------------------------------------


def an_encounter(**changes: Any) -> Encounter:
    known = {"day": 2, "number": 1, "time": NOW, "place": "the pier", "initiator": "Mara", "partner": "Piotr"}
    return Encounter.model_validate({**known, "activities": ("mending a net", "reading"), "run": "k3f9"} | changes)


def a_talk(model: ScriptedModel, start: Case | None = None, store: SqlStore | None = None) -> Context:
    """The run of an encounter whose conversation is over, in which the model rates."""
    context = a_context(model, store, start)
    for turn in some_turns(4):
        context.store.save_turn(context.run, TurnRecord(turn=turn))
    return context


async def test_an_event_a_summary_and_a_thought_each_with_its_importance() -> None:
    model = ScriptedModel(comments=["They spoke of the lamp.", "He may need help."], ratings=[2, 5, 9])
    memories = await memories_of_conversation(a_talk(model), an_encounter(), "Mara", round=5)
    assert [(memory.id, memory.kind, memory.importance, memory.text) for memory in memories] == [
        ("day_2_1_event", "event", 2, "On Wednesday 6 May Piotr was reading."),
        (
            "day_2_1_summary",
            "event",
            5,
            "On Wednesday 6 May Mara talked with Piotr (the pier): They spoke of the lamp.",
        ),
        ("day_2_1_thought", "thought", 9, "He may need help."),
    ]
    over = NOW + timedelta(seconds=4 + 2 / 150 * 60)  # the last line has two words
    assert {memory.created for memory in memories} == {over}


async def test_what_was_said_is_what_is_summed_up() -> None:
    model = ScriptedModel()
    await memories_of_conversation(a_talk(model), an_encounter(), "Piotr", round=5)
    summarise, rate = (request.prompt.source for request in model.asked("generate"))
    said = [unit.text for unit in summarise.units if unit.kind == "item"]
    assert said == ["Mara: Line 1.", "Piotr: Line 2.", "Mara: Line 3.", "Piotr: Line 4."]
    assert "what Piotr and Mara talked about" in "".join(unit.text for unit in summarise.units)
    assert [unit.text[:3] for unit in rate.units if unit.kind == "item"] == ["1. ", "2. ", "3. "]


# --- reflection -----------------------------------------------------------------------------------------------------


def a_simulation(**changes: Any) -> Simulation:
    known = {"simulation": "town", "status": "running", "town": "pier", "model": "scripted", "embedder": "rehearsal"}
    known |= {"rehearsed": True, "seed": 1, "days": 1, "encounters_per_day": 2, "parameters": {}, "created": NOW}
    return Simulation.model_validate(known | changes)


async def test_insights_with_what_they_rest_on() -> None:
    store = SqlStore.open(":memory:")
    known = [Remembered(**memory.model_dump()) for memory in many_memories("Mara", 40)]
    vectors = RehearsalEmbedder().embed([memory.text for memory in known])
    town = Town(name="pier", begins=NOW, residents=())
    store.simulations.create(a_simulation(), town, {"Mara": (known, vectors)})
    stream = store.simulations.stream(a_simulation(), "Mara")
    case = a_pier()
    mara = case.initiator.model_copy(update={"stream": stream, "memories": ()})
    model = ScriptedModel(
        comments=["Who has the lantern?", "What of the ferry?", "Who has the lantern?", "She waits.", "She hopes."],
        ratings=[3, 1, 3, 15, 15, 2, 8, 6],  # twice three pieces of evidence, twice an importance
    )
    context = a_talk(model, case.model_copy(update={"initiator": mara}), store)
    found = await insights(context, an_encounter(), stream, round=6)
    assert [(insight.id, insight.kind, insight.text, insight.importance) for insight in found] == [
        ("day_2_1_insight_1", "thought", "She waits.", 8),
        ("day_2_1_insight_2", "thought", "She hopes.", 6),
    ]
    assert [len(insight.evidence) for insight in found] == [2, 2], "each memory counts once"
    questions, lantern, ferry, _ = (request.prompt.source for request in model.asked("generate"))
    assert sum(unit.kind == "item" for unit in questions.units) == 40
    for prompt, question, insight in ((lantern, "lantern", found[0]), (ferry, "ferry", found[1])):
        recalled = [unit.text for unit in prompt.units if unit.kind == "item"]
        assert len(recalled) == 15
        assert any(question in line for line in recalled)
        assert {memory.text for memory in known if memory.id in insight.evidence} <= {
            line.partition(" ")[2] for line in recalled
        }


# --- days -----------------------------------------------------------------------------------------------------------

SHORT = ("--encounters-per-day", "3", "--set", "max_turns=3")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    """A store with four days of one town."""
    folder = tmp_path_factory.mktemp("days")
    path, settings = folder / "tertulia.db", ("--set", "retrieval_recency=3", "--set", "reflection_threshold=12")
    arguments = ["simulate", "tidewell", "--rehearse", "--days", "4", *SHORT, *settings, "--store", str(path)]
    assert Forked(arguments, folder / "said.txt").wait() == 0
    with SqlStore.open(path) as opened:
        yield opened


def copied(store: SqlStore) -> str:
    """Copy the store into the folder of a test; return the id of its simulation."""
    with closing(sqlite3.connect("tertulia.db")) as connection:
        store.file.database.conn.backup(connection)  # type: ignore[attr-defined]
    return store.simulations.get("@last").simulation


def prompts(store: SqlStore, run: str) -> list[Prompt]:
    turns = range(1, store.run(run).turns + 1)
    return [store.prompt(store.turn_record(run, turn).prompt or "") for turn in turns]


def test_what_was_said_yesterday_is_recalled_tomorrow_and_prompts_stay_as_long(store: SqlStore) -> None:
    recalled: dict[int, int] = {}
    for encounter in store.simulations.encounters(store.simulations.get("@last").simulation):
        for prompt in prompts(store, encounter.run):
            ids = [unit.id for unit in prompt.units]
            days = [int(found[1]) for id in ids if (found := re.match(r"memory\.day_(\d+)_", id))]
            assert all(day <= encounter.day for day in days), "nobody remembers the future"
            assert sum(id.startswith("memory.") for id in ids) <= 46  # with what stands before them
            assert len({item_of(id) for id in ids if id.startswith("previous_dialogues.item")}) <= 3
            recalled[encounter.day] = recalled.get(encounter.day, 0) + sum(day < encounter.day for day in days)
    assert not recalled[1]
    assert all(recalled[day] for day in (2, 3, 4))


def test_a_conversation_begins_where_the_last_one_of_the_two_ended(store: SqlStore) -> None:
    held = store.simulations.encounters(store.simulations.get("@last").simulation)
    for at, encounter in enumerate(held):
        start = store.start(encounter.run)
        assert isinstance(start, Case)
        assert start.names == encounter.pair
        before = [other for other in held[:at] if set(other.pair) == set(encounter.pair)]
        if before:
            lines = [(line.speaker, line.text) for line in start.previous_dialogues[-1].utterances]
            assert lines == [(turn.speaker, turn.text) for turn in store.turns(before[-1].run)]
    assert any(len(store.start(encounter.run).previous_dialogues) > 1 for encounter in held)


def test_who_reflects_begins_to_gather_anew(store: SqlStore) -> None:
    simulation = store.simulations.get("@last")
    reflected = 0
    for resident in store.simulations.town(simulation.simulation).residents:
        stream = store.simulations.stream(simulation, resident.persona.name)
        gathered, formed = 0.0, [m for m in store.remembered(stream) if m.id.startswith("day_")]
        by_encounter = groupby(formed, key=lambda memory: memory.id.split("_")[:3])
        for _, memories in by_encounter:
            kept, concluded = [], []
            for memory in memories:
                (concluded if memory.evidence else kept).append(memory)
            gathered += sum(memory.importance for memory in kept)
            assert bool(concluded) == (gathered >= 12)
            if concluded:
                gathered, reflected = 0.0, reflected + 1
                known = {memory.id for memory in store.remembered(stream)}
                assert all(set(memory.evidence) <= known for memory in concluded)
    assert reflected > 2


def test_a_fork_remembers_what_its_parent_did_then(cli: Cli, store: SqlStore) -> None:
    simulation = copied(store)
    fork = cli("fork", f"{simulation}-1-2", "--at", "1", "--json").json["run"]
    assert cli("diff", f"{simulation}-1-2", fork, "--exit-code").code == 0


# --- killed ---------------------------------------------------------------------------------------------------------


def test_killed_and_resumed_it_is_the_same_town(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, killed = tmp_path / "said.txt", tmp_path / "killed.db"
    settings = ("--encounters-per-day", "2", "--set", "max_turns=3", "--set", "reflection_threshold=8")
    arguments = ["tidewell", "--rehearse", "--days", "2", *settings]
    drawn = random.Random(5)
    process = Forked(["simulate", *arguments, "--store", str(killed)], said)
    while not (said.exists() and said.read_text().startswith("simulation ")):
        time.sleep(0.005)
    simulation = said.read_text().split()[1]
    kills = 0
    while kills < 2:
        time.sleep(drawn.uniform(0.02, 0.3))
        if process.poll() is not None:
            break
        process.kill()
        process.wait()
        kills += 1
        process = Forked(["simulate", "--resume", simulation, "--store", str(killed)], said)
    assert process.wait() == 0, said.read_text()
    assert kills
    monkeypatch.setattr(SqlStore, "new_run_id", lambda self: simulation)
    assert cli("simulate", *arguments, "--json").code == 0
    with SqlStore.open(tmp_path / "tertulia.db") as sound, SqlStore.open(killed) as resumed:
        assert resumed.simulations.get(simulation).status == "finished"
        assert faults(resumed) == []
        held = sound.simulations.encounters(simulation)
        assert resumed.simulations.encounters(simulation) == held
        for encounter in held:
            assert differences((sound, encounter.run), (resumed, encounter.run)) == []
        memories = "SELECT agent, number, memory, hash, created, importance, evidence, vector FROM memories"
        memories += " JOIN contents ON contents.id = content_id ORDER BY agent, number"
        assert sound.file.rows(memories) == resumed.file.rows(memories)
