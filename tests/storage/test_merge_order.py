"""Copies of a run that were interrupted at several places, in stores that are merged in any order."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.merged import merged
from support.store_content import content, differences
from support.stored import NOW, a_case, a_run, write_turns

from tertulia.state.records import RunStatus
from tertulia.storage.store import SqlStore

#: How far copies are, of which each is a beginning of the next: turns, and status.
COPIES = [(0, "interrupted"), (1, "interrupted"), (2, "interrupted"), (2, "failed"), (4, "interrupted")]
COPIES += [(4, "failed"), (4, "finished")]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A store for each copy, with a fork of its second turn, from a machine whose clock is slow, where it has that."""
    folder = tmp_path_factory.mktemp("copies")
    paths = [folder / f"{number}.db" for number in range(len(COPIES))]
    for path, (turns, status) in zip(paths, COPIES, strict=True):
        with SqlStore.open(path, create=True) as store:
            store.create_run(a_run(), a_case())
            write_turns(store, "k3f9", 1, turns)
            store.set_status("k3f9", cast(RunStatus, status))
            if turns >= 2:
                store.create_run(a_run("fork", parent=("k3f9", 2), created=NOW - timedelta(days=1)), a_case())
                write_turns(store, "fork", 2, 1 + turns // 2)
    return paths


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merged")


@settings(max_examples=8 if settings.default.max_examples < 2000 else 30)
@given(order=st.lists(st.integers(0, len(COPIES) - 1), min_size=2, max_size=5))
def test_the_longest_copy_is_there_whatever_the_order(copies: list[Path], folder: Path, order: Sequence[int]) -> None:
    into, expected = folder / "into.db", folder / f"{max(order)}.db"
    into.unlink(missing_ok=True)
    found = merged(into, *(copies[number] for number in order))
    assert not any(outcome.refused for outcome in found)
    if not expected.exists():
        merged(expected, copies[max(order)])
    assert not differences(content(expected), content(into))
