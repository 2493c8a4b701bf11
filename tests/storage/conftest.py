"""What tests of the store share: an empty store in each database, one with two runs, and the path of a file for one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from support.postgres_server import opened, rolled_back
from support.stored import a_case, a_run

from storage.store import SqlStore

#: Opens an empty store, which is closed, and gone, when the context ends.
NewStore = Callable[[], AbstractContextManager[SqlStore]]


@pytest.fixture(scope="session")
def server_store(request: pytest.FixtureRequest) -> Iterator[SqlStore]:
    """An empty store in a Postgres database; what a test writes to it, it undoes."""
    with opened(request.getfixturevalue("postgres")) as store:
        yield store


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def new_store(request: pytest.FixtureRequest) -> NewStore:
    """Open an empty store in either database: what holds for both is the contract."""
    if request.param == "sqlite":
        return partial(SqlStore.open, ":memory:")
    return partial(rolled_back, request.getfixturevalue("server_store"))


@pytest.fixture
def store(new_store: NewStore) -> Iterator[SqlStore]:
    with new_store() as opened:
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
