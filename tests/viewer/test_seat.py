"""A seat in the page: a line is stored once for its turn, and a seat's token opens that seat alone."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.seats import TOKEN, perceived, question, send, sit, until
from support.viewer_page import serving

import tertulia

COMMAND = [sys.executable, "-m", "tertulia.cli.main"]
EMEKA = "Emeka Obiora"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seats") / "t.db"
    settings = {"rehearse": True, "store": path, "progress": False}
    tertulia.run("tidewell", rounds=4, settings={"ending": "off"}, **settings)
    tertulia.run("team_building", rounds=4, **settings)
    return path


@pytest.fixture(scope="module")
def dialogue(store: Path) -> str:
    return next(run.id for run in tertulia.open_store(store).runs() if run.scenario == "tidewell")


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND) as address:
        yield address


def said(store: Path, run: str, agent: str) -> list[str]:
    return [turn.text for turn in tertulia.open_store(store).run(run).turns if turn.speaker == agent]


def test_a_dialogue_is_held_from_the_page(address: str, store: Path, dialogue: str) -> None:
    run, tokens = sit(address, dialogue, EMEKA)
    token = tokens[EMEKA]
    asked = question(address, token)
    assert (asked["turn"], asked["may_pass"]) == (1, False)
    seen = perceived(address, token)
    assert seen["role"][0] == "You are Emeka Obiora, with Leila Haddad."
    assert seen["memories"]
    assert send(address, token, 1, "Good morning.").json == {"turn": 1, "words": "Good morning.", "again": False}
    assert question(address, token, 3)
    assert [line["text"] for line in perceived(address, token)["lines"] if line["own"]] == ["Good morning."]
    assert send(address, token, 3, "I have to go.").status == 200
    until(lambda: perceived(address, token)["status"] == "finished")
    assert said(store, run, EMEKA) == ["Good morning.", "I have to go."]
    over = send(address, token, 5, "One more thing.")
    assert (over.status, over.json["error"]) == (409, "The conversation is over. Your line was not sent.")
