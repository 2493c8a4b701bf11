"""The store's file: made, refused, damaged, full, locked; and the guard against two drivers of one run."""

import errno
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.killed_writer import written_before_kill
from support.stored import a_case, a_prompt, a_run, write_turn, write_turns

from tertulia.state.errors import NotFoundError, StorageError
from tertulia.storage.sqlite import locks
from tertulia.storage.store import SqlStore

# --- files ----------------------------------------------------------------------------------------------------------


def test_a_missing_store_reads_as_an_empty_one_and_is_not_made(path: Path) -> None:
    with SqlStore.open(path) as store:
        assert store.runs() == []
        with pytest.raises(NotFoundError, match=r"no run '@last': the store .*tertulia.db does not exist yet"):
            store.run("@last")
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("name", ["tertulia.db", "with space ?#%41.db", "Zürich 池.db"])
def test_a_store_outlives_its_connection_and_leaves_one_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())
        write_turn(store, "k3f9", 1)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    with SqlStore.open(path) as store:
        assert store.run("@last").turns == 1
        assert store.prompt(store.turn_record("k3f9", 1).prompt) == a_prompt(1)


@pytest.mark.parametrize(
    ("is_store", "statement", "reported"),
    [
        (True, "PRAGMA user_version = 41", r"tertulia.db was written by a newer Tertulia \(schema version 41.*upgrade"),
        (
            True,
            "PRAGMA user_version = 9",
            r"tertulia.db was written by an older Tertulia \(schema version 9, .*begin",
        ),
        (True, "PRAGMA user_version = 0", r"tertulia.db was written by an older Tertulia \(schema version 0, "),
        (False, "CREATE TABLE birds (name)", "SQLite file of something else"),
    ],
)
def test_a_database_of_another_program_is_refused_and_not_touched(
    path: Path, is_store: bool, statement: str, reported: str
) -> None:
    if is_store:
        SqlStore.open(path, create=True).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    before = path.read_bytes()
    for create in (False, True):
        with pytest.raises(StorageError, match=reported):
            SqlStore.open(path, create=create)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "reported"),
    [(b"Dear diary, " * 100, "not a Tertulia store"), (b"SQLite format 3\x00" + b"\x07" * 3000, "store|damaged")],
)
def test_what_is_no_store_is_told(path: Path, content: bytes, reported: str) -> None:
    path.write_bytes(content)
    with pytest.raises(StorageError, match=reported):
        SqlStore.open(path)


def test_a_full_disk_is_told_and_what_was_stored_stays(path: Path) -> None:
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())
        write_turn(store, "k3f9", 1)
        pages = store.file.database.execute("PRAGMA page_count").fetchone()[0]
        store.file.database.execute(f"PRAGMA max_page_count = {pages + 2}").fetchone()
        with pytest.raises(StorageError, match=r"the disk is full, .*tertulia.db .*free some space, then try again"):
            write_turns(store, "k3f9", 2, 100)
        stored = store.run("k3f9").turns
        store.file.database.execute("PRAGMA max_page_count = 100000").fetchone()
        write_turn(store, "k3f9", stored + 1)
        assert [turn.turn for turn in store.turns("k3f9")] == list(range(1, stored + 2))


def test_a_store_that_is_locked_or_read_only_is_told(path: Path) -> None:
    with SqlStore.open(path, create=True) as store, sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        store.file.database.execute("PRAGMA busy_timeout = 10")
        with pytest.raises(StorageError, match=r"another program has kept .* locked"):
            store.create_run(a_run(), a_case())
        other.execute("ROLLBACK")
        store.file.database.execute("PRAGMA query_only = ON")
        with pytest.raises(StorageError, match="can't be written"):
            store.create_run(a_run(), a_case())
        store.file.database.execute("PRAGMA query_only = OFF")
        store.create_run(a_run(), a_case())
    other.close()


def test_a_bug_keeps_its_traceback() -> None:
    with SqlStore.open(":memory:") as store, pytest.raises(sqlite3.IntegrityError):
        store.file.write("INSERT INTO contents (hash) VALUES ('x')")


def test_many_processes_may_make_the_store_at_once(path: Path) -> None:
    opened = "SqlStore.open(sys.argv[1], create=True)"
    code = f"import sys; from tertulia.storage.store import SqlStore; {opened}.save_text('x')"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]


WRITER = """
import sys
from itertools import count
from support.stored import a_case, a_run, write_turn
from tertulia.storage.store import SqlStore
store = SqlStore.open(sys.argv[1], create=True)
store.create_run(a_run(), a_case())
for turn in count(store.run("k3f9").turns + 1):
    write_turn(store, "k3f9", turn)
    print(turn, flush=True)
"""


def test_what_was_stored_before_a_kill_is_whole(path: Path) -> None:
    reached = 0
    for lines in (1, 9):
        reported = written_before_kill(WRITER, path, lines)
        assert reported[0] > reached
        reached = reported[-1]
        with SqlStore.open(path) as store:
            turns = store.turns("k3f9")
            assert [turn.turn for turn in turns] == list(range(1, len(turns) + 1))
            assert len(turns) >= reached
            for turn in turns:
                record = store.turn_record("k3f9", turn.turn)
                assert record.prompt is not None
                assert store.prompt(record.prompt) == a_prompt(turn.turn)
                assert list(record.scores or {}) == [unit.id for unit in a_prompt(turn.turn).units]
                assert store.candidates("k3f9", turn.turn)[0].comment == "It fits."


