"""Runs in a notebook's kernel: inside its event loop, and stopped by its stop button, which is a SIGINT."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.notebook_kernel import kernel_of_this_python
from support.on_use import on_use

pytestmark = pytest.mark.full

nbclient = on_use("nbclient")
v4 = on_use("nbformat.v4")

PREPARE = """
import os, signal
import tertulia as tt
from tertulia.storage.store import SqlStore

save, settings = SqlStore.save_turn, {"ending": "continuation", "ending_threshold": 1}

def save_and_stop(store, run, record, *parts):
    save(store, run, record, *parts)
    if record.turn.turn == 3:
        os.kill(os.getpid(), signal.SIGINT)

SqlStore.save_turn = save_and_stop
"""
RUN = """
tt.run("tidewell", rounds=20, rehearse=True, settings=settings)
"""
STREAM = """
async for event in tt.stream("tidewell", rounds=20, rehearse=True, settings=settings):
    pass
"""
HOW_THEY_STAND = """
stopped = tt.open_store("tertulia.db").runs()
for run in stopped:
    print(run.status, 3 <= len(run.turns) < 20)
"""
GO_ON = """
SqlStore.save_turn = save
first, second = (tt.resume(run, progress=False) for run in stopped)
print(first.status, second.status, tt.diff(first, second).is_same, len(first.turns))
"""


def test_the_stop_button_interrupts_a_run_and_a_stream_that_go_on_identically(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_of_this_python(tmp_path, monkeypatch)
    notebook = v4.new_notebook(cells=[*map(v4.new_code_cell, (PREPARE, RUN, STREAM, HOW_THEY_STAND, GO_ON))])
    (work := tmp_path / "work").mkdir()
    resources = {"metadata": {"path": str(work)}}
    nbclient.NotebookClient(notebook, kernel_name=kernel, timeout=300, resources=resources, allow_errors=True).execute()
    _, run, stream, how_they_stand, go_on = ([dict(output) for output in cell.outputs] for cell in notebook.cells)
    assert [output["ename"] for output in run if output["output_type"] == "error"] == ["KeyboardInterrupt"]
    assert any("tertulia.resume(" in output.get("text", "") for output in run)
    assert [output["ename"] for output in stream if output["output_type"] == "error"] == ["CancelledError"]
    assert [output["text"] for output in how_they_stand] == ["interrupted True\ninterrupted True\n"]
    assert [output["text"] for output in go_on] == ["finished finished True 20\n"]
