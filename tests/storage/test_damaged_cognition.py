"""What goes on in agents, in a store that was altered, damaged or killed in mid-write: whole, or told to be damaged."""

import itertools
from pathlib import Path

import pytest
from support.group_stored import read_all, write_meeting
from support.killed_writer import written_before_kill
from support.long_meeting import AGENTS, PHASES
from support.postgres_server import undone
from support.stored import a_call, a_case, a_run

from tertulia.state.cognition import Bid, Finding, Trace
from tertulia.state.errors import StorageError
from tertulia.storage.schema import TABLES
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import COLUMNS

# --- damage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE steps SET record = '{'",
        "UPDATE calls SET tokens = 'é'",
        "UPDATE calls SET replies = '7'",
        "UPDATE calls SET replies = replace(replies, 'text', 'tfxt')",
    ],
)
def test_damage_is_told(store_with_runs: SqlStore, change: str) -> None:
    store_with_runs.save_step("k3f9", 1, "Ana", "goal", Finding(lines=("x",)))
    store_with_runs.save_calls("k3f9", [a_call()])
    assert store_with_runs.file.write(change).rowcount == 1
    with pytest.raises(StorageError, match="is damaged or was altered"):
        assert store_with_runs.step("k3f9", 1, "Ana", "goal", Finding) is None or store_with_runs.calls("k3f9") is None


#: Columns by which rows are found: one that is altered there is a row that is lost, as if it had been deleted.
KEYS = {"run", "turn", "round", "agent", "node", "attempt", "position", "ancestor"}


def test_every_altered_value_is_told(store: SqlStore) -> None:
    write_meeting(store)
    store.save_trace("m33t", 1, Trace(visits=(), after={"turn": 1}))
    sound = read_all(store, "m33t")
    columns = {(table, column) for table, columns in COLUMNS.items() for column in columns if column not in KEYS}
    columns |= {(table, "checksum") for table in COLUMNS} | {("contents", "text"), ("units", "block")}
    altered = set()
    if not store.file.is_checked:  # what is searched is checked as a whole, or not at all
        columns = {(table, column) for table, column in columns if table != "passages"}
    for table, column in sorted(columns):
        number = TABLES[table].kind(column) in ("count", "flag", "number")
        to = f"coalesce({column} + 1, 1)" if number else f"coalesce({column} || ' ', ' ')"
        with undone(store):
            if store.file.write(f"UPDATE {table} SET {column} = {to}").rowcount:
                altered.add(table)
                with pytest.raises(StorageError, match="is damaged or was altered"):
                    pytest.fail(f"{table}.{column} is not told: {read_all(store, 'm33t')}")
    assert altered >= {"runs", "lineage", "turns", "unit_scores", "candidates", "steps", "calls", "traces"}
    assert read_all(store, "m33t") == sound


def test_the_parameters_of_a_call_are_told_when_altered_or_lost(store_with_runs: SqlStore) -> None:
    store_with_runs.save_calls("k3f9", [a_call().model_copy(update={"parameters": {"temperature": 0.8}})])
    for change in (
        "UPDATE contents SET text = replace(text, '0.8', '0.9') WHERE text LIKE '%temperature%'",
        "DELETE FROM contents WHERE text LIKE '%temperature%'",
    ):
        assert store_with_runs.file.write(change).rowcount == 1
        with pytest.raises(StorageError, match="is damaged or was altered"):
            store_with_runs.calls("k3f9")


@pytest.mark.parametrize("change", ["DELETE FROM lineage", "UPDATE lineage SET run = 'k3f8'"])
def test_a_lost_lineage_is_told(store_with_runs: SqlStore, change: str) -> None:
    store_with_runs.create_run(a_run("f0rk", parent=("k3f9", 2)), a_case())
    for which in ("run = 'f0rk' AND depth = 0", "run = 'f0rk' AND depth = 1"):
        with undone(store_with_runs):
            assert store_with_runs.file.write(f"{change} WHERE {which}").rowcount == 1
            with pytest.raises(StorageError, match=r"is damaged or was altered .*lineage"):
                store_with_runs.run("f0rk")
    assert store_with_runs.run("f0rk").turns == 1


# --- kill -----------------------------------------------------------------------------------------------------------

WRITER = """
import sys
from itertools import count
from support.long_meeting import write_group_round
from support.stored import a_case, a_run
from tertulia.storage.store import SqlStore
store = SqlStore.open(sys.argv[1], create=True)
store.create_run(a_run(), a_case())
for round in count(1):
    write_group_round(store, "k3f9", round)
    print(round, flush=True)
"""


def test_what_was_thought_before_a_kill_is_whole(path: Path) -> None:
    reached = written_before_kill(WRITER, path, 3)[-1]
    with SqlStore.open(path) as store:
        for node in PHASES:
            calls = (call for call in store.calls("k3f9") if call.node == node)
            for _, batch in itertools.groupby(calls, key=lambda call: call.round):
                assert [call.agent for call in batch] == list(AGENTS)
        assert len(store.calls("k3f9")) >= 15 * reached
        assert len(store.steps("k3f9", "bid", Bid)) >= 5 * reached
        for call in store.calls("k3f9", reached):
            assert len(store.prompt(call.prompt).units) == 40
