"""Fixtures of the tests of the Python API."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where the store of each test lies."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
