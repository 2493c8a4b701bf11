"""The shipped example: what it holds, where it is written, and the walk through it."""

import json
import lzma
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.requests_to_page import ask

from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore
from tertulia.viewer.example import EXAMPLE_STORE, example_store, packed

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example_store(tmp_path_factory.mktemp("example"))


def test_it_is_small_and_has_one_of_each_kind_by_the_embedded_model(example: Path) -> None:
    assert files("tertulia.viewer.example").joinpath("store.db.xz").stat().st_size < 3e6
    with SqlStore.open(example) as store:
        runs = store.runs()
        assert {"tidewell:3", "mothers_house", "villagers"} <= {run.scenario for run in runs}
        assert {run.trial.experiment for run in runs if run.trial} == {"example"}
        assert {run.status for run in runs} == {"finished"}
        assert {run.model for run in runs} == {"smollm2"}
        assert {0, 0.5, 1} <= {run.parameters["removal_factor"] for run in runs}
        assert any(run.parent for run in runs)
        assert store.simulations.all()


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / EXAMPLE_STORE).write_bytes(b"mine")
    assert example_store(tmp_path).read_bytes() == b"mine"


def test_a_folder_that_can_t_be_written_to_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"can't be written to .*nowhere.*go to a folder of your own"):
        example_store(tmp_path / "nowhere")


def test_packing_and_unpacking_keep_all_conversations(example: Path, tmp_path: Path) -> None:
    (tmp_path / "again.db").write_bytes(lzma.decompress(packed(example)))
    with SqlStore.open(example) as former, SqlStore.open(tmp_path / "again.db") as again:
        assert [run.run for run in former.runs()] == [run.run for run in again.runs()]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of `view --example` in an empty folder."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tertulia.cli.main", "view", "--example", "--no-open", "--port", "0", "--json"],
        cwd=tmp_path,
        env={key: value for key, value in os.environ.items() if key != "TERTULIA_STORE"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())["url"]
    process.kill()
    process.communicate()


#: Where the card and what it speaks about stand once both are at rest; null where there is nothing marked.
_BOXES = """async () => {
    const box = (selector) => {
        const { left, top, right, bottom } = document.querySelector(selector)?.getBoundingClientRect() ?? {};
        return [left, top, right, bottom];
    };
    for (let before = "", same = 0; same < 4; ) {
        const now = JSON.stringify([box(".guide"), box("[data-walk]")]);
        same = now === before && !document.documentElement.hasAttribute("data-reading") ? same + 1 : 0;
        before = now;
        await new Promise((done) => setTimeout(done, 50));
    }
    return [box(".guide"), box("[data-walk]")];
}"""


#: What else of the page stands where a button does, leaves of its tree alone.
_COVERED = """(button) => {
    const { left, top, right, bottom } = button.getBoundingClientRect();
    const leaves = [...document.querySelectorAll("body *")].filter((element) => !element.childElementCount);
    return leaves.filter((leaf) => !button.contains(leaf) && leaf.checkVisibility()).filter((leaf) => {
        const box = leaf.getBoundingClientRect();
        return box.width * box.height && box.left < right && left < box.right && box.top < bottom && top < box.bottom;
    }).map((leaf) => leaf.outerHTML.slice(0, 120));
}"""

#: Whether the frame of what is marked is cut off at a side, or something lies over it, as its corners show.
_FRAME = """() => {
    const marked = document.querySelector("[data-walk]");
    const { left, top, right, bottom } = marked.getBoundingClientRect();
    const around = [];
    for (let element = marked.parentElement; element !== document.body; element = element.parentElement)
        if (getComputedStyle(element).overflowX !== "visible") around.push(element.getBoundingClientRect());
    const isCut = around.some((box) => left - 6 < box.left || right + 6 > box.right);
    const corners = [[left + 3, top + 3], [right - 3, top + 3], [left + 3, bottom - 3], [right - 3, bottom - 3]];
    return { isCut, isCovered: !corners.every(([x, y]) => marked.contains(document.elementFromPoint(x, y))) };
}"""

SIZES = [(390, 844), (1280, 800)]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_card_of_the_walk_covers_nothing_of_what_it_speaks_about(
    served: str, browser: Browser, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(served)
    walk = page.get_by_role("complementary", name="Guided walk")
    for number in range(1, 9):
        expect(walk).to_contain_text(f"{number} of 8")
        expect(page.locator("[data-walk]")).to_be_visible()
        card, marked = page.evaluate(_BOXES)
        for left, top, right, bottom in (card, marked):
            assert left >= 0, (number, card, marked)
            assert top >= 0, (number, card, marked)
            assert right <= width, (number, card, marked)
            assert bottom <= height, (number, card, marked)
        is_beside = card[2] <= marked[0] or marked[2] <= card[0]
        assert is_beside or card[3] <= marked[1] or marked[3] <= card[1], (number, card, marked)
        assert page.evaluate(_FRAME) == {"isCut": False, "isCovered": False}, number
        if number < 8:
            walk.get_by_role("button", name="Next").click()
    context.close()


def test_the_walk_begins_at_the_conversation_that_it_leads_into(served: str, page: Page) -> None:
    page.goto(served)
    begins = page.locator("[data-walk]").get_by_role("link").first.get_attribute("href")
    walk = page.get_by_role("complementary", name="Guided walk")
    walk.get_by_role("button", name="Next").click()
    expect(walk).to_contain_text("2 of 8")
    assert begins is not None
    assert page.evaluate("location.hash").startswith(f"{begins}?")
    expect(page.locator("[data-walk] li").nth(3)).to_be_visible()  # what she was told: more than who she is


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_button_of_the_walk_lies_over_nothing(served: str, browser: Browser, width: int, height: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(served)
    page.get_by_role("complementary", name="Guided walk").get_by_role("button", name="Close").click()
    button = page.get_by_role("button", name="Guided walk")
    expect(button).to_be_visible()
    for place in ("#/runs", "#/experiments"):
        page.goto(f"{served}{place}")
        expect(page.locator("main h1")).to_be_visible()
        for end in (0, 100_000):
            page.evaluate(f"scrollTo(0, {end})")
            expect(page.locator("html[data-reading]")).to_have_count(0)
            assert button.evaluate(_COVERED) == [], (place, end)
    button.scroll_into_view_if_needed()
    left, right = button.evaluate(
        "(button) => [button.getBoundingClientRect().left, button.getBoundingClientRect().right]"
    )
    assert left >= 0
    assert right <= width
    context.close()


def test_the_walk_leads_through_eight_places_by_keyboard_and_is_left_by_escape(served: str, page: Page) -> None:
    assert ask(served, "api/store").json["is_example"] is True
    page.goto(served)
    walk = page.get_by_role("complementary", name="Guided walk")
    seen = []
    for number in range(1, 9):
        expect(walk).to_contain_text(f"{number} of 8")
        expect(page.locator("[data-walk]")).to_be_visible()
        assert page.locator("h1").first.inner_text() != "There is no such page"
        seen.append(page.evaluate("location.hash"))
        walk.get_by_role("button", name="Next" if number < 8 else "Done").focus()
        if number < 8:
            page.keyboard.press("Enter")
    assert len(set(seen)) == 8
    page.keyboard.press("Escape")
    expect(walk).to_have_count(0)
    page.reload()
    page.get_by_role("button", name="Guided walk").click()
    expect(walk).to_contain_text("1 of 8")
