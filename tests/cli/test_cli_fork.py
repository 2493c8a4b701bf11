"""`fork`: the parent's turns up to a point, and what follows from what was changed."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

import tertulia
from tertulia.state.errors import StorageError
from tertulia.storage.store import SqlStore

MEETING = ("run", "team_building", "--rehearse", "--lambda", "0.5", "--rounds", "5", "--seed", "3", "--json")
#: A fork that ends with the turn at which it begins.
FOURTH = ("--at", "4", "--rounds", "4")
#: A dialogue that nobody ends before its limit.
DIALOGUE = ("run", "tidewell", "--rehearse", "--rounds", "5", "--set", "ending=off", "--json")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the meeting and the dialogue."""
    path = tmp_path_factory.mktemp("made") / "made.db"
    how = {"rehearse": True, "rounds": 5, "store": path, "progress": False}
    tertulia.run("team_building", removal_factor=0.5, seed=3, label="meeting", **how)
    tertulia.run("tidewell", settings={"ending": "off"}, label="dialogue", **how)
    return path


@pytest.fixture
def runs(cli: Cli, made: Path) -> dict[str, str]:
    """The ids of the meeting and of the dialogue, in a copy of their store in this folder."""
    shutil.copy(made, "tertulia.db")
    return {row["label"]: row["run"] for row in cli("runs", "--json").json["runs"]}


@pytest.fixture
def meeting(runs: dict[str, str]) -> str:
    return runs["meeting"]


@pytest.fixture
def dialogue(runs: dict[str, str]) -> str:
    return runs["dialogue"]


