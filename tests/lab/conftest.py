"""What tests of experiments share: a store, and what an experiment says where one process drives everything."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.experiment_case import Spoken, a_grid, conversations, drive_here

from tertulia.storage.store import SqlStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.open(tmp_path / "store.db", create=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Spoken:
    """What is said in the grid."""
    with SqlStore.open(tmp_path_factory.mktemp("here") / "store.db", create=True) as opened:
        drive_here(opened, a_grid())
        return conversations(opened)
