"""A conversation that is begun on the page: by mouse and keyboard, with nothing typed lost, and its lines arrive."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.new_runs import COMMAND
from support.seats import TOKEN, until
from support.viewer_page import serving, violations

from tertulia.storage.store import SqlStore

#: A model on a server, which is not asked here, and one that is not there.
SERVED, MISSING = "http://localhost:9/v1#small", "./nowhere"

#: How long a process may take to begin a run, in milliseconds.
STARTED_MS = 30_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND, models=[SERVED, MISSING]) as address:
        yield address


def opened(page: Page, address: str, place: str = "new") -> None:
    page.goto(f"{address}?token={TOKEN}#/{place}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_two_people_are_typed_and_their_first_line_is_read_without_a_terminal(
    page: Page, address: str, store: Path
) -> None:
    opened(page, address, "runs")
    page.get_by_role("link", name="New conversation").click()
    first, second = (page.get_by_role("group", name=f"Person {number}") for number in (1, 2))
    first.get_by_label("Name").fill("Ida Falk")
    first.get_by_label("What they remember").fill("Ida lost the key in March.\nIda met Jonas at the quay.")
    second.get_by_label("Who they are").fill("He is a clerk.")
    page.get_by_role("button", name="Begin").click()
    name = second.get_by_label("Name")
    expect(name).to_be_focused()
    expect(name).to_have_accessible_description(re.compile("give this person a name"))
    page.reload()  # nothing that was typed is lost
    expect(first.get_by_label("Name")).to_have_value("Ida Falk")
    name.fill("Jonas Brandt")
    page.get_by_label("Seed").fill("x")
    page.get_by_label("Rounds at most").fill("-1")
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_label("Seed")).to_have_accessible_description(re.compile("whole number"))
    expect(page.get_by_label("Rounds at most")).to_have_accessible_description(re.compile("from 1 to"))
    page.get_by_label("Seed").fill("1")
    page.get_by_label("Place").fill("the quay")
    page.get_by_label("Date and time").fill("2031-01-02T03:04")
    page.get_by_role("slider", name="λ").fill("0.3")
    page.get_by_label("Model", exact=True).select_option("rehearsal")
    page.get_by_label("Rounds at most").fill("4")
    page.get_by_role("button", name="What would it cost?").click()
    expect(page.get_by_text(re.compile("As rehearsed: 4 turns, .* tokens read"))).to_be_visible(timeout=STARTED_MS)
    page.get_by_label("Rounds at most").fill("3")
    expect(page.get_by_text("As rehearsed")).to_have_count(0)
    page.get_by_role("button", name="Begin").click()
    expect(page).to_have_url(re.compile("#/runs/[^/?]+\\?follow=1$"), timeout=STARTED_MS)
    expect(page.get_by_role("listbox", name="Transcript").get_by_role("option").last).to_be_in_viewport(
        timeout=STARTED_MS
    )
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text(re.compile("Ida Falk.* and .*Jonas Brandt"))
    expect(heading).to_be_focused()
    expect(page.get_by_text("Resume", exact=True)).to_have_count(0)
    with SqlStore.open(store) as stored:
        (run,) = until(lambda: [run for run in stored.runs() if run.status == "finished"])
        (line,) = stored.turns(run.run, 1, 1)
        expect(page.locator(".run-heading .first-line")).to_contain_text(line.text[:40])
        case = stored.start(run.run)
        assert (case.place, str(case.time), run.turns) == ("the quay", "2031-01-02 03:04:00", 3)
    opened(page, address)
    expect(page.get_by_label("Name").first).to_have_value("")  # what has begun is not begun again


def test_the_keyboard_alone_begins_a_shipped_scenario_and_a_row_opens_where_it_is_clicked(
    page: Page, address: str
) -> None:
    opened(page, address, "runs")

    def tab_to(selector: str) -> None:
        page.locator(selector).first.wait_for()
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(selector)

    tab_to("a[href='#/new']")
    page.keyboard.press("Enter")
    tab_to("[type=radio]")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("A shipped scenario")).to_be_checked()
    tab_to("[type=range]")
    page.keyboard.press("Home")
    expect(page.get_by_role("slider", name="λ")).to_have_value("0")
    tab_to(".new-settings select")
    page.keyboard.type("none")
    expect(page.get_by_label("Model", exact=True)).to_have_value("rehearsal")
    tab_to("button.primary")
    page.keyboard.press("Enter")
    expect(page.get_by_role("listbox", name="Transcript").get_by_role("option").last).to_be_in_viewport(
        timeout=STARTED_MS
    )
    run = page.url.partition("#/runs/")[2].partition("?")[0]
    opened(page, address, "runs")
    row = page.locator(f"[data-run='{run}']")
    row.locator(".first").click(force=True)  # what is there is the link, which covers the row
    expect(page).to_have_url(re.compile(f"#/runs/{run}$"))
    page.go_back()
    with page.context.expect_page() as tab:
        row.locator(".date").click(button="middle", force=True)
    expect(tab.value).to_have_url(re.compile(f"#/runs/{run}$"))
    row.get_by_role("checkbox").check()
    expect(page).to_have_url(re.compile("chosen="))


def test_a_model_that_is_not_there_is_a_line_and_what_was_typed_stays(page: Page, address: str) -> None:
    opened(page, address)
    page.get_by_label("A shipped scenario").check()
    options = page.get_by_label("Scenario", exact=True).get_by_role("option").all_text_contents()
    assert len({*options}) == len(options) == 12
    page.get_by_label("Model", exact=True).select_option(MISSING)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_text("The conversation could not be started.")).to_be_visible(timeout=STARTED_MS)
    expect(page.locator("pre.command")).to_contain_text("nowhere")
    expect(page.get_by_label("A shipped scenario")).to_be_checked()


def test_where_nothing_may_be_started_nothing_is_offered(page: Page, store: Path) -> None:
    with serving(store, TOKEN) as address:
        opened(page, address, "runs")
        expect(page.get_by_text("tertulia view --allow-runs")).to_be_visible()
        expect(page.get_by_role("link", name="New conversation")).to_have_count(0)
        opened(page, address)
        expect(page.get_by_text("tertulia view --allow-runs")).to_be_visible()
        expect(page.get_by_role("button", name="Begin")).to_have_count(0)


@pytest.mark.access
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_in_the_form_and_no_width_breaks_it(browser: Browser, address: str, width: int) -> None:
    page = browser.new_context(viewport={"width": width, "height": 844}).new_page()
    opened(page, address)
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("[aria-invalid=true]").first).to_be_focused()
    found = violations(page)
    page.get_by_label("A shipped scenario").check()
    page.get_by_label("Model", exact=True).select_option(SERVED)
    page.get_by_role("button", name="What would it cost?").click()
    expect(page.get_by_label("Price of a million tokens read")).to_be_visible(timeout=STARTED_MS)
    assert found + violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.context.close()
