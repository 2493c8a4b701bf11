"""How much the viewer does for long runs and large stores: counted, not timed."""

from pathlib import Path

import pytest
from support.experiment_case import a_grid, drive_here

from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.measures import KeptTrials, measure_page


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
