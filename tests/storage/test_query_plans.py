"""What is asked for every turn and every encounter is found by an index: it takes as long however much is stored."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.in_process import command

from tertulia.storage.schema import TABLES
from tertulia.storage.sqlite.database import StoreFile

#: A statement that is executed so often in a short conversation belongs to its turns; others, to its beginning or end.
OFTEN = 4


class Plans:
    """How often every statement was executed, and the steps of its plan."""

    def __init__(self) -> None:
        self.executed: Counter[str] = Counter()
        self.steps: dict[str, list[str]] = {}

    def note(self, file: StoreFile, sql: str, values: Any) -> None:
        """Take a statement that is about to be executed."""
        self.executed[sql] += 1
        if sql not in self.steps and sql.lstrip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE")):
            plan = file.database.conn.execute(f"EXPLAIN QUERY PLAN {sql}", values)
            self.steps[sql] = [str(step[3]) for step in plan]

    def scans(self) -> dict[str, list[str]]:
        """The plans of frequent statements that read a table from end to end."""
        often = {sql: steps for sql, steps in self.steps.items() if self.executed[sql] >= OFTEN}
        assert len(often) > 5
        return {sql: steps for sql, steps in often.items() if any(map(is_scan, steps))}


def is_scan(step: str) -> bool:
    match step.split():
        case ["SCAN", table, *_]:
            return table in TABLES
    return False


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Plans:
    found, executed, write = Plans(), StoreFile.executed, StoreFile.write

    def noted_read(file: StoreFile, sql: str, values: Any, *of: Any) -> tuple[list[str], Sequence[tuple[Any, ...]]]:
        found.note(file, sql, values)
        return executed(file, sql, values, *of)

    def noted_write(file: StoreFile, sql: str, *values: Any) -> Any:
        found.note(file, sql, values)
        return write(file, sql, *values)

    monkeypatch.setattr(StoreFile, "executed", noted_read)
    monkeypatch.setattr(StoreFile, "write", noted_write)
    return found


DIALOGUE = ("run", "tidewell", "--lambda", "0.5", "--model", "rehearsal", "--rounds", "6")
MEETING = ("run", "team_building", "--model", "rehearsal", "--rounds", "5")
ALBUM = ("run", "villagers", "--model", "rehearsal", "--rounds", "2")
TOWN = ("simulate", "tidewell", "--model", "rehearsal", "--days", "2", "--encounters-per-day", "12", "--lambda", "0")


@pytest.mark.parametrize("conversation", [DIALOGUE, MEETING, ALBUM, TOWN], ids=lambda given: str(given[1]))
def test_nothing_that_is_asked_again_and_again_walks_through_a_table(
    tmp_path: Path, plans: Plans, conversation: Sequence[str]
) -> None:
    assert command(*conversation, "--store", tmp_path / "tertulia.db").code == 0
    assert plans.scans() == {}
