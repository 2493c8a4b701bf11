"""A pause before the next line, as the page asks for it, in a process of its own that drives the run."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from support.requests_to_page import ask
from support.seats import TOKEN, post, until
from support.viewer_page import serving, violations

import tertulia
from tertulia.storage.store import SqlStore
from tertulia.viewer.html_file import html_of_run

COMMAND = [sys.executable, "-m", "tertulia.cli.main"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pauses") / "t.db"
    tertulia.run("team_building", rounds=4, rehearse=True, store=path, progress=False)
    tertulia.run("tidewell", rounds=4, rehearse=True, store=path, progress=False, settings={"ending": "off"})
    tertulia.run("villagers", rounds=1, agents=4, rehearse=True, store=path, progress=False)
    return path


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND) as address:
        yield address


def run_of(store: Path, scenario: str) -> str:
    """The finished run of a scenario, not one that a test has begun."""
    runs = tertulia.open_store(store).runs()
    return next(run.id for run in runs if run.scenario == scenario and not run.id.startswith("p00"))


def shown(address: str, run: str) -> dict[str, Any]:
    answer = ask(address, f"api/pause?run={run}", {"X-Tertulia-Token": TOKEN})
    assert answer.status == 200, answer.body
    return dict(answer.json)


def stopped_before_its_first_line(store: Path, scenario: str) -> str:
    """A run that has begun, and is driven by nobody: whoever pauses it then is never late."""
    with SqlStore.open(store) as opened:
        parent = opened.run(run_of(store, scenario))
        name = f"p{len(list(opened.runs())):03d}"
        record = parent.model_copy(update={"run": name, "turns": 0, "status": "interrupted"})
        opened.create_run(record, opened.start(parent.run))
    return name


def go_on(address: str, run: str) -> None:
    answer = post(address, "api/start", {"action": "resume", "run": run})
    assert answer.status == 200, answer.body


def held(address: str, run: str) -> dict[str, Any]:
    return dict(until(lambda: shown(address, run)["held"]))


def texts(store: Path, run: str) -> list[tuple[str | None, str]]:
    return [(turn.speaker, turn.text) for turn in tertulia.open_store(store).run(run).turns]


@pytest.mark.parametrize("scenario", ["tidewell", "team_building"])
def test_a_line_is_held_rewritten_and_the_next_one_let_pass(address: str, store: Path, scenario: str) -> None:
    run = stopped_before_its_first_line(store, scenario)
    assert (shown(address, run)["wanted"], shown(address, run)["pausable"]) == (False, True)
    assert post(address, "api/pause", {"run": run, "pause": True}).json["wanted"] is True
    go_on(address, run)
    line = held(address, run)
    model = texts(store, run_of(store, scenario))
    assert (line["speaker"], line["text"]) == next(turn for turn in model if turn[0])
    chosen, *others = line["candidates"]
    assert (chosen["chosen"], chosen["text"]) == (True, line["text"])
    assert not any(other["chosen"] for other in others)
    if scenario == "team_building":
        assert [bid["agent"] for bid in line["race"] if bid["won"]] == [line["speaker"]]
    assert len(texts(store, run)) == line["turn"] - 1  # nothing of it has entered the conversation

    late = post(address, "api/pause", {"run": run, "turn": line["turn"] + 3, "words": None, "again": False})
    assert (late.status, "is held" in late.json["error"]) == (409, True)
    empty = post(address, "api/pause", {"run": run, "turn": line["turn"], "words": "  ", "again": False})
    assert (empty.status, "The line is empty." in empty.json["error"]) == (400, True)
    long = post(address, "api/pause", {"run": run, "turn": line["turn"], "words": "x" * 1001, "again": False})
    assert (long.status, "1,001 characters" in long.json["error"]) == (400, True)
    sent = {"run": run, "turn": line["turn"], "words": "I would rather\nstay.", "again": True}
    assert post(address, "api/pause", sent).json["words"] == "I would rather stay."

    second = held(address, run)
    assert second["turn"] > line["turn"]
    unchanged = {"run": run, "turn": second["turn"], "words": second["text"], "again": False}
    assert post(address, "api/pause", unchanged).json["words"] is None
    until(lambda: shown(address, run)["status"] == "finished")
    assert (line["speaker"], "I would rather stay.") in texts(store, run)
    assert (second["speaker"], second["text"]) in texts(store, run)
    over = post(address, "api/pause", {"run": run, "pause": True})
    assert (over.status, over.json["error"]) == (409, "The conversation is over; there is no next line.")


@pytest.mark.full
def test_a_run_that_is_killed_while_it_is_paused_goes_on_from_the_page(address: str, store: Path) -> None:
    run = stopped_before_its_first_line(store, "tidewell")
    post(address, "api/pause", {"run": run, "pause": True})
    go_on(address, run)
    line = held(address, run)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"resume" in words and run.encode() in words:
            os.kill(int(process.name), signal.SIGKILL)
    until(lambda: not shown(address, run)["driven"])
    assert held(address, run) == line
    sent = {"run": run, "turn": line["turn"], "words": "After the storm.", "again": False}
    assert post(address, "api/pause", sent).status == 200
    until(lambda: shown(address, run)["status"] == "finished")
    assert texts(store, run)[line["turn"] - 1] == (line["speaker"], "After the storm.")
    assert [turn.turn for turn in tertulia.open_store(store).run(run).turns] == [1, 2, 3, 4]


def test_a_pause_is_taken_back_and_what_can_not_be_paused_says_so(address: str, store: Path) -> None:
    run = stopped_before_its_first_line(store, "tidewell")
    post(address, "api/pause", {"run": run, "pause": True})
    assert post(address, "api/pause", {"run": run, "pause": False}).json["wanted"] is False
    go_on(address, run)
    until(lambda: shown(address, run)["status"] == "finished")
    album = run_of(store, "villagers")
    assert not shown(address, album)["pausable"]
    refused = post(address, "api/pause", {"run": album, "pause": True})
    assert (refused.status, "album chat" in refused.json["error"]) == (400, True)


def test_only_the_page_of_the_host_pauses_a_run(address: str, store: Path) -> None:
    run = run_of(store, "tidewell")
    body = {"run": run, "pause": True}
    assert post(address, "api/pause", body, {"X-Tertulia-Token": "other"}).status == 403
    seat = post(address, "api/pause", body, {"X-Tertulia-Seat": "other"})
    assert seat.status == 403
    foreign = post(address, "api/pause", body, {"X-Tertulia-Token": TOKEN, "Origin": "http://evil.example"})
    assert foreign.status == 403
    with serving(store) as reading:
        assert ask(reading, f"api/pause?run={run}").status == 404
        assert post(reading, "api/pause", body, {}).status == 405


# --- on the page -----------------------------------------------------------------------------------------------------


def hold(page: Page, address: str, run: str) -> None:
    """Ask for a pause on the page, let the run go on, and wait for its line."""
    page.goto(f"{address}?token={TOKEN}#/runs/{run}")
    button = page.get_by_role("button", name="Pause before the next line")
    button.press("Enter")
    expect(page.get_by_role("button", name="Pausing before the next line…")).to_have_attribute("aria-pressed", "true")
    assert post(address, "api/start", {"action": "resume", "run": run}).status == 200
    expect(page.get_by_role("heading", name="is about to say")).to_be_visible(timeout=20_000)


def test_a_line_is_rewritten_on_the_page_and_the_record_says_so(page: Page, store: Path, address: str) -> None:
    run = stopped_before_its_first_line(store, "team_building")
    hold(page, address, run)
    box = page.get_by_role("textbox", name="says in turn")
    expect(page.get_by_text("has the floor")).to_be_visible()
    expect(page.get_by_role("button", name="Go on with this line")).to_be_enabled()
    model = box.input_value()
    box.fill("We could simply ask them.")
    page.reload()
    expect(box).to_have_value("We could simply ask them.")
    page.get_by_role("button", name="Back to the model's line").click()
    expect(box).to_have_value(model)
    box.fill("We could simply ask them.")
    page.get_by_role("button", name="Go on with my words").press("Enter")
    expect(page.get_by_role("heading", name="is about to say")).to_have_count(0)
    expect(page.get_by_text("✎ rewritten by a person")).to_be_visible(timeout=20_000)
    until(lambda: tertulia.open_store(store).run(run).status == "finished")
    turn = next(turn for turn in tertulia.open_store(store).run(run).turns if turn.text == "We could simply ask them.")
    why = ask(address, f"api/runs/{run}/turns/{turn.turn}?token={TOKEN}").json["why"]
    assert "A person wrote this line in place of candidate" in str(why)
    page.goto(f"{address}?token={TOKEN}#/runs/{run}?turn={turn.turn}&pane=candidates")
    expect(page.get_by_text("A person's words")).to_be_visible()
    expect(page.get_by_text("written by a person in the place of candidate 1")).to_be_visible()
    exported = store.with_name("rewritten.html")
    with SqlStore.open(store) as opened:
        exported.write_text("\n".join(html_of_run(opened, run)), encoding="utf-8")
    page.goto(f"{exported.as_uri()}#/runs/{run}?turn={turn.turn}")
    said = page.get_by_role("listbox", name="Transcript").get_by_role("option").filter(has_text=turn.text)
    expect(said).to_contain_text("✎ rewritten by a person")
    expect(page.get_by_role("region", name="Why")).to_contain_text("A person wrote this line in place of candidate")


def test_the_button_stands_above_the_notice_of_a_run_without_a_line(page: Page, store: Path, address: str) -> None:
    run = stopped_before_its_first_line(store, "tidewell")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}?token={TOKEN}#/runs/{run}")
    button = page.get_by_role("button", name="Pause before the next line").bounding_box()
    notice = page.locator("p:has(button) ~ .notice").bounding_box(timeout=5000)
    assert button is not None
    assert notice is not None
    assert button["y"] + button["height"] <= notice["y"]


@pytest.mark.access
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_in_a_held_line_and_no_width_breaks_it(
    browser: Browser, store: Path, address: str, width: int
) -> None:
    run = stopped_before_its_first_line(store, "team_building")
    page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    hold(page, address, run)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert violations(page) == []
    page.get_by_role("button", name="Go on with this line").click()
    until(lambda: tertulia.open_store(store).run(run).status == "finished")
    page.context.close()
