"""A run under an open page: new turns arrive without moving what is read; one that was killed and resumed goes on."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.stored import a_case, a_run, a_turn_record, write_turns
from support.viewer_page import serving

import tertulia
from tertulia.storage.store import SqlStore

#: A conversation that takes its time, in a process that can be killed.
SLOW_RUN = """
import sys, time
import tertulia
from tertulia.storage.store import SqlStore
save_turn = SqlStore.save_turn
def save_slowly(self, *given, **named):
    save_turn(self, *given, **named)
    time.sleep(0.3)
SqlStore.save_turn = save_slowly
tertulia.run("tidewell", rehearse=True, rounds=10, settings={"ending": "off"}, store=sys.argv[1], progress=False)
"""


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


@contextmanager
def slow_run(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a conversation in another process."""
    folder = os.fspath(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-c", SLOW_RUN, str(path)], env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


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


def test_a_run_that_is_killed_and_resumed_goes_on_showing(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with slow_run(path) as process, serving(path) as address:
        run = _first_run(path)
        page.goto(f"{address}#/runs/{run}")
        turns = page.get_by_role("listbox").get_by_role("option")
        expect(turns.nth(2)).to_be_visible(timeout=20_000)
        process.kill()
        process.wait()
        page.wait_for_timeout(500)
        at_kill = turns.count()
        assert 3 <= at_kill < 10
        tertulia.resume(run, store=path, progress=False)
        expect(turns.first).to_have_attribute("aria-setsize", "10")
        expect(page.get_by_text("finished").first).to_be_visible()
        page.get_by_role("listbox").press("End")
        numbers = [int(turn.get_attribute("aria-posinset") or 0) for turn in turns.all()]
        assert numbers == list(range(numbers[0], 11))
        with SqlStore.open(path) as store:
            spoken = [turn.text for turn in store.turns(run)]
        for number in (at_kill, at_kill + 1, 10):  # the last before it was killed, the first thereafter, the last
            page.get_by_role("slider", name="Turn").fill(str(number - 1))
            row = page.locator(f"[aria-posinset='{number}']")
            expect(row).to_have_count(1)
            expect(row).to_contain_text(spoken[number - 1])


def _first_run(path: Path) -> str:
    """Return the run of a store, as soon as there is one."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if path.exists():
            with SqlStore.open(path) as store:
                if runs := store.runs():
                    return runs[0].run
        time.sleep(0.1)
    raise TimeoutError("no run began")
