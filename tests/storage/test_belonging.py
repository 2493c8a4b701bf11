"""A log beside a store that it does not belong to: it is named, kept, and never applied."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from support.killed_writer import written_before_kill
from support.log_pairs import Pair, digest, pairs_of, put
from support.stored import a_case, a_run, write_turns

from tertulia.state.errors import StorageError
from tertulia.storage.sqlite.opening import open_connection
from tertulia.storage.sqlite.private_copy import copy_store
from tertulia.storage.store import SqlStore


def outcome(pair: Pair, folder: Path) -> str:
    """Return what becomes of a pair when the store is read; it must be one of what it may be."""
    folder.mkdir()
    path = put(pair.file, pair.log, folder / "s.db")
    with SqlStore.open(path) as store:
        store.runs()
    aside = [*folder.glob("s.db-wal.*")]
    assert digest(path) in pair.contents
    if aside:
        assert aside == [folder / "s.db-wal.1"]
        assert aside[0].read_bytes() == pair.log
        assert path.read_bytes() == pair.file
    if pair.belongs is not None:
        assert bool(aside) != pair.belongs
    return "set aside" if aside else "applied"


@pytest.mark.parametrize(
    ("seed", "steps"), [(1, 6), *(pytest.param(seed, 30, marks=pytest.mark.full) for seed in (2, 3))]
)
def test_a_log_is_applied_to_its_own_store_alone(tmp_path: Path, seed: int, steps: int) -> None:
    outcomes: Counter[tuple[str, str]] = Counter()
    for number, pair in enumerate(pairs_of(tmp_path / "made", seed, steps)):
        outcomes[pair.kind, outcome(pair, tmp_path / str(number))] += 1
    assert {how for kind, how in outcomes if kind.startswith("own")} == {"applied"}
    assert {how for kind, how in outcomes if kind == "log of another store"} == {"set aside"}
    assert outcomes.total() > (150 if steps == 30 else 20)


_WRITE = """
import sys
from support.stored import a_case, a_run, write_turns
from tertulia.storage.store import SqlStore
with SqlStore.open(sys.argv[1], create=True) as store:
    store.create_run(a_run("later"), a_case())
    for turn in range(1, 1000):
        write_turns(store, "later", turn, turn)
        print(turn, flush=True)
