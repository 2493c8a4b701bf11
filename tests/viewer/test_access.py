"""Every view for everybody: axe finds nothing in either theme, the keyboard reaches all, and no width breaks it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Error, Page, expect
from support.viewer_page import AXE, serving, violations
from support.viewer_views import Runs, rehearse_all, resize, text_at, text_of, watched

import tertulia
from tertulia.storage.store import SqlStore
from tertulia.viewer.html_file import html_of_run

#: Views that are tried in the file too; the others are the same there.
IN_FILE = ("meeting", "minds", "figures", "no run")

WIDTHS = (360, 768, 1280, 2560)

#: The widths in which axe is asked.
ASKED = (360, 1280)


_WIDER = """() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return null;
    const isOutside = (element) => element.getBoundingClientRect().right > clientWidth;
    const outside = [...document.querySelectorAll("main *")].filter(isOutside).slice(-3);
    return `${scrollWidth} > ${clientWidth}: ${outside.map((element) => element.outerHTML.slice(0, 120)).join(" | ")}`;
}"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access") / "access.db"


@pytest.fixture(scope="module")
def runs(store: Path) -> Runs:
    return rehearse_all(store)


@pytest.fixture(scope="module")
def address(store: Path, runs: Runs) -> Iterator[str]:
    with serving(store) as served:
        yield served


@pytest.fixture(scope="module")
def file(store: Path, runs: Runs) -> str:
    """The address of the exported meeting."""
    exported = store.with_name("meeting.html")
    with SqlStore.open(store) as opened:
        exported.write_text("\n".join(html_of_run(opened, runs.meeting)), encoding="utf-8")
    return exported.as_uri()


@pytest.fixture(scope="module")
def places(address: str, file: str, runs: Runs) -> dict[str, str]:
    """The address of every view, those of the file last, so that pages are loaded twice in all."""
    return {name: f"{address}{place}" for name, place in runs.views().items()} | {
        f"file, {name}": f"{file}{place}" for name, place in runs.views().items() if name in IN_FILE
    }


class Visited(NamedTuple):
    """What was noted in one visit of every view."""

    texts: dict[str, str]
    violations: list[str]
    wider: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def visited(browser: Browser, places: dict[str, str]) -> Visited:
    """Every view is opened once for all tests, and looked at in each width and theme."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page, errors = context.new_page(), list[Error]()
    page.on("pageerror", lambda error: errors.append(error))
    noted = Visited({}, [], [], watched(page))
    for name, place in places.items():
        noted.texts[place] = text_at(page, place)
        for width in WIDTHS:
            resize(page, width)
            if wider := page.evaluate(_WIDER):
                noted.wider.append(f"{name}, {width}: {wider}")
            if AXE.is_file() and width in ASKED:
                noted.violations.extend(f"{name}, {width}: {line}" for line in violations(page))
        resize(page, 1280)
    context.close()
    assert not errors
    return noted


@pytest.mark.access
def test_axe_finds_nothing_in_either_theme(visited: Visited) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; install it with: make viewer-packages")
    assert not visited.violations, "\n".join(visited.violations)


def test_no_view_is_wider_than_the_window(visited: Visited) -> None:
    assert not visited.wider, "\n".join(visited.wider)


def test_nothing_is_asked_of_anybody_else(visited: Visited, address: str, file: str) -> None:
    foreign = [url for url in visited.requests if not url.startswith((address, file, "data:", "blob:"))]
    assert (foreign, len(visited.requests) > len(visited.texts) / 2) == ([], True)
    assert {url.partition("#")[0] for url in visited.requests if url.startswith("file:")} == {file}


# --- the keyboard ---------------------------------------------------------------------------------------------------

_FOCUSED = """() => {
    const element = document.activeElement;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    return {
        tag: element.tagName, type: element.type ?? "", href: element.getAttribute("href") ?? "",
        name: (element.ariaLabel || element.innerText || element.labels?.[0]?.innerText || "").trim(),
        isMarked: (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none",
    };
}"""

Focused = dict[str, str]


def tab_to(page: Page, wanted: Callable[[Focused], bool], what: str, at_most: int = 60) -> Focused:
    """Press Tab until the focus is on something, which is then marked as such."""
    seen = []
    for _ in range(at_most):
        page.keyboard.press("Tab")
        focused: Focused = page.evaluate(_FOCUSED)
        if wanted(focused):
            assert focused["isMarked"], f"the focus is not visible: {focused}"
            return focused
        seen.append(f"{focused['tag']} {focused['name'][:40]}")
    raise AssertionError(f"Tab never comes to {what}: {seen}")


def test_the_keyboard_alone_reaches_everything(page: Page, store: Path, address: str, runs: Runs) -> None:
    page.set_default_timeout(8_000)
    text_at(page, address)
    expect(page).to_have_title("Runs · Tertulia")
    tab_to(page, lambda focused: focused["href"].startswith(f"#/runs/{runs.dialogue}"), "the run")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(runs.dialogue)
    expect(page).to_have_title(f"{runs.dialogue} · Tertulia")
    for turn in tertulia.open_store(store).run(runs.dialogue).turns:
        expect(page.get_by_text(turn.text, exact=True).first).to_be_visible()
    text_of(page)

    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"[?&]turn=2\b"))
    text_of(page)

    tab_to(page, lambda focused: focused["type"] == "range" and "λ" in focused["name"], "the slider of λ")
    before = text_of(page)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("[?&]lambda="))
    assert re.search(r"[?&]turn=2\b", page.url), "arrow keys on the slider don't change the turn"
    assert text_of(page) != before

    tab_to(page, lambda focused: focused["name"].lower().startswith("candidates"), "the candidates")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("[?&]pane=candidates"))

    page.goto(f"{address}#/runs/{runs.fork}")
    text_of(page)
    tab_to(page, lambda focused: focused["href"].startswith("#/compare/"), "the comparison with its parent")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("#/compare/"))
    assert runs.fork in text_of(page)


# --- addresses ------------------------------------------------------------------------------------------------------


def test_any_address_reopens_the_same_view(page: Page, visited: Visited) -> None:
    for place, text in reversed(visited.texts.items()):
        assert text_at(page, place) == text, place
