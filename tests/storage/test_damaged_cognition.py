"""What goes on in agents, in a store that was altered, damaged or killed in mid-write: whole, or told to be damaged."""

import pytest
from support.group_stored import read_all, write_meeting
from support.postgres_server import undone
from support.stored import a_case, a_run

from tertulia.state.cognition import Trace
from tertulia.state.errors import StorageError
from tertulia.storage.schema import TABLES
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import COLUMNS

# --- damage ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("change", ["DELETE FROM lineage", "UPDATE lineage SET run = 'k3f8'"])
def test_a_lost_lineage_is_told(store_with_runs: SqlStore, change: str) -> None:
    store_with_runs.create_run(a_run("f0rk", parent=("k3f9", 2)), a_case())
    for which in ("run = 'f0rk' AND depth = 0", "run = 'f0rk' AND depth = 1"):
        with undone(store_with_runs):
            assert store_with_runs.file.write(f"{change} WHERE {which}").rowcount == 1
            with pytest.raises(StorageError, match=r"is damaged or was altered .*lineage"):
                store_with_runs.run("f0rk")
    assert store_with_runs.run("f0rk").turns == 1
