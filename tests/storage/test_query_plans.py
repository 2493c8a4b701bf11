"""What is asked for every turn and every encounter is found by an index: it takes as long however much is stored."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.in_process import command

from tertulia.storage.merging.stores import merge
from tertulia.storage.schema import TABLES
from tertulia.storage.sqlite.database import StoreFile
from tertulia.storage.store import SqlStore

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

    def noted_read(file: StoreFile, sql: str, values: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
        found.note(file, sql, values)
        return executed(file, sql, values)

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


def test_the_last_encounters_of_two_are_found_by_an_index_of_pairs(tmp_path: Path, plans: Plans) -> None:
    assert command(*TOWN, "--store", tmp_path / "tertulia.db").code == 0
    asked = [steps for sql, steps in plans.steps.items() if "FROM encounters" in sql and "initiator = ?" in sql]
    assert len(asked) == 1
    (step,) = asked[0]
    assert step.startswith("SEARCH encounters USING INDEX encounters_by_pair (simulation=? AND initiator=? AND partner")


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of every kind, and a fork."""
    path = tmp_path_factory.mktemp("shard") / "shard.db"
    for conversation in (DIALOGUE, MEETING, ALBUM, TOWN):
        assert command(*conversation, "--store", path).code == 0
    with SqlStore.open(path) as store:
        (dialogue,) = (run.run for run in store.runs() if run.kind == "dialogue" and "-" not in run.run)
    assert command("fork", dialogue, "--at", "2", "--store", path).code == 0
    return path


#: What a merge lists; rows of other tables are found by an index.
LISTED = {"runs", "lineage", "experiments", "simulations", "calibrations"}

#: Statements that count or list what a town or a source has, once for each.
COUNTED = ("SELECT run, count(*) AS turns FROM turns GROUP BY run", "SELECT runs.run FROM simulations JOIN runs")


@pytest.mark.full
def test_a_merge_walks_through_nothing_but_lists_of_runs(shard: Path, tmp_path: Path, plans: Plans) -> None:
    merged = []
    for _ in range(2):  # what is new, and what is there
        with SqlStore.open(shard) as source, SqlStore.open(tmp_path / "into.db", create=True) as target:
            merged.append(merge(source, target))
    assert [len(what) for what in (merged[0].added, merged[1].unchanged)] == [28, 28]
    assert any("CROSS JOIN units" in sql for sql in plans.steps)  # texts were carried
    scans = {
        " ".join(sql.split()): step.split()[1] for sql in plans.steps for step in plans.steps[sql] if is_scan(step)
    }
    assert [sql for sql, table in scans.items() if table not in LISTED and not sql.startswith(COUNTED)] == []
    often = [sql for sql, steps in plans.steps.items() if any(map(is_scan, steps)) and plans.executed[sql] > 6]
    assert often == []
