"""The conversation view over five hundred turns: timeline, transcript, keys, playback, addresses."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from support.stored import a_case, a_prompt, a_run, a_turn_record
from support.viewer_page import serving

from tertulia.storage.store import SqlStore


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a run of five hundred turns."""
    path = tmp_path_factory.mktemp("viewer") / "t.db"
    with SqlStore.open(path, create=True) as store, store.transaction():
        store.create_run(a_run("k3f9", status="finished"), a_case())
        prompt = a_prompt()
        shared = {"prompt": store.save_prompt(prompt), "scores": {unit.id: 0.1 for unit in prompt.units}}
        for turn in range(1, 501):
            store.save_turn("k3f9", a_turn_record(turn, removed=("memory.m3", "memory.m1"), **shared))
    with serving(path) as address:
        yield f"{address}#/runs/k3f9"


def transcript(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Transcript")


def chosen(page: Page) -> Locator:
    return transcript(page).get_by_role("option", selected=True)


def test_only_rows_in_view_are_drawn(page: Page, address: str) -> None:
    page.goto(address)
    expect(chosen(page)).to_have_attribute("aria-setsize", "500")
    assert transcript(page).get_by_role("option").count() < 40
    transcript(page).press("End")
    expect(chosen(page)).to_contain_text("Line 500.")
    expect(chosen(page)).to_be_in_viewport()
    assert transcript(page).get_by_role("option").count() < 40


def test_the_keys_lead_from_turn_to_turn(page: Page, address: str) -> None:
    page.goto(f"{address}?turn=7")
    clock = page.get_by_role("group", name=re.compile("along the simulated clock"))
    for key, line in (("ArrowRight", 8), ("ArrowLeft", 7), ("End", 500), ("Home", 1)):
        clock.press(key)
        expect(chosen(page)).to_contain_text(f"Line {line}.")
    page.get_by_role("slider", name="Turn").fill("41")
    expect(chosen(page)).to_contain_text("Line 42.")


def test_keys_and_slider_reach_turns_that_are_not_read_yet(page: Page, address: str) -> None:
    later: list[Route] = []
    are_held = {"later turns"}
    page.route(re.compile(r"turns\?after="), lambda route: later.append(route) if are_held else route.continue_())
    page.goto(f"{address}?turn=7")
    slider = page.get_by_role("slider", name="Turn")
    expect(slider).to_have_attribute("max", "499")
    expect(chosen(page)).to_have_attribute("aria-setsize", "150")
    for asked in ("299", "499"):
        slider.fill(asked)
        expect(slider).to_have_value(asked)
    expect(page.get_by_role("region", name="How the chosen turn came about")).to_contain_text("Line 500.")
    are_held.clear()  # the rest comes in several parts
    for route in later:
        route.continue_()
    expect(chosen(page)).to_contain_text("Line 500.")
    transcript(page).press("ArrowUp")
    expect(chosen(page)).to_contain_text("Line 499.")


def test_playing_back_chooses_turns_as_the_clock_reaches_them(page: Page, address: str) -> None:
    page.goto(f"{address}?speed=50")
    expect(chosen(page)).to_contain_text("Line 1.")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    # Turn N begins after 3.2 N seconds: fifty times as fast, six turns take less than half a second.
    page.wait_for_function("() => Number(document.querySelector('[aria-selected=true]')?.ariaPosInSet) > 5")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    paused_at = chosen(page).get_attribute("aria-posinset")
    page.wait_for_timeout(300)
    expect(chosen(page)).to_have_attribute("aria-posinset", paused_at or "")
    expect(page).to_have_url(f"{address}?speed=50&turn={paused_at}")  # the address follows after a pause
