"""What tests of the store share: a store in memory, empty or with two runs, and the path of a file for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.stored import a_case, a_run

from storage.store import SqlStore


@pytest.fixture
def store() -> Iterator[SqlStore]:
    with SqlStore.open(":memory:") as opened:
        yield opened


@pytest.fixture
def store_with_runs(store: SqlStore) -> SqlStore:
    """A store with the runs k3f9 and m2aa, in which nobody has thought yet."""
    for run in ("k3f9", "m2aa"):
        store.create_run(a_run(run), a_case())
    return store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tertulia.db"
