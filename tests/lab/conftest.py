"""What tests of experiments share: a store, what an experiment says where one process drives everything, a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.experiment_case import Spoken, a_grid, conversations, drive_here
from support.on_use import on_use
from support.tiny import save_tiny

from tertulia.models.loading import open_model
from tertulia.storage.store import SqlStore

causal = on_use("tertulia.models.local.causal")


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


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny model."""
    return str(save_tiny(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="session")
def model(folder: str) -> causal.CausalLanguageModel:
    """That model."""
    opened = open_model(folder, precision="float32", cache=Path(folder))
    assert isinstance(opened, causal.CausalLanguageModel)
    return opened
