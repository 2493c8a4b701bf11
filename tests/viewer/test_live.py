"""A run under an open page: new turns arrive without moving what is read, and after the server was away."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.stored import a_case, a_run, a_turn_record, write_turns
from support.viewer_page import serving

from tertulia.storage.store import SqlStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    """A run that goes on, of forty turns."""
    with SqlStore.open(tmp_path / "t.db", create=True) as store:
        store.create_run(a_run("k3f9"), a_case())
        write_turns(store, "k3f9", 1, 40)
        yield store


def test_a_new_turn_is_shown_without_moving_what_is_read(page: Page, store: SqlStore) -> None:
    with serving(Path(store.path)) as address:
        page.goto(f"{address}#/runs/k3f9?turn=20")
        line = page.get_by_role("option").filter(has_text="Line 20.")
        expect(line).to_be_in_viewport()
        page.wait_for_timeout(600)  # the first report of the server has come
        before = line.bounding_box()
        store.save_turn("k3f9", a_turn_record(41))
        expect(line).to_have_attribute("aria-setsize", "41")
        assert line.bounding_box() == before
        store.save_turn("k3f9", a_turn_record(42))
        store.set_status("k3f9", "finished")
        pill = page.get_by_role("button", name="2 new turns")
        expect(pill).to_be_visible()
        expect(page.get_by_text("finished").first).to_be_visible()
        assert line.bounding_box() == before
        pill.click()
        expect(page.get_by_role("option").filter(has_text="Line 42.")).to_be_in_viewport()
        expect(pill).to_be_hidden()


def test_who_follows_a_conversation_is_at_its_newest_turn(page: Page, store: SqlStore) -> None:
    with serving(Path(store.path)) as address:
        page.goto(f"{address}#/runs/k3f9?follow=1")
        expect(page.get_by_role("heading", name="Turn 40")).to_be_visible()
        store.save_turn("k3f9", a_turn_record(41))
        store.save_turn("k3f9", a_turn_record(42))
        store.set_status("k3f9", "finished")
        expect(page.get_by_role("heading", name="Turn 42")).to_be_visible()
        expect(page.locator("#turn-42[aria-selected=true]")).to_be_in_viewport()


def test_what_could_not_be_read_is_read_when_the_server_is_back(page: Page, store: SqlStore) -> None:
    with serving(Path(store.path)) as address:
        page.goto(f"{address}#/runs/k3f9?turn=3")
        expect(page.get_by_role("heading", name="Turn 3")).to_be_visible()
    expect(page.get_by_text("Not connected.")).to_be_visible()
    page.get_by_role("option").filter(has_text="Line 2.").click()
    expect(page.get_by_text("The server does not answer.")).to_be_visible()
    with serving(Path(store.path), port=int(address.split(":")[2].strip("/"))):
        expect(page.get_by_role("heading", name="Turn 2")).to_be_visible(timeout=15_000)
        expect(page.get_by_text("Not connected.")).to_be_hidden()
