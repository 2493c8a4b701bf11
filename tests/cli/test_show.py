"""`show` by agent, node and cost, and what a run would take before it is begun."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support.checked_runs import alter
from support.commands import Cli
from support.in_process import command
from support.merged import copied

from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.turn import turn_page

MEETING = ("run", "team_building", "--rehearse", "--rounds", "4", "--json")
DIALOGUE = ("run", "tidewell", "--rehearse", "--rounds", "4", "--set", "ending=off", "--json")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with the meeting and the dialogue, and their ids."""
    store = tmp_path_factory.mktemp("held") / "tertulia.db"
    meeting, dialogue = (json.loads(command(*run, "--store", store).out)["run"] for run in (MEETING, DIALOGUE))
    return store, meeting, dialogue


@pytest.fixture
def meeting(cli: Cli, held: tuple[Path, str, str]) -> str:
    copied(held[0], Path("tertulia.db"))
    return held[1]


@pytest.fixture
def dialogue(cli: Cli, held: tuple[Path, str, str]) -> str:
    copied(held[0], Path("tertulia.db"))
    return held[2]


# --- the state before and after a node ------------------------------------------------------------------------------


def visits(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("show", *arguments, "--json").json["visits"]
    return found


def test_every_node_has_its_state_before_and_after(cli: Cli, meeting: str, dialogue: str) -> None:
    nodes = [visit["node"] for visit in visits(cli, dialogue, "--turn", "2", "--node", "all")]
    assert nodes[:3] == ["take_turn", "begin_utterance", "retrieve_memory"]
    assert nodes[-4:] == ["select_candidate", "score_line", "decide_ending", "record_turn"]
    for visit in visits(cli, meeting, "--node", "all"):
        for key in set(visit["update"]) - {"minds", "bids"}:
            assert visit["after"][key] == visit["update"][key]
        assert visit["before"].items() <= visit["after"].items() or visit["update"]
    thinking = visits(cli, meeting, "--turn", "1", "--node", "assess")
    assert [visit["agent"] for visit in thinking] == ["Alice", "Bob", "Cindy", "David", "Eva"]
    for visit in thinking:
        assert visit["update"]["mind"]["emotion"] == visit["after"]["mind"]["emotion"]
    (bob,) = visits(cli, meeting, "--turn", "1", "--node", "assess", "--agent", "bob")
    assert bob in thinking
    assert [visit["turn"] for visit in visits(cli, meeting, "--node", "open_round")] == [1, 2, 3, 4]
    by_speaker = visits(cli, dialogue, "--node", "prune", "--agent", "Leila Haddad")
    assert [visit["turn"] for visit in by_speaker] == [2, 4]


# --- cost -----------------------------------------------------------------------------------------------------------


def test_the_cost_is_that_of_the_journal(cli: Cli, tmp_path: Path, meeting: str) -> None:
    document = cli("show", meeting, "--cost", "--json").json
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        rows = connection.execute(
            """SELECT agent, node, count(*), sum(prompt_tokens), sum(reply_tokens) FROM calls
            WHERE run = ? GROUP BY agent, node""",
            (meeting,),
        ).fetchall()
    known = {(agent, node): figures for agent, node, *figures in rows}
    shown = {
        (row["agent"], row["node"]): [row["calls"], row["prompt_tokens"], row["reply_tokens"]]
        for row in document["cost"]
    }
    assert shown == known
    assert document["total"]["calls"] == sum(figures[0] for figures in known.values())
    (bob,) = {row["agent"] for row in cli("show", meeting, "--cost", "--agent", "Bob", "--json").json["cost"]}
    assert bob == "Bob"
    by_turn = [cli("show", meeting, "--cost", "--turn", str(turn), "--json").json for turn in range(1, 5)]
    in_turns = sum(document["total"]["calls"] for document in by_turn)
    assert in_turns == sum(figures[0] for (_, node), figures in known.items() if node not in ("plan", "personality"))
    assert "tokens read" in cli("show", meeting, "--cost").out


def test_what_a_run_would_take(cli: Cli, tmp_path: Path) -> None:
    for begun, rehearsed in ((MEETING[:2], ("--rounds", "4")), (DIALOGUE[:2], ("--rounds", "4", *DIALOGUE[5:7]))):
        estimate = cli(*begun, *rehearsed, "--dry-run", "--rehearse", "--json").json
        assert not (tmp_path / "tertulia.db").exists() or begun is not MEETING[:2]
        run = cli(*begun, "--rehearse", *rehearsed, "--json").json["run"]
        real = cli("show", run, "--cost", "--json").json
        assert estimate["cost"] == [{**row, "seconds": None} for row in real["cost"]]
        assert estimate["turns"] == 4
    embedded = cli("run", "tidewell", "--dry-run", "--rounds", "2", "--json").json
    assert "decide_ending" in {row["node"] for row in embedded["cost"]}
    assert "in all" in cli("run", "tidewell", "--dry-run", "--rounds", "2").out


# --- one agent ------------------------------------------------------------------------------------------------------


def test_one_agent_through_a_run(cli: Cli, meeting: str, dialogue: str) -> None:
    document = cli("show", meeting, "--agent", "eva", "--json").json
    assert document["agent"] == "Eva"
    assert [mind["round"] for mind in document["cognition"]] == [1, 2, 3, 4]
    (at_two,) = [m for m in cli("show", meeting, "--turn", "2", "--json").json["cognition"] if m["agent"] == "Eva"]
    assert {**at_two, "round": 2} == document["cognition"][1]
    assert {turn["speaker"] for turn in document["turns"]} <= {"Eva"}
    assert document["cognition"][1]["thought"][:20] in " ".join(cli("show", meeting, "--agent", "Eva").out.split())
    said = cli("show", dialogue, "--agent", "Leila Haddad", "--json").json
    assert [turn["turn"] for turn in said["turns"]] == [2, 4]
    calls = cli("show", dialogue, "--turn", "2", "--agent", "Leila Haddad", "--json").json["calls"]
    assert [call["node"] for call in calls][:2] == ["score", "generate"]


def test_what_there_is_not(cli: Cli, meeting: str, dialogue: str) -> None:
    cli("show", meeting, "--agent", "Zoe").complains(3, "Zoe", "Bob")
    cli("show", meeting, "--node", "asess").complains(3, "asess", "assess")
    cli("show", meeting, "--node", "assess", "--turn", "9").complains(3, "turn 9")
    cli("show", meeting, "--cost", "--turn", "9").complains(3, "turn 9")
    cli("show", meeting, "--cost", "--lambda", "0.2", "--turn", "1").complains(2, "--cost")
    cli("show", dialogue, "--node", "race").complains(3, "race")


# --- whoever spoke with a model of their own ------------------------------------------------------------------------


def test_threshold_walk_and_amplification_are_those_of_whoever_spoke(cli: Cli, dialogue: str) -> None:
    turns = cli("show", dialogue, "--json").json["turns"]
    speaker, other = turns[0]["speaker"], turns[1]["speaker"]
    with SqlStore.open(Path("tertulia.db")) as store:
        parameters = store.run(dialogue).parameters
    own = {**parameters, "inconsistency_threshold": 3.25, "removal_walk": "calm", "context_strength": 1.5}
    model = {"model": "rehearsal", "parameters": own}
    alter(Path("tertulia.db"), "runs", participant_models=json.dumps({speaker: model}))
    assert "conflict above the threshold 3.25, " in cli("show", dialogue, "--turn", "1").out
    assert "conflict above the threshold 6.67, " in cli("show", dialogue, "--turn", "2").out
    with SqlStore.open(Path("tertulia.db")) as store:
        of_turns = [turn_page(store, dialogue, turn) for turn in (1, 2)]
    assert [turn["speaker"] for turn in of_turns] == [speaker, other]
    assert [turn["threshold"] for turn in of_turns] == [3.25, 6.67]
    assert [turn["removal"]["walk"] for turn in of_turns] == ["calm", "paper"]
    assert [turn["context_strength"] for turn in of_turns] == [1.5, 0]
