"""A word of the glossary shows its sentence where it stands: by mouse, keyboard and touch, in an exported file too."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support.viewer_page import AXE, serving, violations

import tertulia
from tertulia.lab.glossary import glossary
from tertulia.storage.store import SqlStore
from tertulia.viewer.html_file import html_of_run

SENTENCE = next(f"{term.sentence}." for term in glossary() if term.name == "rolled back")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("terms") / "terms.db"


@pytest.fixture(scope="module")
def run(store: Path) -> str:
    return tertulia.run("tidewell", rehearse=True, removal_factor=0.5, rounds=3, seed=1, store=store).id


@pytest.fixture(scope="module", params=["served", "file"])
def address(store: Path, run: str, request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "file":
        exported = store.with_name("run.html")
        with SqlStore.open(store) as opened:
            exported.write_text("\n".join(html_of_run(opened, run)), encoding="utf-8")
        yield exported.as_uri()
    else:
        with serving(store) as served:
            yield served


def word_in(page: Page, address: str, run: str) -> tuple[Locator, Locator]:
    """Open the candidates of a turn, and return a word and its sentence."""
    page.goto(f"{address}#/runs/{run}?turn=2&pane=candidates")
    term = page.locator(".term").filter(has_text="rolled back").first
    return term.get_by_role("button"), term.locator("[role=tooltip]")


def test_the_sentence_shows_by_mouse_and_by_keyboard(page: Page, address: str, run: str) -> None:
    word, sentence = word_in(page, address, run)
    expect(sentence).to_be_hidden()
    word.hover()
    expect(sentence).to_have_text(SENTENCE)
    sentence.hover()
    expect(sentence).to_be_visible()
    page.mouse.move(2, 2)
    expect(sentence).to_be_hidden()
    word.focus()
    expect(sentence).to_be_visible()
    expect(word).to_have_accessible_description(SENTENCE)
    if AXE.is_file():
        assert violations(page) == []
    page.keyboard.press("Escape")
    expect(sentence).to_be_hidden()


def test_a_word_that_has_the_focus_may_leave_the_page(page: Page, address: str, run: str) -> None:
    word, _ = word_in(page, address, run)
    word.focus()
    page.evaluate("location.hash = location.hash.replace('pane=candidates', 'pane=prompt')")
    expect(word).to_have_count(0)  # the page's fixture fails on any error


def test_the_sentence_shows_by_touch_and_leaves_no_width_broken(browser: Browser, address: str, run: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    word, sentence = word_in(page, address, run)
    word.tap()
    expect(sentence).to_be_visible()
    box = sentence.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.get_by_role("heading", name="Turn 2").tap()
    expect(sentence).to_be_hidden()
    context.close()