def turns(cli: Cli, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("show", run, "--json").json["turns"]
    return found


def forked(cli: Cli, run: str, *arguments: str) -> str:
    return str(cli("fork", run, *arguments, "--json").json["run"])


def rows_of(store: Path, run: str) -> list[Any]:
    """All rows of a run, as they stand in the file."""
    with sqlite3.connect(store) as connection:
        tables = ("runs", "lineage", "turns", "unit_scores", "candidates", "steps", "calls", "traces")
        return [connection.execute(f"SELECT * FROM {table} WHERE run = ?", (run,)).fetchall() for table in tables]


@pytest.mark.parametrize(("kind", "at"), [("meeting", 1), ("meeting", 4), ("dialogue", 2), ("dialogue", 5)])
def test_a_fork_without_a_change_is_its_parent(
    cli: Cli, runs: dict[str, str], tmp_path: Path, kind: str, at: int
) -> None:
    parent = runs[kind]
    before = rows_of(tmp_path / "tertulia.db", parent)
    fork = forked(cli, parent, "--at", at)
    assert cli("diff", parent, fork, "--exit-code").code == 0
    assert rows_of(tmp_path / "tertulia.db", parent) == before
    document = cli("show", fork, "--json").json
    assert document["parent"] == {"run": parent, "turn": at}
    assert len(document["turns"]) == 5


def test_the_seed_holds_from_the_fork_on(cli: Cli, meeting: str) -> None:
    fork = forked(cli, meeting, "--at", "4", "--set", "seed=9")
    assert turns(cli, fork)[:3] == turns(cli, meeting)[:3]
    assert turns(cli, fork)[3:] != turns(cli, meeting)[3:]
    anew = forked(cli, meeting, "--at", "1", "--seed", "9")
    assert turns(cli, anew) == turns(cli, cli(*MEETING, "--seed", "9").json["run"])


def test_every_kind_of_change(cli: Cli, meeting: str) -> None:
    assert any(unit["removed"] for unit in cli("show", meeting, "--turn", "4", "--json").json["units"])
    mild = forked(cli, meeting, "--at", "4", "--lambda", "0", "--rounds", "4")
    assert all(not unit["removed"] for unit in cli("show", mild, "--turn", "4", "--json").json["units"])
    ruled = forked(cli, meeting, "--at", "4", "--set", "order=rule_based")
    assert cli("show", ruled, "--turn", "5", "--json").json["floor"]["order"] == "rule_based"
    fewer = forked(cli, meeting, "--at", "4", "--mechanisms", "time_analysis, topic_analysis", "--rounds", "4")
    for turn, names in (("3", 6), ("4", 2)):
        for mind in cli("show", fewer, "--turn", turn, "--json").json["cognition"]:
            assert len(mind["mechanisms"]) == names
    without = forked(cli, meeting, *FOURTH, "--mechanisms", "none")
    assert all(mind["mechanisms"] == {} for mind in cli("show", without, "--turn", "4", "--json").json["cognition"])
    longer = forked(cli, meeting, "--at", "6", "--rounds", "6")
    assert len(turns(cli, longer)) == 6


def test_people_change_where_the_fork_begins(cli: Cli, meeting: str) -> None:

    def moved(fork: str) -> dict[str, Any]:
        assert turns(cli, fork)[:3] == turns(cli, meeting)[:3]
        (visit,) = cli("show", fork, "--turn", "4", "--node", "perceive", "--agent", "Bob", "--json").json["visits"]
        return dict(visit["before"]["mind"])

    assert moved(forked(cli, meeting, *FOURTH, "--person", "bob.emotion=sad"))["emotion"] == "sad"
    heavy = forked(cli, meeting, *FOURTH, "--person", "Bob.weights.goal=0.9")
    minds = {mind["agent"]: mind for mind in cli("show", heavy, "--turn", "4", "--json").json["cognition"]}
    assert minds["Bob"]["weights"]["goal"] == 0.9
    assert minds["Bob"]["weights"]["topic"] < 0.9
    told = forked(cli, meeting, *FOURTH, "--person", "Bob.background=Bob keeps bees.", "--lambda", "0")
    asked = cli("show", told, "--turn", "4", "--agent", "Bob", "--json").json["calls"][0]["prompt"]
    assert any("Bob keeps bees." in unit["text"] for unit in asked)


def test_memories_come_and_go(cli: Cli, dialogue: str) -> None:
    found = cli("search", "lantern*", "--run", dialogue, "--kind", "memory", "--json").json["passages"]
    assert found
    fork = forked(cli, dialogue, "--at", "3", "--remember", "Leila Haddad=The zeppelin lands at noon.")
    (passage,) = cli("search", "zeppelin", "--run", fork, "--json").json["passages"]
    assert (passage["agent"], passage["kind"], passage["turn"]) == ("Leila Haddad", "memory", 0)
    assert cli("search", "zeppelin", "--run", dialogue, "--json").json["passages"] == []
    cli("fork", dialogue, "--at", "3", "--forget", "Leila Haddad=node_9999").complains(3, "node_9999", "Leila Haddad")


@pytest.mark.parametrize(("kind", "at"), [("meeting", 1), ("meeting", 4), ("dialogue", 1), ("dialogue", 4)])
def test_words_written_by_hand(cli: Cli, runs: dict[str, str], kind: str, at: int) -> None:
    parent = runs[kind]
    before = turns(cli, parent)
    fork = forked(cli, parent, "--at", str(at), "--say", "Give me  back\nmy net.")
    after = turns(cli, fork)
    assert after[: at - 1] == before[: at - 1]
    assert after[at - 1]["text"] == "Give me back my net."
    for field in ("turn", "speaker", "sim_time_s"):
        assert after[at - 1][field] == before[at - 1][field]
    assert len(after) == len(before)
    assert [turn["text"] for turn in after[at:]] != [turn["text"] for turn in before[at:]]
    shown = cli("show", fork, "--turn", str(at), "--json").json
    assert [candidate["text"] for candidate in shown["candidates"]] == ["Give me back my net."]
    assert (shown["rollbacks"], shown["scored_by"], shown["units"]) == (0, None, [])
    if kind == "meeting":
        same = cli("show", parent, "--turn", str(at), "--json").json["cognition"]
        assert shown["cognition"] == same
        heard = cli("show", fork, "--turn", str(at + 1), "--node", "retrieve_memory", "--json").json
        assert heard["visits"]
    assert cli("search", "net", "--run", fork, "--kind", "utterance", "--json").json["passages"][0]["turn"] == at


def test_a_fork_whose_words_can_not_be_stored_is_not_begun(
    cli: Cli, meeting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    before = cli("runs", "--json").json
    with monkeypatch.context() as patched:
        patched.setattr("tertulia.nodes.conversation.seat.write_by_hand", fail)
        cli("fork", meeting, "--at", "4", "--say", "Stop.").complains(1, "the disk is full")
    assert cli("runs", "--json").json == before


def test_forks_that_can_not_be(cli: Cli, meeting: str, dialogue: str) -> None:

    def refused(run: str, *arguments: str) -> Any:
        result = cli("fork", run, *arguments)
        assert len(cli("runs", "--json").json["runs"]) == 2
        return result

    refused(meeting, "--at", "0").complains(2, "--at 0", "count from 1")
    refused(meeting, "--at", "8").complains(3, meeting, "turn 8", "5 turns")
    refused("zzzz", "--at", "2").complains(3, "zzzz")
    refused(meeting, "--at", "4", "--rounds", "3").complains(2, "--rounds 3: ", "3 turns already")
    refused(meeting, "--at", "5", "--set", "max_minutes=0.1").complains(2, "--set max_minutes=0.1: ", "over")
    refused(meeting, "--at", "4", "--set", "lamda=3").complains(2, "lamda")
    refused(meeting, "--at", "4", "--person", "Bob.name=Rob").complains(2, "name", "mid-run")
    refused(meeting, "--at", "4", "--person", "Bob.schedule={leaves: '15:20'}").complains(2, "schedule", "clock")
    refused(meeting, "--at", "4", "--person", "Bob.emotion=rosy").complains(2, "rosy")
    refused(meeting, "--at", "4", "--person", "Bob.age=-3").complains(2, "age")
    refused(meeting, "--at", "4", "--person", "Bob").complains(2, "KEY=VALUE")
    refused(meeting, "--at", "4", "--person", "Rob.emotion=sad").complains(3, "Rob", "Bob")
    refused(meeting, "--at", "4", "--mechanisms", "telepathy").complains(2, "telepathy")
    refused(meeting, "--at", "4", "--mechanisms", "").complains(2, "names no mechanism; none switches all off")
    refused(meeting, "--at", "4", "--mechanisms", ", ").complains(2, "names no mechanism; none switches all off")
    refused(meeting, "--at", "4", "--say", " ").complains(2, "--say")
    refused(meeting, "--at", "6", "--say", "Hm.").complains(3, "turn 6")
    refused(dialogue, "--at", "2", "--mechanisms", "time_analysis").complains(2, "dialogue")
    refused(dialogue, "--at", "2", "--remember", "Leila Haddad=").complains(2, "remember")


def test_a_turn_that_was_being_stored_is_to_be_resumed_first(cli: Cli, tmp_path: Path) -> None:
    run = cli(*DIALOGUE, "--rounds", "3").json["run"]
    with SqlStore.open(tmp_path / "tertulia.db") as store:  # as Ctrl-C between a turn and its trace leaves it
        store.set_status(run, "interrupted")
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        connection.execute("DELETE FROM traces WHERE run = ? AND turn = 3", (run,))
    cli("fork", run, "--at", "4").complains(3, f"run {run} stopped while its turn 3 was being stored; resume it first")
    assert cli("fork", run, "--at", "3", "--rounds", "3", "--json").json["status"] == "finished"
