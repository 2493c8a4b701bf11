"""What a fork from the page may change besides parameters, and what is refused, in a sentence."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.requests_to_page import ask
from support.viewer_page import serving

import tertulia
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.viewer.fork_changes import LONGEST_TEXT, read_changes

TOKEN = "token"
Runs = dict[str, str]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("changes") / "t.db"


@pytest.fixture(scope="module")
def runs(path: Path) -> Runs:
    how = {"rehearse": True, "store": path, "progress": False}
    return {
        "dialogue": tertulia.run("tidewell", rounds=3, **how).id,  # type: ignore[arg-type]
        "meeting": tertulia.run("team_building", rounds=2, **how).id,  # type: ignore[arg-type]
        "album": tertulia.run("villagers", rounds=1, agents=4, **how).id,  # type: ignore[arg-type]
    }


@pytest.fixture(scope="module")
def address(path: Path, runs: Runs) -> Iterator[str]:
    with serving(path, TOKEN, ["true"]) as address:  # which starts nothing
        yield address


def start(address: str, body: object, token: str | None = TOKEN) -> tuple[int, str]:
    headers = {"Origin": address.rstrip("/"), "Content-Type": "application/json"}
    query = f"?token={token}" if token else ""
    answer = ask(address, f"api/start{query}", headers, "POST", json.dumps(body).encode())
    return answer.status, answer.json.get("error", "")


def test_changes_become_options_in_one_word_each() -> None:
    given = {
        "say": "--store x",
        "label": "calmer",
        "person": [["Ida Falk.goals", '[{"goal":"sleep"}]']],
        "remember": [["Ida Falk", "It rains."]],
        "forget": [["Ida Falk", "memory_3"]],
        "mechanisms": ["goal_summary", "time_analysis"],
    }
    assert read_changes(given).words == [
        "--say=--store x",
        "--label=calmer",
        '--person=Ida Falk.goals=[{"goal":"sleep"}]',
        "--remember=Ida Falk=It rains.",
        "--forget=Ida Falk=memory_3",
        "--mechanisms=goal_summary,time_analysis",
    ]


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("dialogue", {"changes": {"model": "x"}}, "the changes of a fork are say, label"),
    ("dialogue", {"changes": []}, "the changes of a fork are say, label"),
    ("dialogue", {"changes": {"say": "x" * 100_000}}, "That is too much for one command"),
    ("dialogue", {"changes": {"say": "x" * 20_000}}, "what is said has 20,000 characters; it may have at most 10,000"),
    ("dialogue", {"changes": {"say": "one\ntwo"}}, "it has a line break"),
    ("dialogue", {"changes": {"say": "zero\u200bwidth"}}, "U+200B"),
    ("dialogue", {"changes": {"say": "\ud800"}}, "U+D800"),
    ("dialogue", {"changes": {"say": " "}}, "nothing is said; give the words"),
    ("dialogue", {"changes": {"say": 3}}, "is a text of one line"),
    ("dialogue", {"changes": {"person": [["Nobody.activity", "x"]]}}, "nobody named 'Nobody' takes part"),
    ("dialogue", {"changes": {"person": [["Emeka Obiora.no_such", "x"]]}}, "unknown field"),
    ("dialogue", {"changes": {"person": [["Emeka Obiora.model", "x"]]}}, "a model is given on the command line alone"),
    ("dialogue", {"changes": {"person": [["Emeka Obiora.age", "old"]]}}, "Emeka Obiora.age=old"),
    ("dialogue", {"changes": {"person": [["Emeka Obiora.name", "Ada"]]}}, "can't change in mid-run"),
    ("dialogue", {"changes": {"person": "x"}}, "person is a list"),
    ("dialogue", {"changes": {"person": [["x"]]}}, "person is a list of pairs"),
    ("dialogue", {"changes": {"remember": [["A=b", "x"]]}}, "has an equals sign"),
    ("dialogue", {"changes": {"forget": [["Emeka Obiora", "no_such"]]}}, "has no memory 'no_such'"),
    ("dialogue", {"changes": {"mechanisms": ["goal_summary"]}}, "a dialogue of two has no mechanisms"),
    ("meeting", {"changes": {"mechanisms": ["no_such"]}}, "no_such"),
    ("meeting", {"changes": {"person": [["Alice.emotion", "blue"]]}}, "blue"),
    ("meeting", {"changes": {"person": [["Alice. MODEL ", "x"]]}}, "a model is given on the command line alone"),
    ("album", {"changes": {"say": "x"}}, "whose forks take no say"),
    ("album", {"changes": {"remember": [["Amaru Quispe", "x"]]}}, "a villager remembers"),
    ("dialogue", {"settings": {"removal_factor": "7"}}, "takes 1 at most"),
    ("dialogue", {"settings": {"seed": "x"}}, "a seed is an integer"),
    ("dialogue", {"settings": {"nodes.score": "x.py"}}, "is given on the command line alone"),
    ("dialogue", {"settings": {"max_turns": "1"}}, "a fork at turn 2 has 1 turns already"),
    ("dialogue", {"at": 9}, "can't be forked at turn 9"),
]


@pytest.mark.parametrize(("kind", "given", "sentence"), BAD)
def test_what_no_fork_can_have_is_refused_in_a_sentence_and_starts_nothing(
    address: str, runs: Runs, kind: str, given: dict[str, Any], sentence: str
) -> None:
    before = ask(address, f"api/start?token={TOKEN}").json["commands"]
    status, problem = start(address, {"action": "fork", "run": runs[kind], "at": 2, "settings": {}} | given)
    assert status in (400, 404, 413)
    assert sentence in problem
    assert ask(address, f"api/start?token={TOKEN}").json["commands"] == before


def test_a_fork_with_changes_needs_the_token_and_leave_to_start(address: str, path: Path, runs: Runs) -> None:
    body = {
        "action": "fork",
        "run": runs["dialogue"],
        "at": 2,
        "settings": {"removal_factor": "0.7"},
        "changes": {"say": "Hello."},
    }
    assert start(address, body, token=None)[0] == 403
    with serving(path) as reading:
        assert start(reading, body)[0] == 404
    assert start(address, body) == (200, "")


def test_what_can_be_edited_is_what_the_run_began_with(path: Path, runs: Runs) -> None:
    with SqlStore.open(path) as store:
        meeting = document_at(store, f"runs/{runs['meeting']}/edits")
        dialogue = document_at(store, f"runs/{runs['dialogue']}/edits")
        album = document_at(store, f"runs/{runs['album']}/edits")
        alice = store.start(runs["meeting"]).participant("Alice")
    fields = {field["name"]: field for field in meeting["people"][0]["fields"]}
    assert [goal["goal"] for goal in fields["goals"]["value"]] == [goal.text for goal in alice.goals]  # type: ignore[attr-defined]
    assert fields["emotion"]["choices"][0] == "calm"
    assert not any("model" in field["name"] for person in meeting["people"] for field in person["fields"])
    assert {memory["id"] for memory in meeting["people"][0]["memories"]} == {memory.id for memory in alice.memories}
    assert (dialogue["mechanisms"], dialogue["can_say"], album["can_say"], album["can_remember"]) == (
        [],
        True,
        False,
        False,
    )
    assert dialogue["longest"] == LONGEST_TEXT
    assert {field["how"] for person in album["people"] for field in person["fields"]} == {"plain"}
