"""The page of a seat in a browser: what is typed outlives a reload, and the host gives seats."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.seats import TOKEN, sit
from support.viewer_page import serving, violations

import tertulia

COMMAND = [sys.executable, "-m", "tertulia.cli.main"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seats") / "t.db"
    tertulia.run("team_building", rounds=3, rehearse=True, store=path, progress=False)
    tertulia.run("tidewell", rounds=4, rehearse=True, store=path, progress=False, settings={"ending": "off"})
    return path


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND) as address:
        yield address


def run_of(store: Path, scenario: str) -> str:
    return next(run.id for run in tertulia.open_store(store).runs() if run.scenario == scenario and run.parent is None)


def test_what_is_typed_outlives_a_reload_and_what_can_not_be_said_is_told(
    page: Page, store: Path, address: str
) -> None:
    _, tokens = sit(address, run_of(store, "tidewell"), "Emeka Obiora")
    page.goto(f"{address}?seat={tokens['Emeka Obiora']}")
    box, say = page.get_by_label("Your line"), page.get_by_role("button", name="Say it in turn 1")
    expect(say).to_be_enabled(timeout=20_000)
    box.press("Enter")
    expect(page.get_by_role("alert").get_by_text("The line is empty.")).to_be_visible()
    box.fill("x" * 100_000)
    say.click()
    expect(page.get_by_role("alert").get_by_text("The line has 100,000 characters")).to_be_visible()
    box.fill("Good morning, kept.")
    page.reload()
    expect(box).to_have_value("Good morning, kept.")
    assert page.url.endswith(tokens["Emeka Obiora"])
    expect(page.get_by_role("button", name="Say it in turn 1")).to_be_enabled(timeout=20_000)
    page.keyboard.press("Tab") if page.evaluate("document.activeElement.tagName") != "TEXTAREA" else None
    box.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".seat-line.own")).to_contain_text("Good morning, kept.", timeout=20_000)
    expect(page.get_by_role("button", name="Say it in turn 3")).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Leave the seat").press("Enter")
    page.get_by_role("button", name="Leave", exact=True).press("Enter")
    expect(page.get_by_text("The conversation is over.")).to_be_visible(timeout=20_000)
    assert page.locator(".seat-line").count() == 4


@pytest.mark.access
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_in_a_seat_and_no_width_breaks_it(
    browser: Browser, store: Path, address: str, width: int
) -> None:
    _, tokens = sit(address, run_of(store, "team_building"), "Bob")
    page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    page.goto(f"{address}?seat={tokens['Bob']}")
    expect(page.get_by_role("button", name="Say it in turn 1")).to_be_enabled(timeout=20_000)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert violations(page) == []
    page.context.close()


def test_the_host_gives_seats_from_the_page_of_a_run(browser: Browser, store: Path, address: str) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(f"{address}?token={TOKEN}#/runs/{run_of(store, 'tidewell')}")
    page.locator("summary", has_text="Seats").click()
    new = page.get_by_role("region", name="New seats")
    expect(new).to_contain_text("A seat is taken in a fork of this run")
    expect(new).to_contain_text("It begins anew, from turn 1. This run stays as it is.")
    page.get_by_label("Leila Haddad").check()
    expect(new).to_contain_text(re.compile("in which people speak for .?Leila Haddad"))
    page.get_by_role("button", name="Start a run with these seats").click()
    expect(page.get_by_role("region", name="Seats of this run")).to_contain_text(
        re.compile("This run is a fork of .*, in which people speak for .?Leila Haddad"), timeout=20_000
    )
    with page.context.expect_page() as sat:  # who wants to sit there themselves needs no invitation
        page.get_by_role("button", name="Sit here as Leila Haddad").click()
    expect(sat.value.get_by_text("You speak for")).to_be_visible()
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_role("button", name="Invite somebody as Leila Haddad").click()
    invitation = page.get_by_label("Invitation for Leila Haddad").input_value()
    assert TOKEN not in invitation.partition("?")[2].split("=")[1]
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Sit here").click()
    expect(opened.value.get_by_text("You speak for")).to_be_visible()
    assert opened.value.url == invitation
    expect(opened.value.get_by_text("This is a fork: it parted from another run at turn 1")).to_be_visible()
    page.get_by_role("button", name="Withdraw").click()
    expect(opened.value.get_by_text("This invitation is not valid, or was withdrawn.")).to_be_visible(timeout=10_000)
    page.context.close()
