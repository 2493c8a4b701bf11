"""`inventory` and `behaviour` on stored runs: what is asked, how often, what is kept, and how it is shown."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Cli
from support.group_stored import a_group_run
from support.meeting_case import a_meeting_of
from support.scripted import ScriptedModel

from tertulia.cli.terminal import asking
from tertulia.lab.annotations.annotating import answers_to
from tertulia.lab.annotations.inventory import inventory_requests
from tertulia.models.rehearsal import RehearsalModel
from tertulia.state.annotation import Annotation
from tertulia.state.cognition import Character
from tertulia.state.errors import ModelError
from tertulia.state.meeting import BIG_FIVE
from tertulia.state.records import RunRecord, Turn, TurnRecord
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

POLES = (tuple(high for high, _ in BIG_FIVE.values()), tuple(low for _, low in BIG_FIVE.values()))


def store_meeting(store: SqlStore, turns: int, people: int = 5, run: str = "m33t", silent: int = 7) -> RunRecord:
    """Store a meeting: everybody speaks in turn, every seventh turn is a silence; poles alternate by person."""
    record = a_group_run(run, status="finished", model="rehearsal", rehearsed=True)
    meeting = a_meeting_of(people)
    store.create_run(record, meeting)
    for at, name in enumerate(meeting.names):
        store.save_step(run, 0, name, "prepare", Character(big_five=POLES[at % 2], descriptions=(), plan=()))
    write_lines(store, run, meeting.names, 1, turns, silent)
    return store.run(run)


def write_lines(store: SqlStore, run: str, names: tuple[str, ...], first: int, last: int, silent: int = 7) -> None:
    for turn in range(first, last + 1):
        name = None if turn % silent == 0 else names[turn % len(names)]
        text = "" if name is None else f"I suggest that we do thing {turn}."
        said = Turn(turn=turn, round=turn, speaker=name, text=text, sim_time_s=10 * turn, ended=False)
        store.save_turn(run, TurnRecord(turn=said))


async def asked(store: SqlStore, run: str, model: RehearsalModel | None) -> list[Annotation]:
    """Answer the inventory about a run; without a model nothing may be asked."""

    def opened() -> RehearsalModel:
        assert model is not None, "a model was asked for"
        return model

    requests = inventory_requests(store.turns(run))
    return await answers_to(requests, store, store.run(run), "scripted", opened)


def questions(model: ScriptedModel) -> int:
    return sum(map(len, model.asked("generate_batch")))


@pytest.fixture
def store() -> SqlStore:
    return SqlStore.open(":memory:", create=True)


# --- what is asked --------------------------------------------------------------------------------------------------


async def test_a_hundred_turns_of_five_people_cost_eight_calls_a_person(store: SqlStore) -> None:
    store_meeting(store, turns=100)
    model = ScriptedModel()
    readings = await asked(store, "m33t", model)
    calls = {name: sum(annotation.agent == name for annotation in readings) for name in store.start("m33t").names}
    assert calls == dict.fromkeys(calls, 8)
    assert questions(model) == len(readings) == 40
    assert len(model.asked("generate_batch")) == 4  # ten at once
    assert all(set(annotation.answers.values()) <= {1, 2, 3, 4, 5} for annotation in readings)


async def test_only_what_was_said_since_is_asked_when_a_run_goes_on(store: SqlStore) -> None:
    store_meeting(store, turns=31)
    names = store.start("m33t").names
    await asked(store, "m33t", ScriptedModel())
    write_lines(store, "m33t", names, 32, 33)
    model = ScriptedModel()
    readings = await asked(store, "m33t", model)
    assert questions(model) == 6  # the second segment, three people
    assert {(annotation.first, annotation.last) for annotation in readings} == {(1, 30), (31, 33)}
    assert len(Annotations(store.file).of("m33t")) == len(readings) == 16


async def test_a_fork_has_the_answers_about_what_it_shares(store: SqlStore) -> None:
    store_meeting(store, turns=60)
    await asked(store, "m33t", ScriptedModel())
    fork = a_group_run("f0rk", parent=("m33t", 45))
    store.create_run(fork, store.start("m33t"))
    write_lines(store, "f0rk", store.start("m33t").names, 45, 60, silent=5)
    model = ScriptedModel()
    readings = await asked(store, "f0rk", model)
    assert questions(model) == sum(annotation.first == 31 for annotation in readings) == 10
    assert len(Annotations(store.file).of("f0rk")) == 20


async def test_a_failure_keeps_what_was_answered(store: SqlStore) -> None:
    store_meeting(store, turns=60)
    with pytest.raises(ModelError):
        await asked(store, "m33t", ScriptedModel(fails_at=12))
    assert len(Annotations(store.file).of("m33t")) == 10
    model = ScriptedModel()
    assert len(await asked(store, "m33t", model)) == 20
    assert questions(model) == 10


async def test_an_impossible_answer_is_an_error_and_is_not_kept(store: SqlStore) -> None:
    store_meeting(store, turns=10)
    with pytest.raises(ModelError, match="scripted answered 6 to 'speaks a lot'"):
        await asked(store, "m33t", ScriptedModel(ratings=[6]))
    assert Annotations(store.file).of("m33t") == []


# --- how it is shown ------------------------------------------------------------------------------------------------


@pytest.fixture
def held(tmp_path: Path) -> RunRecord:
    """A stored meeting of a hundred turns in the store of the folder that `cli` works in."""
    with SqlStore.open(tmp_path / "tertulia.db", create=True) as store:
        return store_meeting(store, turns=100)


def test_table_one_has_two_poles_and_one_p_per_dimension(cli: Cli, held: RunRecord) -> None:
    document = cli("inventory", "@last", "--json").json
    assert (document["runs"], document["models"], document["rehearsed"]) == (["m33t"], ["rehearsal"], True)
    assert [row["dimension"] for row in document["table"]] == list(BIG_FIVE)
    for row in document["table"]:
        assert (row["high"]["pole"], row["low"]["pole"]) == BIG_FIVE[row["dimension"]]
        assert (row["high"]["people"], row["high"]["ratings"]) == (3, 12)
        assert (row["low"]["people"], row["low"]["ratings"]) == (2, 8)
        assert row["high"]["ci_low"] < row["high"]["mean"] < row["high"]["ci_high"]
        assert 0 < row["p"] <= 1
        assert 0 < row["p_people"] <= 1
    assert len(document["segments"]) == 20
    assert all(len(segment["ratings"]) == 44 and len(segment["scores"]) == 5 for segment in document["segments"])
    assert document["cost"][0]["calls"] == 40
    shown = cli("inventory", "@last", "--paper").out
    rows = [text for text in shown.splitlines() if text.strip()]
    assert sum("extroverted" in row for row in rows) == sum("emotionally stable" in row for row in rows) == 1
    assert sum(row.strip().startswith("paper") for row in rows) == 10
    assert "4.80 [4.61, 4.99]" in shown
    assert "rehearsed: the figures mean nothing" in shown


def test_asked_again_no_model_is_opened(cli: Cli, held: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cli("inventory", "m33t", "--json").json
    monkeypatch.setattr(asking, "open_language_model", lambda *_: pytest.fail("a model was opened"))
    assert cli("inventory", "m33t", "--json").json == first
    assert cli("inventory", "m33t", "--rehearse", "--json").json == first


def test_behaviour_comes_with_the_lines_that_show_it(cli: Cli, held: RunRecord) -> None:
    document = cli("behaviour", "@last", "--embedder", "rehearsal", "--json").json
    assert (document["run"], document["labelled_by"], document["embedder"]) == ("m33t", "prototypes", "rehearsal")
    assert [turn_row["turn"] for turn_row in document["turns"]] == [turn for turn in range(1, 101) if turn % 7]
    proposals = [proposal for agent in document["agents"] for proposal in agent["proposals"]]
    assert len(proposals) == sum("proposes" in line["acts"] for line in document["turns"]) > 0
    assert sum(agent["acts"]["proposes"] for agent in document["agents"]) == len(proposals)
    shown = cli("behaviour", "@last", "--embedder", "rehearsal").out
    assert f"turn {proposals[0]['turn']} · {proposals[0]['text']}" in shown


def test_a_model_labels_once(cli: Cli, held: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("behaviour", "@last", "--labelled-by", "rehearsal", "--embedder", "rehearsal", "--json")
    first = cli(*arguments).json
    monkeypatch.setattr(asking, "open_language_model", lambda *_: pytest.fail("a model was opened"))
    assert cli(*arguments).json == first
    assert {len(line["acts"]) for line in first["turns"]} == {0, 1}


def test_what_can_not_be_is_told(cli: Cli, held: RunRecord) -> None:
    cli("inventory", "@last", "--rehearse", "--model", "smollm2").complains(2, "--rehearse", "--model smollm2")
    cli("inventory", "@last", "--model", "smolm2").complains(3, "unknown model 'smolm2'", "smollm2")
    cli("inventory", "none").complains(3, "no run 'none'")
    cli("behaviour", "@last", "--labelled-by", "prototype").complains(3, "unknown model 'prototype'")
    cli("behaviour", "@last", "--embedder", "./nowhere").complains(3, "no such folder: ./nowhere")


@pytest.mark.parametrize("change", ["answers = '{}'", "answers = answers || ' '", "last = 29", "model = 'x'"])
def test_an_altered_answer_is_told(cli: Cli, held: RunRecord, tmp_path: Path, change: str) -> None:
    cli("inventory", "@last")
    with closing(sqlite3.connect(tmp_path / "tertulia.db")) as connection, connection:
        connection.execute(f"UPDATE annotations SET {change} WHERE agent = 'Person 1' AND part = 0 AND first = 1")
    cli("inventory", "@last").complains(1, "damaged or was altered", "annotations")
