"""A store on a disk that can't be written is read, and says so where something would be written."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.stored import a_case, a_run, write_turns

from tertulia.state.errors import StorageError
from tertulia.storage.sqlite import opening
from tertulia.storage.store import SqlStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    at = tmp_path / "tertulia.db"
    with SqlStore.open(at, create=True) as store:
        store.create_run(a_run(), a_case())
        write_turns(store, "k3f9", 1, 2)
        store.set_status("k3f9", "interrupted")
    return at


@pytest.fixture
def unwritable(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store, its disk read only: SQLite then fails to open it for writing (root may write anything else)."""
    prepared = opening._prepared

    def on_that_disk(place: str, *more: Any, **named: Any) -> sqlite3.Connection:
        if "mode=ro&" not in place and place != opening.MEMORY:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return prepared(place, *more, **named)

    monkeypatch.setattr(opening, "_prepared", on_that_disk)
    return path


def test_it_is_read(unwritable: Path, cli: Cli) -> None:
    before = unwritable.read_bytes()
    with SqlStore.open(unwritable) as store:
        assert [turn.turn for turn in store.turns("k3f9")] == [1, 2]
    assert cli("runs", "--json").json["runs"][0]["run"] == "k3f9"
    assert cli("show", "k3f9", "--turn", "2", "--json").json["turn"] == 2
    assert unwritable.read_bytes() == before
    assert list(unwritable.parent.glob("*-wal")) == []


def test_writing_is_told(unwritable: Path, cli: Cli) -> None:
    with SqlStore.open(unwritable) as store, pytest.raises(StorageError, match="can't be written"):
        store.set_status("k3f9", "finished")
    cli("fork", "k3f9", "--at", "1", "--model", "rehearsal").complains(1, "can't be written", "copy it elsewhere")
    cli("run", "tidewell", "--rehearse").complains(1, "can't be written", "copy it elsewhere")