"""


_READ = """
import sys
from tertulia.storage.store import SqlStore
with SqlStore.open(sys.argv[1]) as store:
    store.runs()
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A store whose driver was killed: its log is left; `backup.db` is a copy of before."""
    path = tmp_path / "s.db"
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run("k3f9"), a_case())
        write_turns(store, "k3f9", 1, 3)
    shutil.copy(path, tmp_path / "backup.db")
    with SqlStore.open(path) as store:
        write_turns(store, "k3f9", 4, 5)
    written_before_kill(_WRITE, path, 5)
    assert Path(f"{path}-wal").stat().st_size
    return path


def turns(path: Path, run: str = "k3f9") -> int:
    with SqlStore.open(path) as store:
        return store.run(run).turns


def test_after_a_kill_the_log_is_applied(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert turns(killed, "later") >= 5
    assert not caplog.records


def test_a_restored_copy_is_read_as_it_is(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = Path(f"{killed}-wal").read_bytes()
    backup = killed.with_name("backup.db").read_bytes()
    killed.write_bytes(backup)  # as `cp` does
    assert turns(killed) == 3
    assert killed.read_bytes() == backup
    assert Path(f"{killed}-wal.1").read_bytes() == log
    (record,) = caplog.records
    assert "s.db-wal does not belong to s.db" in record.getMessage()
    assert "s.db-wal.1" in record.getMessage()
    Path(f"{killed}-wal").write_bytes(log)
    assert turns(killed) == 3
    assert Path(f"{killed}-wal.2").read_bytes() == log  # nothing is overwritten


def test_what_can_not_be_set_aside_is_told(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(killed.with_name("backup.db"), killed)
    monkeypatch.setattr("tertulia.storage.sqlite.belonging.os.access", lambda path, mode: False)
    before = {file.name: file.read_bytes() for file in killed.parent.iterdir()}
    with pytest.raises(StorageError, match=r"s\.db-wal does not belong to s\.db, and can't get another name"):
        turns(killed)
    assert {file.name: file.read_bytes() for file in killed.parent.iterdir()} == before


def test_the_source_of_a_merge_keeps_its_foreign_log(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copy(killed.with_name("backup.db"), killed)
    before = {file.name: file.read_bytes() for file in killed.parent.iterdir()}
    copy_store(killed, copy := killed.with_name("copy.db"))
    assert turns(copy) == 3
    assert "is read without it" in caplog.text
    copy.unlink()
    assert {file.name: file.read_bytes() for file in killed.parent.iterdir()} == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no database" * 100, "is not a Tertulia store"),
        (None, "is a SQLite file of something else"),
    ],
)
def test_the_log_of_what_is_no_store_is_not_applied(killed: Path, content: bytes | None, message: str) -> None:
    if content is None:
        with closing(sqlite3.connect(killed.with_name("other.db"))) as connection:
            connection.execute("CREATE TABLE t (a)")
        content = killed.with_name("other.db").read_bytes()
    killed.write_bytes(content)
    with pytest.raises(StorageError, match=message):
        turns(killed)
    assert killed.read_bytes() == content


def test_an_emptied_store_does_not_lose_its_log(killed: Path) -> None:
    log = Path(f"{killed}-wal").read_bytes()
    killed.write_bytes(b"")
    with SqlStore.open(killed) as store:
        assert not store.runs()
    assert Path(f"{killed}-wal.1").read_bytes() == log


def test_reading_beside_a_writer_neither_writes_nor_sets_aside(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run("k3f9"), a_case())
        for turn in range(1, 20):
            write_turns(store, "k3f9", turn, turn)
            log = Path(f"{path}-wal").read_bytes()
            if turn % 9 == 0:
                subprocess.run([sys.executable, "-c", _READ, str(path)], check=True)
            assert turns(path) == turn
            assert Path(f"{path}-wal").read_bytes() == log
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s.db"]


# --- a store that is replaced while it is written to ----------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.db"
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run("m2aa"), a_case())
    return path


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("how", ["replaced", "removed", "moved"])
def test_a_writer_stops_when_its_store_is_replaced(
    tmp_path: Path, other: Path, how: str, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, content = tmp_path / "s.db", other.read_bytes()
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run("k3f9"), a_case())
        write_turns(store, "k3f9", 1, 3)
        if how == "replaced":
            os.replace(other, path)
        elif how == "removed":
            path.unlink()
        else:
            path.rename(tmp_path / "moved.db")
        if is_read and how == "replaced":
            with SqlStore.open(path) as reader:
                assert [run.run for run in reader.runs()] == ["m2aa"]
        with pytest.raises(StorageError, match=r"s\.db was .*s\.db\.rescued: go on with --store"):
            write_turns(store, "k3f9", 4, 4)
        store.reopen()
        assert store.path == tmp_path / "s.db.rescued"
        store.set_status("k3f9", "interrupted")
    rescued = tmp_path / "s.db.rescued"
    assert turns(rescued) == 3
    assert rescued.stat().st_mode & 0o777 == 0o600
    if how == "replaced":
        assert path.read_bytes() == content
        with SqlStore.open(path) as reader:
            assert [run.run for run in reader.runs()] == ["m2aa"]
        assert path.read_bytes() == content


def test_a_second_rescue_takes_another_name(tmp_path: Path) -> None:
    for name in ("s.db.rescued", "s.db.rescued-2"):
        SqlStore.open(tmp_path / "s.db", create=True).close()
        connection = open_connection(tmp_path / "s.db", create=False)
        (tmp_path / "s.db").unlink()
        for left in tmp_path.glob("s.db-*"):
            left.unlink()
        with closing(connection), pytest.raises(StorageError, match=f"{name}:"):
            connection.begin()


def test_the_file_of_a_closed_writer_is_not_touched(tmp_path: Path, other: Path) -> None:
    # SQLite itself moves no log into a file at whose path another one lies, and deletes none.
    path, content = tmp_path / "s.db", other.read_bytes()
    store = SqlStore.open(path, create=True)
    store.create_run(a_run("k3f9"), a_case())
    os.replace(other, path)
    with SqlStore.open(path) as reader:
        store.close()
        assert [run.run for run in reader.runs()] == ["m2aa"]
    assert path.read_bytes() == content


@pytest.mark.parametrize("kind", ["a device", "a pipe", "a folder"])
def test_what_is_no_file_is_named(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/null") if kind == "a device" else tmp_path / "s.db"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    for create in (False, True):
        with pytest.raises(StorageError, match=f"can't be opened: it is {kind}; name a file"):
            SqlStore.open(path, create)
