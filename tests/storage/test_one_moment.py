"""A reader compares no rows of two moments: a turn that a driver writes between two queries looks like no damage."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.stored import STEPS, a_case, a_run, write_turn

from tertulia.state.cognition import Trace
from tertulia.storage.run_list import RunListing
from tertulia.storage.sqlite.database import StoreFile
from tertulia.storage.store import SqlStore

RUN = "k3f9"

READS: dict[str, Callable[[SqlStore], Any]] = {
    "turns": lambda store: store.turns(RUN),
    "no turns yet": lambda store: store.turns(RUN, first=10),
    "part_turns": lambda store: store.part_turns(RUN),
    "turn_record": lambda store: store.turn_record(RUN, 1),
    "parts": lambda store: store.parts(RUN, 1),
    "summaries": lambda store: store.summaries(RUN),
    "run": lambda store: store.run(RUN),
    "runs": lambda store: store.runs(status="running"),
    "steps": lambda store: store.steps(RUN, "perceive", STEPS["perceive"]),
    "trace": lambda store: store.trace(RUN, 9),
    "calls": lambda store: store.calls(RUN),
    "unsent": lambda store: store.unsent(RUN),
    "turn_rows": lambda store: store.turn_rows(RUN, 1, 99),
    "listing": lambda store: RunListing(store).rows(),
}


@pytest.fixture
def writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    """A store in which another process writes a turn, in a transaction, before each query of a reader."""
    path = tmp_path / "store.db"
    with SqlStore.open(path, create=True) as driver, SqlStore.open(path) as reader:
        driver.create_run(a_run(RUN), a_case())
        turns = count(9)
        assert isinstance(reader.file, StoreFile)
        query = reader.file.executed

        def write_and_query(*given: Any) -> Any:
            with driver.transaction():
                turn = next(turns)
                write_turn(driver, RUN, turn)
                driver.save_trace(RUN, turn, Trace(visits=(), after={}))
            return query(*given)

        with driver.transaction():
            for turn in range(1, 9):
                write_turn(driver, RUN, turn)
                driver.save_trace(RUN, turn, Trace(visits=(), after={}))
        monkeypatch.setattr(reader.file, "executed", write_and_query)
        yield reader


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_turn_that_is_written_between_two_queries_looks_like_no_damage(
    writing: SqlStore, read: Callable[[SqlStore], Any]
) -> None:
    with writing.reading():
        expected = read(writing)
        assert read(writing) == expected
    read(writing)
