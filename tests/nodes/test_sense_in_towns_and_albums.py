"""What the monitor of sense knows in a town and in an album chat."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.album_case import a_population as a_small_village
from support.dialogue_case import NOW, a_context
from support.rehearsed import rehearse_in
from support.scripted import ScriptedModel
from support.stored import a_run

from tertulia.nodes.shared.sense import Fault, faults_of
from tertulia.nodes.shared.situation import MEMORIES_SEEN, situation_in_exchange, situation_of
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.access.model_names import REHEARSAL
from tertulia.runs.driving.conversation import drive
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.planning.additions import NOTHING_ADDED
from tertulia.runs.planning.starting import RunPlan, begin
from tertulia.state.album import PARTS
from tertulia.state.parameters import ALBUM_CHAT, Parameters
from tertulia.state.records import (
    Case,
    Participant,
    Persona,
    Prompt,
    Remembered,
    RunRecord,
    Stream,
    Turn,
    TurnRecord,
    Unit,
)
from tertulia.state.town import Resident, Simulation, Town
from tertulia.storage.store import SqlStore
from tertulia.views.reading.sense import found_in_run
from tertulia.views.reading.turns import read_turn

PAIR = ("Ada", "Ben")
OF_ADA = ("Ada sold eleven baskets on Tuesday.",)
OF_BEN = ("Ben repaired the church organ in Lund.", "Ada mended the nets by the harbour.")
TAKEN = "I repaired the organ of the church."

# --- towns ----------------------------------------------------------------------------------------------------------


def remembered(texts: Sequence[str]) -> tuple[Remembered, ...]:
    begins = NOW - timedelta(days=30)
    return tuple(
        Remembered(
            id=f"node_{at}",
            kind="event",
            text=text,
            created=begins + timedelta(minutes=at),
            importance=3.0,
            evidence=(),
        )
        for at, text in enumerate(texts)
    )


def in_town(store: SqlStore, of_ada: Sequence[str] = OF_ADA, of_ben: Sequence[str] = OF_BEN) -> Case:
    """Two people of a town, with what they remember of its days in the store."""
    residents = tuple(Resident(persona=Persona(name=name), days=()) for name in PAIR)
    simulation = Simulation(
        simulation="t0wn",
        status="running",
        town="quay",
        model="m",
        embedder="rehearsal",
        rehearsed=True,
        seed=3,
        days=2,
        encounters_per_day=2,
        parameters=a_run().parameters,
        created=a_run().created,
    )
    streams = {
        name: (remembered(texts), [[1.0, *[0.0] * 7]] * len(texts))
        for name, texts in zip(PAIR, (of_ada, of_ben), strict=True)
    }
    store.simulations.create(simulation, Town(name="quay", begins=NOW, residents=residents), streams)
    people = [
        Participant(
            persona=Persona(name=name),
            memories=(),
            stream=Stream(simulation="t0wn", agent=name, length=len(texts), embedder="another"),
        )
        for name, texts in zip(PAIR, (of_ada, of_ben), strict=True)
    ]
    return Case(scenario="quay", time=NOW, place="the quay", initiator=people[0], partner=people[1])


@pytest.fixture
def store(tmp_path: Path) -> SqlStore:
    return SqlStore.open(tmp_path / "store.db", create=True)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (TAKEN, ("memory",)),
        ("I sold seven baskets that day.", ("facts",)),
        ("I sold eleven baskets that day.", ()),
        ("I mended the nets by the harbour.", ()),  # Ben remembers it of Ada, and it is hers
        ("Did you repair the church organ?", ()),
    ],
)
def test_a_line_is_read_against_what_a_towns_people_remember_of_its_days(
    store: SqlStore, text: str, faults: tuple[Fault, ...]
) -> None:
    case = in_town(store)
    store.create_run(a_run(), case)
    assert faults_of(text, situation_of(store, "k3f9", case, "Ada", 1, 0.0)) == faults
    assert faults_of(text, situation_of(store, "k3f9", case, "Ada", 1, 0.0, with_streams=False)) == ()


def test_of_a_long_stream_only_the_latest_and_what_prompts_showed_is_read(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = ["Ben repaired the church organ in Lund.", "Ben painted the lighthouse door."]
    case = in_town(store, of_ben=[*older, *(f"Ben saw heron {number}." for number in range(3000))])
    store.create_run(a_run(), case)
    read: list[int] = []
    whole = SqlStore.remembered

    def counting(self: SqlStore, stream: Stream, numbers: Sequence[int] | None = None) -> list[Remembered]:
        found = whole(self, stream, numbers)
        read.append(len(found))
        return found

    monkeypatch.setattr(SqlStore, "remembered", counting)
    assert faults_of(TAKEN, situation_of(store, "k3f9", case, "Ada", 1, 0.0)) == ()
    assert max(read) == MEMORIES_SEEN
    unit = Unit(id="memory.node_0", block="memory", kind="item", text=f"- {older[0]}", removable=True)
    prompt = store.save_prompt(Prompt(units=(unit,), speaker="Ben", layout="single_message"))
    spoken = Turn(turn=1, round=1, speaker="Ben", text="Good day.", sim_time_s=0.0, ended=False)
    store.save_turn("k3f9", TurnRecord(turn=spoken, prompt=prompt))
    assert faults_of(TAKEN, situation_of(store, "k3f9", case, "Ada", 2, 0.0)) == ("memory",)
    assert faults_of("I painted the lighthouse door.", situation_of(store, "k3f9", case, "Ada", 2, 0.0)) == ()


@pytest.mark.parametrize(("knows", "said"), [("all", "Good day to you."), ("scene", TAKEN)])
async def test_in_a_town_who_tells_the_others_memory_as_their_own_is_asked_again(
    store: SqlStore, knows: str, said: str
) -> None:
    lines = [TAKEN, "Good day to you.", "Good day to you."]
    context = a_context(
        ScriptedModel(speech=lines), store, in_town(store), removal_factor=0, max_turns=1, sense_knows=knows
    )
    await drive(context, InMemorySaver(), lambda event: None)
    assert [turn.text for turn in store.turns(context.run)] == [said]
    found = found_in_run(store, store.run(context.run))
    expected = [()] if knows == "all" else [("memory",)]
    assert found.faults == expected, "what is measured does not hang on it"
    assert found_in_run(store, store.run(context.run), with_prompts=False).faults == expected, "as days reads it"


# --- album chats ----------------------------------------------------------------------------------------------------


def album_prompt(*told: str) -> Prompt:
    units = tuple(
        Unit(id=f"picture.{at}", block="picture", kind="item", text=text, removable=True)
        for at, text in enumerate(told)
    )
    return Prompt(units=units, speaker="Ana 1", layout="single_message")


@pytest.mark.parametrize(
    ("said", "text", "faults"),
    [
        ({}, "I choose the red kite.", ()),
        ({"plan": "I choose the red kite."}, "I choose the red kite!", ("repeats",)),
        ({"plan": "I choose the red kite."}, "Who flies the red kite?", ()),
        ({"plan": "The kite.", "": "Where did you see the kite?"}, "Where did you see the kite?", ("repeats",)),
        ({"plan": "The kite.", "": "How many people do you need?"}, "The sea looks cold.", ("reply",)),
        ({"plan": "The kite.", "": "How many people do you need?"}, "Three.", ()),
        ({"plan": "The kite.", "": "What is it?"}, "There are five red boats on the water.", ("facts",)),
        ({"plan": "The kite.", "": "What is it?"}, "There are three red boats on the water.", ()),
        ({"plan": "The kite.", "": "What is it?"}, "I will tell Ana 1 about it.", ("misnames",)),
    ],
)
def test_an_utterance_of_an_exchange_is_read_against_the_picture_and_what_was_said(
    said: dict[str, str], text: str, faults: tuple[Fault, ...]
) -> None:
    prompt = album_prompt("It shows three red boats on a lake.")
    assert faults_of(text, situation_in_exchange(a_small_village(), ("Ana 1", "Ana 2"), said, prompt)) == faults


def an_album_run(store: SqlStore, **settings: object) -> RunRecord:
    chosen = Parameters.model_validate(
        {**Parameters().with_settings(ALBUM_CHAT).model_dump(), "max_turns": 6, **settings}
    )
    context = begin(store, RunPlan(a_small_village(6), chosen, REHEARSAL, 1, NOTHING_ADDED.registry()), ModelAccess())
    drive_run(store, context, lambda event: None)
    return store.run(context.run)


def test_in_an_album_chat_what_repeats_within_an_exchange_is_drawn_again(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearse_in(
        monkeypatch,
        openings=("Yes.", "No."),
        remarks=("I like {a}.", "I look at {a}.", "I know {a}."),
        endings=("Do you like {a}?", "Do you know {a}?"),
        comments=("It is {a}.",),
        topics=("the boat", "the mill", "the letter"),
    )
    with_all, scene = (an_album_run(store, sense_knows=knows, max_turns=16) for knows in ("all", "scene"))

    def vetoed(run: RunRecord) -> list[tuple[str, ...]]:
        return [
            candidate.faults or ()
            for turn in store.turns(run.run)
            for part in PARTS.values()
            for candidate in store.candidates(run.run, turn.turn, part)
            if candidate.origin == "vetoed"
        ]

    assert vetoed(scene) == []
    assert len(vetoed(with_all)) >= 3
    assert set(vetoed(with_all)) == {("repeats",)}
    assert not any(found_in_run(store, with_all).faults)
    found = found_in_run(store, scene).faults
    assert len(found) == 2 * scene.turns, "a question and an answer of each exchange"
    assert sum(map(bool, found)) >= 3


def test_a_turn_of_an_album_chat_says_what_is_wrong_with_each_of_its_utterances(store: SqlStore) -> None:
    run = an_album_run(store, sense_knows="scene")
    start = store.start(run.run)
    turns = [read_turn(store, run, start, turn.turn) for turn in store.turns(run.run)]
    spoken = [faults for turn in turns for faults in (turn.faults, turn.parts["answer"].faults)]
    assert spoken == found_in_run(store, run).faults
