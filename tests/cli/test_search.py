"""`search`: utterances, thoughts and memories are found by their words."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.in_process import command
from support.merged import copied

MEETING = ("run", "team_building", "--rehearse", "--rounds", "4", "--json")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("held") / "tertulia.db"
    assert command(*MEETING, "--store", store).code == 0
    return store


@pytest.fixture
def meeting(cli: Cli, held: Path) -> str:
    copied(held, Path("tertulia.db"))
    return str(cli("runs", "--json").json["runs"][0]["run"])


def found(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    passages: list[dict[str, Any]] = cli("search", *arguments, "--json").json["passages"]
    return passages


def test_what_was_said_thought_and_remembered_is_found(cli: Cli, meeting: str) -> None:
    spoken = [turn for turn in cli("show", meeting, "--json").json["turns"] if turn["speaker"]]
    for turn in spoken:
        words = f'"{turn["text"].split(".")[0]}"'
        assert (meeting, turn["turn"], turn["speaker"]) in [
            (passage["run"], passage["turn"], passage["agent"]) for passage in found(cli, words, "--kind", "utterance")
        ]
    for mind in cli("show", meeting, "--turn", "3", "--json").json["cognition"]:
        thoughts = found(cli, f'"{mind["thought"]}"', "--kind", "thought", "--run", meeting)
        assert (3, mind["agent"]) in [(thought["turn"], thought["agent"]) for thought in thoughts]
    assert {passage["kind"] for passage in found(cli, "the", "--limit", "1000")} == {"utterance", "thought", "memory"}
    assert len(found(cli, "the", "--limit", "3")) == 3
    assert cli("search", "the", "--limit", "3").err == "there is more than these 3; --limit shows it\n"
    assert cli("search", "the", "--limit", "1000").err == ""
    assert "thinks: " in cli("search", "the", "--kind", "thought").out


def test_words_are_words(cli: Cli, meeting: str) -> None:
    for odd in ("the OR", "NEAR(", "text:the", "'; DROP TABLE passages; --", '"the', "the* -x", "^the", "(*)"):
        assert isinstance(found(cli, odd), list)
    assert found(cli, "the zzzz") == []
    assert found(cli, "TH*") == found(cli, "th*") != []
    cli("search", " ").complains(2, "nothing to search")
    cli("search", "the", "--kind", "dream").complains(2, "dream")
    cli("search", "the", "--run", "zzzz").complains(3, "zzzz")
    assert cli("search", "zzzz").out == "nothing found\n"


def test_who_looks_for_a_memory_of_a_town_is_told_where_it_is(cli: Cli) -> None:
    assert cli("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1", "--set", "max_turns=1").code == 0
    assert cli("search", "zzzz").out == "nothing found; a town's memories: tertulia days SIM --agent NAME\n"


def test_what_a_stand_in_made_is_marked_wherever_it_is_found_or_counted(cli: Cli, meeting: str) -> None:
    assert {passage["rehearsed"] for passage in found(cli, "the")} == {True}
    assert cli("stats", meeting, "--json").json["rehearsed"] is True
    for words in (("search", "the"), ("stats", meeting), ("show", meeting, "--cost")):
        assert "rehearsed: " in cli(*words).out
