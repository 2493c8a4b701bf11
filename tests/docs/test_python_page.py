"""The ten lines of docs/python.md that sweep, measure, compare and plot are run as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

import tertulia as tt

pytestmark = pytest.mark.full

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


@pytest.mark.parametrize(("begins", "lines"), [("people = tt.generate_people(4", 12), ("sign = tt.Question(", 7)])
def test_the_people_of_the_page_meet_and_are_asked(
    begins: str, lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (block for block in blocks if begins in block)
    assert len([line for line in block.splitlines() if line]) <= lines
    names: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    assert any(turn.speaker for turn in names["run"].turns)
    if "path" in names:
        assert tt.Meeting.read(names["path"]) == names["meeting"]
        assert len(names["run"].ask("Nora", "Well?")) == 1
    else:
        assert len(names["run"].asked) == 3 + 44
