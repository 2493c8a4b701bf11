"""`run.turn(2).check()`: the turn with measured reasons, which are kept with the run."""

from pathlib import Path
from typing import Any

import pytest
from support.checked_runs import a_run_of_a_model, reading_by

from tertulia.runs.access.engines import ModelAccess


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The models that are opened, and whether the program names them; they read by nothing."""
    found: list[tuple[str, bool]] = []

    def language_model(access: ModelAccess, name: str, *_: Any) -> Any:
        found.append((name, name in access.named))
        return reading_by({}) if name != "broken" else reading_by({}, fails_at=3)

    monkeypatch.setattr(ModelAccess, "language_model", language_model)
    return found


def test_it_returns_the_turn_with_measured_reasons(tmp_path: Path, opened: list[tuple[str, bool]]) -> None:
    run = a_run_of_a_model(tmp_path, rounds=2, removal_factor=0.3)
    opened.clear()
    assert "as measured" not in run.turn(2).why
    checked = run.turn(2).check()
    assert "as measured" in checked.why
    assert opened == [("scripted", False)]
    assert run.turn(2).why == run.turns[1].why == checked.why
    assert run.turns[1].check().document() == checked.document() == checked.check().document()
    assert len(opened) == 1
    other = checked.check(reader="other")
    assert opened[1:] == [("other", True)]
    assert (other.document()["measured_by"], run.turn(2).document()["measured_by"]) == ("other", "scripted")
