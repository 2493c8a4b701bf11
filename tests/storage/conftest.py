"""What tests of the store share: empty stores in either database, and the path of a file for one."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from support.postgres_server import NewStore, PostgresServer, ServerStores
from support.stored import a_case, a_run

from tertulia.storage.store import SqlStore


@pytest.fixture(scope="session")
def server_stores(postgres: PostgresServer) -> Iterator[ServerStores]:
    stores = ServerStores(postgres)
    yield stores
    stores.close()


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def new_store(request: pytest.FixtureRequest) -> NewStore:
    """Open an empty store in either database: what holds for both is the contract."""
    if request.param == "sqlite":
        return partial(SqlStore.open, ":memory:")
    stores: ServerStores = request.getfixturevalue("server_stores")
    return stores.new


@pytest.fixture
def store(new_store: NewStore) -> Iterator[SqlStore]:
    with new_store() as opened:
        yield opened


@pytest.fixture
def file_store() -> Iterator[SqlStore]:
    """An empty store in SQLite, for what no other database has."""
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
