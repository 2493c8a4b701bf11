"""The notebooks of docs/notebooks/ are what their sources say, were executed without an error, and run."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from support.notebook_kernel import kernel_of_this_python
from support.on_use import on_use
from support.tiny import save_tiny

nbformat = on_use("nbformat")

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
SOURCES = sorted((FOLDER / "source").glob("*.py"))
MAKE = runpy.run_path(str(FOLDER / "make.py"))


def notebook_of(source: Path) -> Any:
    return MAKE["notebook_of"](source.read_text(encoding="utf-8"))


def test_there_are_eight_and_each_has_a_source() -> None:
    assert len(SOURCES) == 8
    assert {file.stem for file in FOLDER.glob("*.ipynb")} == {source.stem for source in SOURCES}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_what_is_committed_is_its_source_executed_without_an_error(source: Path) -> None:
    notebook = nbformat.read(FOLDER / f"{source.stem}.ipynb", as_version=4)
    nbformat.validate(notebook)
    made = notebook_of(source)
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == [
        (cell.cell_type, cell.source) for cell in made.cells
    ]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert sum(bool(cell.outputs) for cell in code) >= len(code) / 2
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"
            assert not re.search(r"/(tmp|home|root|work|Users)/", json.dumps(output))


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_it_runs(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = notebook_of(source)
    for cell in notebook.cells:
        if "run = tt.run(" in cell.source and "rehearse=True" not in cell.source:  # a tiny model instead of its own
            assert source.stem == "first_conversation"
            model = str(tiny_model(tmp_path / "tiny"))
            called = f"rounds=2, model={model!r}, settings=endless"
            cell.source = cell.source.replace("rounds=2, settings=quick", called)
            cell.source = cell.source.replace("run = tt", "endless = quick | {'ending_threshold': 1}\nrun = tt")
            assert "endless" in cell.source
    MAKE["execute"](notebook, kernel_of_this_python(tmp_path, monkeypatch))
    assert all(output.output_type != "error" for cell in notebook.cells for output in cell.get("outputs", []))
    assert any(cell.get("outputs") for cell in notebook.cells)


def tiny_model(folder: Path) -> Path:
    """Save a tiny model, into whose context the prompts fit; return its folder."""
    config = save_tiny(folder) / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"max_position_embeddings": 16_384}))
    return folder
