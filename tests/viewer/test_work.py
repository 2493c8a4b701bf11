"""How much the viewer does for long runs and large stores: counted, not timed."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.experiment_case import a_grid, drive_here
from support.stored import a_case, a_run
from support.viewer_page import serving

import tertulia
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.measures import KeptTrials, measure_page

ROOT = Path(__file__).parents[2]

_PAGES_READ = """
import sys
from pathlib import Path
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at

with SqlStore.open(Path(sys.argv[1])) as store:
    for path in sys.argv[2:]:
        document_at(store, path)
        print(path, *{"langgraph", "langchain_core", "torch"} & set(sys.modules))
"""


@pytest.mark.full
def test_a_turn_is_shown_without_what_drives_conversations(tmp_path: Path) -> None:
    """It takes a second and more of CPU to import, which the first turn that is looked at would wait for."""
    run = tertulia.run("tidewell", rehearse=True, rounds=3, removal_factor=0.4, store=tmp_path / "t.db", progress=False)
    fork = run.fork(2, removal_factor=0.8, progress=False)
    paths = [f"runs/{run.id}/turns", *(f"runs/{run.id}/turns/{turn}" for turn in (1, 2, 3)), f"runs/{fork.id}/turns/3"]
    paths += [f"diff/{run.id}/{fork.id}", f"runs/{run.id}/edits", f"runs/{run.id}/actions"]
    command = [sys.executable, "-c", _PAGES_READ, str(tmp_path / "t.db"), *paths]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed == paths


@pytest.mark.full
def test_a_measure_reads_each_prompt_of_an_experiment_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials of a case begin with one prompt: read anew for each of them, a large experiment took seconds."""
    settings = {"low": {"lambda": 0.2}, "high": {"lambda": 0.8}}
    read: list[str] = []
    store_prompt = SqlStore.prompt
    with SqlStore.open(tmp_path / "t.db", create=True) as store:
        drive_here(store, a_grid(settings=settings, trials=3, rounds=1))
        records = [store.turn_record(run.run, turn.turn) for run in store.runs() for turn in store.turns(run.run)]
        shared = {record.prompt for record in records}
        assert len(shared) < len(records), "trials that share prompts"
        monkeypatch.setattr(SqlStore, "prompt", lambda self, prompt: read.append(prompt) or store_prompt(self, prompt))
        kept = KeptTrials()
        for metric in ("without_sense", "removed_words", "recited_lines"):
            measured = measure_page(store, "grid", metric, kept=kept)
            assert measured["conversations"] == 12
    assert sorted(read) == sorted(filter(None, shared))


def test_of_many_runs_a_screenful_is_drawn_and_more_as_the_reader_comes_to_them(page: Page, tmp_path: Path) -> None:
    with SqlStore.open(tmp_path / "t.db", create=True) as store, store.transaction():
        for number in range(300):
            store.create_run(a_run(f"r{number:03}", status="finished"), a_case())
    with serving(tmp_path / "t.db") as address:
        page.goto(f"{address}#/runs")
        rows, table = page.locator(".run:not(.head)"), page.get_by_role("table", name="Runs")
        expect(rows.first).to_be_visible()
        expect(rows).to_have_count(40)
        expect(table).to_have_attribute("aria-rowcount", "301")
        page.get_by_role("button", name="Show more (260 rows)").focus()
        page.keyboard.press("Enter")
        expect(page.locator("[data-run=r150]")).to_have_count(1)
        page.goto(f"{address}#/runs?find=r003")
        expect(rows).to_have_count(1)
