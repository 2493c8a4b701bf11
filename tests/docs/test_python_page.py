"""The ten lines of docs/python.md that sweep, measure, compare and plot are run as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

import tertulia as tt

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_study_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (block for block in blocks if "tt.sweep" in block)
    assert len([line for line in block.splitlines() if line]) <= 10
    names: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    assert re.fullmatch(r"[+-]\d\.\d{3} \[[+-]\d\.\d{3}, [+-]\d\.\d{3}\], p = \d\.\d{3}\n", capsys.readouterr().out)
    assert isinstance(names["experiment"], tt.Experiment)
    assert len(names["measures"]) == 6
    assert names["figure"]._repr_png_().startswith(b"\x89PNG")
