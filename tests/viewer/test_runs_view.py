"""The list of runs: the tree of forks, what is folded, found, sorted and chosen."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.stored import NOW, a_case, a_run, a_turn_record, write_turns
from support.town_stored import write_town
from support.viewer_page import serving

from tertulia.state.records import Trial
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.views.reading.listing import list_runs, runs_document


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two trees of forks, a town, and an experiment of four trials."""
    path = tmp_path / "t.db"
    with SqlStore.open(path, create=True) as store:

        def add(run: str, at: int, **changes: object) -> None:
            store.create_run(a_run(run, created=NOW + timedelta(minutes=at), status="finished", **changes), a_case())

        add("aaaa", 0, parameters={"removal_factor": 0.2}, label="the first")
        write_turns(store, "aaaa", 1, 3)
        add("bbbb", 1, parent=("aaaa", 2), parameters={"removal_factor": 0.9})
        add("cccc", 2, parent=("bbbb", 2), scenario="harbour")
        add("dddd", 3, parent=("aaaa", 3))
        add("eeee", 4, parameters={"removal_factor": 0.7}, label="<b>bold</b>")
        for trial in range(1, 5):
            place = Trial(experiment="grid", setting=f"s{trial % 2}", case="cafe", trial=trial, cohort=1)
            add(f"f00{trial}", 4 + trial, trial=place)
        write_town(store)
    return path


def names(page: Page) -> list[str]:
    return page.locator(".run .name > :first-child").all_inner_texts()


def test_forks_stand_under_their_parents_and_many_runs_are_folded(page: Page, path: Path) -> None:
    with serving(path) as address:
        page.goto(address)
        expect(page.get_by_text("12 runs")).to_be_visible()
        assert names(page) == ["t0wn town", "experiment grid", "eeee", "aaaa", "dddd", "bbbb", "cccc"]
        lines = page.locator("[data-run=cccc] .rail")
        assert [lines.nth(at).get_attribute("class") for at in range(lines.count())] == ["rail", "rail last"]
        page.get_by_role("button", name="3 conversations of t0wn").click()
        page.get_by_role("button", name="4 runs of grid").click()
        page.get_by_role("button", name="2 runs of s1").click()
        page.get_by_role("button", name=re.compile("forks of aaaa")).click()
        shown = ["t0wn town", "t0wn-2-1", "t0wn-1-2", "t0wn-1-1", "experiment grid", "setting s0", "setting s1"]
        shown += ["f003", "f001", "eeee", "aaaa"]
        assert names(page) == shown
        page.reload()
        expect(page.locator("[data-run=f003]")).to_be_visible()
        assert names(page) == shown
        page.get_by_role("link", name="t0wn", exact=True).click()
        expect(page.get_by_role("heading", name="The days of quay")).to_be_visible()


def test_runs_are_found_sorted_and_compared(page: Page, path: Path) -> None:
    with serving(path) as address:
        page.goto(address)
        page.get_by_label("find").fill("<b>")
        expect(page.get_by_text("1 of 12 runs")).to_be_visible()
        assert names(page) == ["eeee"]
        page.get_by_label("find").fill("")
        page.get_by_label("scenario", exact=True).select_option("harbour")
        expect(page.get_by_text("1 of 12 runs")).to_be_visible()
        assert names(page) == ["aaaa", "bbbb", "cccc"]  # with what it was forked from
        page.get_by_label("find").fill("nothing like it")
        page.get_by_role("button", name="Show all runs").click()
        page.get_by_label("sort by", exact=True).select_option("lambda")
        expect(page.locator(".run .name").first).to_have_text("eeee")
        assert [name for name in names(page) if len(name) == 4] == ["eeee", "aaaa", "bbbb", "cccc", "dddd"]
        page.get_by_label("Choose aaaa to compare").check()
        expect(page.get_by_text("choose another run")).to_be_visible()
        page.get_by_label("Choose bbbb to compare").check()
        page.get_by_label("Choose cccc to compare").check()
        page.get_by_role("button", name="Compare").click()
        expect(page).to_have_url(re.compile("#/compare/bbbb/cccc$"))
        page.go_back()
        expect(page.get_by_label("Choose cccc to compare")).to_be_checked()


def test_a_row_has_what_the_command_lists_and_who_speaks_first(path: Path) -> None:
    with SqlStore.open(path) as store:
        said = [(None, ""), ("Bo", "  \nWell, hello.\nAnd more.")]
        for number, (speaker, text) in enumerate(said, 1):
            record = a_turn_record(number)
            turn = record.turn.model_copy(update={"speaker": speaker, "text": text})
            store.save_turn("eeee", record.model_copy(update={"turn": turn}))
        rows = {row["run"]: row for row in document_at(store, "runs")["runs"]}
        listed = {row["run"]: row for row in runs_document(list_runs(store))["runs"]}
        assert [*rows] == [*listed]
        for run, row in listed.items():
            assert {name: rows[run][name] for name in row} == row
        assert rows["aaaa"]["people"] == ["Ana", "Bo"]
        assert (rows["eeee"]["speaker"], rows["eeee"]["first_line"]) == ("Bo", "Well, hello.")
        # A fork begins as its parent does, and a run in which nobody has spoken has no line.
        first = store.turns("aaaa")[0]
        assert [rows[run]["first_line"] for run in ("aaaa", "bbbb", "cccc")] == [first.text] * 3
        assert rows["f001"]["first_line"] is None
        write_turns(store, "f001", 1, 1)  # what was read before is not what is asked for now
        again = {row["run"]: row for row in document_at(store, "runs")["runs"]}
        assert again["f001"]["first_line"] is not None
        assert again["f001"]["turns"] == 1
