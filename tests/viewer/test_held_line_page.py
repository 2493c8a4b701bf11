"""The panel of a held line in a browser: pause, rewrite, go on; what is typed outlives a reload."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.requests_to_page import ask
from support.seats import TOKEN, post, until
from support.viewer_page import serving

import tertulia
from tertulia.storage.store import SqlStore
from tertulia.viewer.html_file import html_of_run

COMMAND = [sys.executable, "-m", "tertulia.cli.main"]
AXE = Path(__file__).parents[2] / "tertulia" / "viewer" / "page" / "node_modules" / "axe-core" / "axe.min.js"
_FOUND = """async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`);
}"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("held") / "t.db"
    tertulia.run("team_building", rounds=3, rehearse=True, store=path, progress=False)
    return path


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND) as address:
        yield address


def begun(store: Path, name: str) -> str:
    """A meeting that has begun, and whose process has ended before the first line."""
    with SqlStore.open(store) as opened:
        parent = next(run for run in opened.runs() if run.status == "finished")
        opened.create_run(
            parent.model_copy(update={"run": name, "turns": 0, "status": "interrupted"}), opened.start(parent.run)
        )
    return name


def held(page: Page, address: str, run: str) -> None:
    """Ask for a pause on the page, let the run go on, and wait for its line."""
    page.goto(f"{address}?token={TOKEN}#/runs/{run}")
    button = page.get_by_role("button", name="Pause before the next line")
    button.press("Enter")
    expect(page.get_by_role("button", name="Pausing before the next line…")).to_have_attribute("aria-pressed", "true")
    assert post(address, "api/start", {"action": "resume", "run": run}).status == 200
    expect(page.get_by_role("heading", name="is about to say")).to_be_visible(timeout=20_000)


def test_a_line_is_rewritten_on_the_page_and_the_record_says_so(page: Page, store: Path, address: str) -> None:
    run = begun(store, "h001")
    held(page, address, run)
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
    assert "a person rewrote the line before it was said" in str(why)
    page.goto(f"{address}?token={TOKEN}#/runs/{run}?turn={turn.turn}&pane=candidates")
    expect(page.get_by_text("A person's words")).to_be_visible()
    expect(page.get_by_text("written by a person in the place of candidate 1")).to_be_visible()
    exported = store.with_name("rewritten.html")
    with SqlStore.open(store) as opened:
        exported.write_text("\n".join(html_of_run(opened, run)), encoding="utf-8")
    page.goto(f"{exported.as_uri()}#/runs/{run}?turn={turn.turn}")
    said = page.get_by_role("listbox", name="Transcript").get_by_role("option").filter(has_text=turn.text)
    expect(said).to_contain_text("✎ rewritten by a person")
    expect(page.get_by_role("region", name="Why")).to_contain_text("a person rewrote the line before it was said")


@pytest.mark.access
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_in_a_held_line_and_no_width_breaks_it(
    browser: Browser, store: Path, address: str, width: int
) -> None:
    run = begun(store, f"h{width}")
    page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    held(page, address, run)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; install it with: make viewer-packages")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert page.evaluate(_FOUND) == []
    page.get_by_role("button", name="Go on with this line").click()
    until(lambda: tertulia.open_store(store).run(run).status == "finished")
    page.context.close()
