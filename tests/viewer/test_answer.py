"""The answer above a turn: in view at once, with what its line leaned on, and λ; small heads; type that can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect
from support.turn_page import open_turn
from support.viewer_page import serving

import tertulia
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at

WIDTH, HEIGHT = 1280, 800


#: As on a busy machine: what is left for after a drawing comes two seconds later.
_BUSY = """const soon = setTimeout;
globalThis.setTimeout = (run, ms = 0, ...given) => soon(run, ms + 2000, ...given);
globalThis.requestAnimationFrame = (run) => soon(run, 2000);"""


class Kinds:
    """A served store with a dialogue, a meeting and an album chat."""

    def __init__(self, path: Path, address: str) -> None:
        self.path, self.address, self.runs = path, address, dict[str, str]()

    def document(self, kind: str, turn: int) -> dict[str, Any]:
        with SqlStore.open(self.path) as store:
            return document_at(store, f"runs/{self.runs[kind]}/turns/{turn}")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kinds]:
    path = tmp_path_factory.mktemp("answers") / "t.db"
    dialogue = tertulia.run("tidewell", rehearse=True, rounds=4, removal_factor=0.5, store=path, progress=False)
    meeting = tertulia.run("team_building", rehearse=True, rounds=8, removal_factor=0.4, store=path, progress=False)
    album = tertulia.run("villagers", rehearse=True, rounds=2, agents=4, removal_factor=0.5, store=path, progress=False)
    with serving(path) as address:
        served = Kinds(path, address)
        served.runs = {"dialogue": dialogue.id, "meeting": meeting.id, "album": album.id}
        yield served


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh browser, which remembers nothing."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    yield context.new_page()
    context.close()


def box(found: Locator) -> FloatRect:
    bounds = found.bounding_box()
    assert bounds is not None
    return bounds


def assert_in_view(found: Locator) -> None:
    bounds = box(found)
    assert bounds["height"] > 0
    assert bounds["y"] >= 0, found
    assert bounds["y"] + bounds["height"] <= HEIGHT, (found, bounds)
    assert bounds["x"] + bounds["width"] <= WIDTH, found


def leaned_on_most(document: dict[str, Any]) -> list[dict[str, Any]]:
    scored = [unit for unit in document["units"] if unit["line_score"] is not None]
    return sorted(scored, key=lambda unit: -float(unit["line_score"]))


@pytest.mark.parametrize(("kind", "turn"), [("dialogue", 3), ("meeting", 5), ("album", 3)])
def test_the_answer_what_the_line_leaned_on_most_and_lambda_are_in_view_at_once(
    page: Page, kinds: Kinds, kind: str, turn: int
) -> None:
    open_turn(page, kinds.address, kinds.runs[kind], turn)
    document = kinds.document(kind, turn)
    answer = page.get_by_role("region", name="Why").locator("p").first
    expect(answer).to_have_text(str(document["why"]))
    assert_in_view(answer)
    shown = page.locator(".answer li" if kind == "meeting" else ".units .unit:not(.fixed)")
    for place, unit in enumerate(leaned_on_most(document)[:3]):
        assert_in_view(shown.nth(place))
        expect(shown.nth(place)).to_contain_text(f"{unit['line_score']:.3f}")
        expect(shown.nth(place)).to_contain_text(unit["text"].removeprefix("- ")[:30].split("\n")[0])
    assert_in_view(page.locator(".turn-head .tag").filter(has_text="λ = "))
    if kind == "meeting":
        gone, removable = document["removed_items"], sum(unit["removable"] for unit in document["units"])  # type: ignore
        expect(page.locator(".answer")).to_contain_text(f"λ = 0.4 took {gone} of {removable} items away")
    else:
        assert_in_view(page.get_by_label("λ as a number"))


# --- two questions --------------------------------------------------------------------------------------------------


def pressed(page: Page) -> list[str]:
    return page.get_by_role("group", name="What the shades show").locator("[aria-pressed=true]").all_inner_texts()


def test_shades_show_what_the_line_leaned_on_until_lambda_is_moved(page: Page, kinds: Kinds) -> None:
    document = kinds.document("dialogue", 3)
    open_turn(page, kinds.address, kinds.runs["dialogue"], 3)
    assert pressed(page) == ["Leaned on"]
    expect(page.locator(".units .caption")).to_contain_text("Random numbers, as this run was rehearsed.")
    gone = [unit["id"] for unit in document["units"] if unit["removed"]]
    assert gone
    for unit in gone:
        row = page.locator(f'.unit[data-unit="{unit}"]')
        expect(row).to_contain_text("removed")
        expect(row.locator(".bar")).to_have_count(0)
        style = row.locator(".text").evaluate("text => [getComputedStyle(text).backgroundColor, text.style.cssText]")
        assert style == ["rgba(0, 0, 0, 0)", "--heat: 0;"]
        struck = row.locator(".text > .data").evaluate("text => getComputedStyle(text).textDecorationLine")
        assert struck == "line-through"

    slider = page.get_by_role("slider", name="λ", exact=True)
    slider.press("ArrowRight")
    assert pressed(page) == ["Removed by λ"]
    heaviest = max((unit for unit in document["units"] if unit["removable"]), key=lambda unit: unit["score"])
    expect(page.locator(".units .unit").first).to_have_attribute("data-unit", heaviest["id"])
    page.get_by_role("button", name="Leaned on").press("Enter")
    assert pressed(page) == ["Leaned on"]
    slider.press("ArrowRight")
    assert pressed(page) == ["Removed by λ"]
    page.get_by_role("button", name="As it was").click()
    assert pressed(page) == ["Leaned on"]
    page.get_by_role("button", name="Removed by λ").press("Enter")
    expect(page).to_have_url(f"{kinds.address}#/runs/{kinds.runs['dialogue']}?turn=3&shade=removed")


# --- what stands where ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "turn"), [("dialogue", 3), ("meeting", 5), ("album", 3)])
def test_on_a_telephone_the_answer_is_in_view_and_the_transcript_one_step_away(
    browser: Browser, kinds: Kinds, kind: str, turn: int
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    open_turn(page, kinds.address, kinds.runs[kind], turn)
    answer = page.get_by_role("region", name="Why").locator("p").first
    expect(answer).to_have_text(str(kinds.document(kind, turn)["why"]))
    bounds = box(answer)
    assert page.evaluate("scrollY") == 0
    assert bounds["y"] + bounds["height"] <= 844, bounds
    transcript = page.get_by_role("listbox", name="Transcript")
    expect(transcript).to_be_hidden()
    page.get_by_role("button", name="Back to the transcript").click()
    expect(transcript).to_be_focused()
    expect(transcript.locator("[aria-selected=true]")).to_be_in_viewport()
    context.close()


@pytest.mark.parametrize("script", ["", _BUSY], ids=["idle", "busy"])
def test_the_theme_button_follows_the_system(page: Page, kinds: Kinds, script: str) -> None:
    page.add_init_script(script)
    page.emulate_media(color_scheme="light")
    page.goto(kinds.address)
    expect(page.get_by_role("button", name="Dark")).to_be_visible()
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_role("button", name="Light")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
