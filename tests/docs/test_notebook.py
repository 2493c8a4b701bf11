"""docs/notebook.ipynb runs from top to bottom, by a kernel of this Python, and shows what its text promises.

It runs here with a tiny model instead of its own, which takes a minute.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.notebook_kernel import kernel_of_this_python
from support.on_use import on_use
from support.tiny import save_tiny

pytestmark = pytest.mark.full

nbclient = on_use("nbclient")
nbformat = on_use("nbformat")

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def shown(notebook: Any, words: str) -> dict[str, str]:
    """Return what the one cell with these words shows, by media type; what it prints is `text`."""
    (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and words in cell.source)
    by_type: dict[str, str] = {}
    for output in cell.outputs:
        if output.get("name") == "stdout":
            by_type["text"] = by_type.get("text", "") + output["text"]
        by_type.update(output.get("data", {}))
    return by_type


def tiny_model(folder: Path) -> Path:
    """Save a tiny model, into whose context the notebook's prompts fit; return its folder."""
    config = save_tiny(folder) / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"max_position_embeddings": 16_384}))
    return folder


def speak_by(model: Path, notebook: Any) -> None:
    """Let the first run have this model, and two turns whatever it says."""
    (cell,) = (cell for cell in notebook.cells if 'run = tt.run("tidewell"' in cell.source)
    endless = {"ending": "continuation", "ending_threshold": 1}
    begun, settings = "rounds=2, settings=short | quick", f"settings=short | quick | {endless}"
    assert begun in cell.source
    cell.source = cell.source.replace(begun, f"rounds=2, model={str(model)!r}, {settings}")


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of_this_python(tmp_path, monkeypatch)
    work = tmp_path / "work"
    work.mkdir()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    speak_by(tiny_model(tmp_path / "tiny"), notebook)
    nbclient.NotebookClient(
        notebook, kernel_name=kernel, timeout=600, resources={"metadata": {"path": str(work)}}
    ).execute()

    transcript = shown(notebook, 'run = tt.run("tidewell"')["text/plain"]
    assert re.search(r"run \w{4} \(finished\) · tidewell · Emeka Obiora and Leila Haddad · λ = 0.5", transcript)
    assert "rehearsed" not in transcript
    assert len(transcript.splitlines()) == 3
    assert "<th>removed</th>" in shown(notebook, "turn.units.frame()")["text/html"]
    assert len(base64.b64decode(shown(notebook, "plt.subplots")["image/png"])) > 10_000
    assert re.search(r"they part in turn 2 in [a-z]+", shown(notebook, "first_divergence")["text"])
    forgotten = shown(notebook, "nodes={")["text/plain"]
    assert "market" in forgotten
    assert "@tt.scorer" in shown(notebook, "extension.code")["text"]
    assert len(shown(notebook, "async for")["text"].splitlines()) == 4
    assert list(work.iterdir()) == []


def test_what_the_committed_notebook_shows_is_whole_and_names_no_machine() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert "Emeka Obiora:" in shown(notebook, 'run = tt.run("tidewell"')["text/plain"]
    assert "image/png" in shown(notebook, "plt.subplots")
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert output.get("name") != "stderr"
            assert not re.search(r"/(tmp|home|root|work|Users)/", json.dumps(output))