# --- two drivers ----------------------------------------------------------------------------------------------------

DRIVER = """
import sys, time
from tertulia.storage.store import SqlStore
store = SqlStore.open(sys.argv[1], create=True)
with store.drive_lock("k3f9"):
    print("driving", flush=True)
    time.sleep(60)
"""


def test_a_second_driver_is_told_the_first_and_a_dead_one_has_nothing(path: Path) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "driving\n"
        with SqlStore.open(path) as store:
            with (
                pytest.raises(StorageError, match=rf"k3f9 is being driven by another process \(pid {driver.pid}\)"),
                store.drive_lock("k3f9"),
            ):
                pass
            with store.drive_lock("m2aa"):
                pass
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            with store.drive_lock("k3f9"):
                pass
        assert [file.name for file in path.parent.iterdir() if file.suffix == ".lock"] == []
    finally:
        driver.kill()
        driver.communicate()


def test_locks_that_were_left_are_cleared_and_one_that_is_held_is_not(path: Path) -> None:
    def lock(run: str) -> Path:
        return path.with_name(f"{path.name}.{run}.lock")

    with SqlStore.open(path, create=True) as store:
        store.clear_locks()
        lock("k3f9").touch()
        lock("x2ab").write_text("4194304")
        lock("notes").write_text("who holds what: see the wiki")
        lock("link").symlink_to(lock("notes"))
        with store.drive_lock("h31d"):
            store.clear_locks()
            assert lock("h31d").exists()
        assert sorted(path.parent.glob("*.lock")) == [lock("link"), lock("notes")]


def test_the_lock_holds_within_a_process_and_is_freed_by_an_error(path: Path) -> None:
    with SqlStore.open(path, create=True) as store:
        driven = pytest.raises(StorageError, match=f"pid {os.getpid()}")
        with store.drive_lock("k3f9"), driven, store.drive_lock("k3f9"):
            pass
        with pytest.raises(ZeroDivisionError), store.drive_lock("k3f9"):
            raise ZeroDivisionError
        with store.drive_lock("k3f9"):
            pass
    assert [file.name for file in path.parent.iterdir()] == ["tertulia.db"]


def test_a_link_to_a_store_has_the_locks_of_the_store(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(path)
    with SqlStore.open(path, create=True) as store, SqlStore.open(link) as linked:
        driven = pytest.raises(StorageError, match="k3f9 is being driven by another thread")
        with store.drive_lock("k3f9"):
            assert linked.drivers().is_driven("k3f9")
            with driven, linked.drive_lock("k3f9"):
                pass
        path.with_name(f"{path.name}.x2ab.lock").touch()
        linked.clear_locks()
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path, link]


def test_a_store_of_two_names_is_read_and_not_written(path: Path) -> None:
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())
    other = path.with_name("other.db")
    os.link(path, other)
    refused = pytest.raises(StorageError, match=r"other.db has 2 names .*remove the other names.*tertulia backup")
    with SqlStore.open(other) as store:
        assert [run.run for run in store.runs()] == ["k3f9"]
        with refused:
            store.check_writable()
        with refused, store.drive_lock("k3f9"):
            pass
        with refused:
            store.set_status("k3f9", "interrupted")
        path.unlink()
        store.set_status("k3f9", "interrupted")
        os.link(other, path)  # this process keeps the log of the name that it has
        store.set_status("k3f9", "finished")


def test_a_lock_file_removed_between_opening_and_locking_is_made_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, flock, left = path.with_name("tertulia.db.k3f9.lock"), locks.fcntl.flock, [1]

    def flock_after_another_finished(file: int, how: int) -> None:
        if left:
            left.pop()
            lock.unlink()
        flock(file, how)

    monkeypatch.setattr(locks.fcntl, "flock", flock_after_another_finished)
    with locks.drive_lock(path, "k3f9"):
        assert lock.read_text() == str(os.getpid())
    assert not lock.exists()


def test_a_lock_that_can_not_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(StorageError, match=r"can't be made .*folder of the store"),
        locks.drive_lock(tmp_path / "no" / "x.db", "k3f9"),
    ):
        pass

    def without_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(locks.os, "pwrite", without_room)
    with pytest.raises(StorageError, match="free some space"), locks.drive_lock(tmp_path / "x.db", "k3f9"):
        pass
    assert list(tmp_path.iterdir()) == []
    with SqlStore.open(":memory:") as store, store.drive_lock("k3f9"), store.drive_lock("k3f9"):
        pass


def test_a_transaction_that_a_signal_has_left_open_is_abandoned(path: Path) -> None:
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())
        left = store.file.transaction()
        left.__enter__()
        store.file.write("UPDATE runs SET scenario = 'half done'")
        store.file.reopen()
        del left
        store.set_status("k3f9", "interrupted")
        assert (store.run("k3f9").status, store.run("k3f9").scenario) == ("interrupted", "cafe")


def test_a_query_that_a_signal_has_left_open_is_abandoned(path: Path) -> None:
    with SqlStore.open(path, create=True) as store, SqlStore.open(path) as checkpoints:
        store.create_run(a_run(), a_case())
        left = store.file.database.conn.execute("SELECT 1 FROM runs UNION ALL SELECT 2")
        next(left)
        checkpoints.set_status("k3f9", "finished")
        with pytest.raises(StorageError):
            store.set_status("k3f9", "interrupted")
        store.file.reopen()
        store.set_status("k3f9", "interrupted")
        assert store.run("k3f9").status == "interrupted"
