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


def test_five_hundred_turns_are_usable(page: Page, address: str) -> None:
    page.goto(address)
    transcript(page).press("ArrowDown")
    expect(chosen(page)).to_contain_text("Line 2.")


def test_only_rows_in_view_are_drawn(page: Page, address: str) -> None:
    page.goto(address)
    expect(chosen(page)).to_have_attribute("aria-setsize", "500")
    assert transcript(page).get_by_role("option").count() < 40
    transcript(page).press("End")
    expect(chosen(page)).to_contain_text("Line 500.")
    expect(chosen(page)).to_be_in_viewport()
    assert transcript(page).get_by_role("option").count() < 40


def test_bars_of_the_timeline_are_drawn_for_what_is_in_view(page: Page, address: str) -> None:
    page.goto(f"{address}?turn=250&zoom=16")
    bars = page.locator(".timeline [data-turn]")
    expect(page.locator(".timeline [data-turn='250']")).to_be_visible()
    assert bars.count() < 60
    page.get_by_role("button", name="Fit").click()
    expect(bars).to_have_count(0)  # an outline for each speaker
    assert page.locator(".timeline .bars path").count() == 1


def test_a_click_on_the_timeline_chooses_the_turn_there(page: Page, address: str) -> None:
    page.goto(f"{address}?turn=250&zoom=16")
    page.locator(".timeline [data-turn='251'] rect").click()
    expect(chosen(page)).to_contain_text("Line 251.")


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


def test_a_long_run_is_read_a_few_turns_at_a_time(page: Page, address: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}?turn=7")
    expect(chosen(page)).to_have_attribute("aria-setsize", "500")
    ranges = [re.search(r"turns\?(?:after=(\d+)&)?to=(\d+)", url) for url in asked if "/turns?" in url]
    read = [(int(found.group(1) or 0), int(found.group(2))) for found in ranges if found]
    assert len(read) == len(ranges) > 2
    assert max(to - after for after, to in read) <= 300


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


def test_what_is_looked_for_is_counted_marked_and_led_to(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("searchbox", name="Find in the transcript").fill("line 49")
    expect(page.get_by_role("search").get_by_role("status")).to_have_text("11 turns")
    page.get_by_role("button", name="Next match").click()
    expect(chosen(page).locator("mark")).to_have_text("Line 49")
    page.get_by_role("button", name="Previous match").click()
    expect(chosen(page)).to_contain_text("Line 499.")


def test_an_address_opens_the_same_view_again(page: Page, address: str) -> None:
    page.goto(address)
    expect(chosen(page)).to_have_attribute("aria-setsize", "500")
    transcript(page).press("ArrowDown")
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("searchbox").fill("Line 2")
    page.get_by_role("combobox", name=re.compile("Speed")).select_option("10")
    page.get_by_role("slider", name="Turn").fill("299")
    expect(chosen(page)).to_contain_text("Line 300.")
    expect(page).to_have_url(re.compile("turn=300"))  # it follows after a pause
    shown = page.url

    def state() -> list[object]:
        """What the view shows: the chosen turn, the speed, the term, and how much of the clock is in view."""
        expect(chosen(page)).to_have_attribute("aria-setsize", "500")  # the clock is as long as what is read of it
        expect(chosen(page)).to_be_in_viewport()
        return [
            chosen(page).get_attribute("aria-posinset"),
            page.get_by_role("combobox", name=re.compile("Speed")).input_value(),
            page.get_by_role("searchbox").input_value(),
            page.locator(".clock > div").evaluate("element => element.clientWidth"),
        ]

    before = state()
    page.goto("about:blank")
    page.goto(shown)
    expect(chosen(page)).to_contain_text("Line 300.")
    assert state() == before


def test_a_turn_that_is_not_there_is_told(page: Page, address: str) -> None:
    page.goto(f"{address}?turn=501")
    expect(page.get_by_text("There is no turn 501")).to_be_visible()


def test_on_a_telephone_a_turn_leads_to_how_it_came_about_and_back(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    transcript(page).get_by_role("option").nth(2).click()
    beside = page.get_by_role("region", name="How the chosen turn came about")
    expect(beside).to_be_focused()
    expect(beside.get_by_role("button", name="Back to the transcript")).to_be_in_viewport()
    page.get_by_role("button", name="Back to the transcript").click()
    expect(chosen(page)).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
