"""The slider is the fork: what is set is what is forked, and the fork opens beside its parent as it grows."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.in_process import command
from support.requests_to_page import ask
from support.stored import a_case, a_run, a_turn_record, write_turn
from support.viewer_page import serving, violations

import tertulia
from tertulia.state.meeting import Meeting
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.viewer.fork_changes import LONGEST_TEXT, read_changes

COMMAND = [sys.executable, "-m", "tertulia.cli.main"]
TOKEN = "token"
#: Models are rehearsed, but a command is a process of its own, which imports what it needs first.
STARTED_MS = 200_000

Runs = dict[str, str]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fork page") / "t.db"


@pytest.fixture(scope="module")
def runs(path: Path) -> Runs:
    how = {"rehearse": True, "store": path, "progress": False, "removal_factor": 0.5}
    return {
        "dialogue": tertulia.run("tidewell", rounds=4, seed=3, **how).id,  # type: ignore[arg-type]
        "meeting": tertulia.run("team_building", rounds=3, **how).id,  # type: ignore[arg-type]
        "album": tertulia.run("villagers", rounds=1, agents=4, **how).id,  # type: ignore[arg-type]
    }


@pytest.fixture(scope="module")
def address(path: Path, runs: Runs) -> Iterator[str]:
    with serving(path, TOKEN, COMMAND) as address:
        yield f"{address}?token={TOKEN}"


@pytest.fixture(scope="module")
def reading(path: Path, runs: Runs) -> Iterator[str]:
    """The same store, where the page may start nothing."""
    with serving(path) as address:
        yield address


@pytest.fixture(scope="module")
def starting_nothing(path: Path, runs: Runs) -> Iterator[str]:
    """The same store, where what is started does nothing."""
    with serving(path, TOKEN, ["true"]) as address:
        yield address


def words_of(page: Page, name: str = "Command") -> list[str]:
    return shlex.split(page.get_by_label(name, exact=True).text_content() or "")


# --- the slider -----------------------------------------------------------------------------------------------------


def test_from_a_dragged_factor_to_the_first_different_line_is_one_click(
    page: Page, address: str, path: Path, runs: Runs
) -> None:
    page.goto(f"{address}#/runs/{runs['dialogue']}?turn=2")
    slider = page.get_by_role("slider", name="λ", exact=True)
    slider.focus()
    for _ in range(20):
        slider.press("ArrowRight")
    page.get_by_role("button", name="Fork with λ = 0.7").click()
    page.wait_for_url(re.compile(f"#/compare/{runs['dialogue']}/"), timeout=STARTED_MS)
    chosen = page.locator(".turn-difference.chosen")
    expect(chosen.get_by_role("heading").first).to_be_in_viewport(timeout=STARTED_MS)
    expect(chosen.get_by_text("Why B said that")).to_be_visible(timeout=STARTED_MS)
    fork = tertulia.open_store(path).run()
    assert page.url.endswith(fork.id)
    assert (fork.parent, fork.parameters.removal_factor) == ((runs["dialogue"], 2), 0.7)
    expect(page.get_by_label("Run B").get_by_text("finished")).to_be_visible(timeout=STARTED_MS)
    fork, parent = (tertulia.open_store(path).run(run) for run in (fork.id, runs["dialogue"]))
    parting = tertulia.diff(parent, fork).first_divergence
    assert parting is not None
    assert parting.b is not None
    expect(chosen).to_have_attribute("data-turn", str(parting.turn))
    expect(chosen.locator(".utterance .words").nth(1)).to_have_text(parting.b["text"])
    page.go_back()
    expect(page.get_by_role("spinbutton", name="λ as a number")).to_have_value("0.7")


# --- edits ----------------------------------------------------------------------------------------------------------


def test_a_line_a_memory_and_a_goal_can_be_edited_and_the_command_does_it(
    page: Page, reading: str, path: Path, runs: Runs
) -> None:
    page.goto(f"{reading}#/runs/{runs['meeting']}?turn=2&pane=prompt")
    page.get_by_text("Fork from here").click()
    edit = page.get_by_label("Edit the line, a person or a memory")
    edit.select_option("say")
    page.get_by_label("What is said instead").fill("Let us walk\nby the river.")
    edit.select_option("remember")
    page.get_by_role("combobox", name="who", exact=True).last.select_option("Bob")
    page.get_by_label("What they remember").fill('It\'s "$HOME" that matters.')
    edit.select_option("person")
    page.get_by_role("combobox", name="who", exact=True).last.select_option("Alice")
    page.get_by_role("combobox", name="what", exact=True).select_option("goals")
    page.get_by_label("From here on").fill("have a calm day\n- ask Bob\nbe home by six")
    edit.select_option("forget")
    page.get_by_role("combobox", name="who", exact=True).last.select_option("Cindy")
    forgotten = page.get_by_label("which memory").input_value()
    edit.select_option("mechanisms")
    page.get_by_label("topic analysis").uncheck()
    words = words_of(page)
    with ThreadPoolExecutor(1) as thread:  # Playwright has a loop in this one
        done = thread.submit(command, *words[1:], "--json").result()
    assert done.code == 0, done.err
    with SqlStore.open(path) as store:
        fork = store.runs(limit=1)[0]
        start = store.start(fork.run)
        before = store.start(runs["meeting"])
        said = store.turns(fork.run, 2, 2)[0].text
    assert isinstance(start, Meeting)
    assert said == "Let us walk by the river."
    goals = start.participant("Alice").goals  # type: ignore[attr-defined]
    assert [(goal.text, goal.sub_goals) for goal in goals] == [
        ("have a calm day", ("ask Bob",)),
        ("be home by six", ()),
    ]
    assert 'It\'s "$HOME" that matters.' in [memory.text for memory in start.participant("Bob").memories]
    kept = [memory.id for memory in start.participant("Cindy").memories]
    assert {memory.id for memory in before.participant("Cindy").memories} - {*kept} == {forgotten}
    assert "topic_analysis" not in start.mechanisms


# --- beside its parent ----------------------------------------------------------------------------------------------


def say(store: SqlStore, run: str, turn: int, text: str) -> None:
    record = a_turn_record(turn)
    store.save_turn(run, record.model_copy(update={"turn": record.turn.model_copy(update={"text": text})}))


def test_a_fork_is_followed_beside_its_parent_until_they_part_and_on(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with SqlStore.open(path, create=True) as store, serving(path) as address:
        store.create_run(a_run("aaaa", status="finished"), a_case())
        for turn in range(1, 8):
            write_turn(store, "aaaa", turn)
        store.create_run(a_run("bbbb", parent=("aaaa", 4), parameters={"removal_factor": 0.9}), a_case())
        with store.drive_lock("bbbb"):
            page.goto(f"{address}#/compare/aaaa/bbbb")
            expect(page.get_by_text("The same up to turn 3; waiting for turn 4 of B.")).to_be_visible()
            expect(page.get_by_text("B is not here yet…")).to_be_visible()
            write_turn(store, "bbbb", 4)
            expect(page.get_by_text("The same up to turn 4; waiting for turn 5 of B.")).to_be_visible(timeout=10_000)
            say(store, "bbbb", 5, "Something else.")
            chosen = page.locator(".turn-difference.chosen")
            expect(chosen).to_have_attribute("data-turn", "5", timeout=10_000)
            expect(chosen.get_by_text("Something else.")).to_be_in_viewport()
            expect(page.get_by_text(re.compile("waiting for"))).to_have_count(0)
            say(store, "bbbb", 6, "And once more.")
            expect(page.locator("[data-turn='6'] .said").nth(1)).to_contain_text("And once more.", timeout=10_000)
            expect(page.locator("[data-turn='7']").get_by_text("B is not here yet…")).to_be_visible()
            store.set_status("bbbb", "finished")
        expect(page.locator("[data-turn='7']").get_by_text("only A goes on")).to_be_visible(timeout=10_000)
        expect(page.get_by_label("Run B").get_by_text("finished")).to_be_visible()


# --- for everybody --------------------------------------------------------------------------------------------------


_WIDER = """() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth ? `${scrollWidth} > ${clientWidth}` : null;
}"""


@pytest.mark.access
def test_the_form_with_every_edit_is_for_everybody_in_every_width(page: Page, address: str, runs: Runs) -> None:
    page.goto(f"{address}#/runs/{runs['meeting']}?turn=2&lambda=0.8")
    page.get_by_text("Fork from here").click()
    for kind in ("say", "person", "remember", "forget", "mechanisms", "label"):
        page.get_by_label("Edit the line, a person or a memory").select_option(kind)
    page.get_by_label("What they remember").fill("x" * 300)
    for width in (360, 768, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(100)
        assert page.evaluate(_WIDER) is None, width
        assert width not in (360, 1280) or violations(page) == [], width


# --- what the server takes -------------------------------------------------------------------------------------------


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
    assert read_changes({"mechanisms": []}).words == ["--mechanisms=none"]


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
    ("dialogue", {"changes": {"person": [["Emeka Obiora.model", "x"]]}}, "a model is given on the command line alone"),
    ("dialogue", {"changes": {"person": [["Emeka Obiora.name", "Ada"]]}}, "can't change in mid-run"),
    ("dialogue", {"changes": {"person": [["x"]]}}, "person is a list of pairs"),
    ("dialogue", {"changes": {"remember": [["A=b", "x"]]}}, "has an equals sign"),
    ("meeting", {"changes": {"person": [["Alice. MODEL ", "x"]]}}, "a model is given on the command line alone"),
    ("meeting", {"changes": {"person": [["Alice.mo-del", "x"]]}}, "a model is given on the command line alone"),
    ("album", {"changes": {"say": "x"}}, "whose forks take no say"),
    ("album", {"changes": {"remember": [["Amaru Quispe", "x"]]}}, "a villager remembers"),
    ("dialogue", {"settings": {"nodes.score": "x.py"}}, "is given on the command line alone"),
    ("dialogue", {"at": 9}, "can't be forked at turn 9"),
]


@pytest.mark.parametrize(("kind", "given", "sentence"), BAD)
def test_what_no_fork_can_have_is_refused_in_a_sentence_and_starts_nothing(
    starting_nothing: str, runs: Runs, kind: str, given: dict[str, Any], sentence: str
) -> None:
    before = ask(starting_nothing, f"api/start?token={TOKEN}").json["commands"]
    status, problem = start(starting_nothing, {"action": "fork", "run": runs[kind], "at": 2, "settings": {}} | given)
    assert status in (400, 404, 413)
    assert sentence in problem
    assert ask(starting_nothing, f"api/start?token={TOKEN}").json["commands"] == before


def test_a_fork_with_changes_needs_the_token_and_leave_to_start(
    starting_nothing: str, reading: str, runs: Runs
) -> None:
    body = {
        "action": "fork",
        "run": runs["dialogue"],
        "at": 2,
        "settings": {"removal_factor": "0.7"},
        "changes": {"say": "Hello."},
    }
    assert start(starting_nothing, body, token=None)[0] == 403
    assert start(reading, body)[0] == 404
    assert start(starting_nothing, body) == (200, "")


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
