"""A store with a schema that is not Tertulia's is refused before anything in it is executed or written."""

import os
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Cli, rehearse
from support.stored import a_case, a_run

from tertulia.state.errors import StorageError
from tertulia.storage.sqlite.locks import drive_lock
from tertulia.storage.sqlite.objects import is_known, objects
from tertulia.storage.store import SqlStore
from tertulia.storage.values import LARGEST_UNPACKED_BYTES, DamagedValueError, parsed, unpacked

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"

#: What a stranger may put into a schema, and what the message names.
FOREIGN = {
    "CREATE TRIGGER mine AFTER UPDATE ON runs BEGIN UPDATE runs SET label = (SELECT * FROM mine); END": "mine",
    "CREATE TRIGGER passages_mine AFTER INSERT ON passages BEGIN DELETE FROM runs; END": "passages_mine",
    f"CREATE VIEW mine AS {ENDLESS}": "mine",
    "CREATE TABLE mine (a)": "mine",
    "CREATE VIRTUAL TABLE mine USING fts5 (text)": "mine",
    "CREATE INDEX mine ON turns (speaker)": "mine",
    "CREATE INDEX mine ON turns (abs(turn))": "mine",
    "CREATE INDEX mine ON passages (start_id) WHERE run IS NULL": "mine",
    "CREATE INDEX mine ON passages (start_id COLLATE nocase)": "mine",
    "CREATE TABLE \"a;`b\x1b[2J\" (a)": "schema holds",
    "DROP TRIGGER passages_ai; "
    "CREATE TRIGGER passages_ai AFTER INSERT ON passages BEGIN DELETE FROM runs; END": "passages_ai",
    "DROP VIEW each_run; "
    "CREATE VIEW each_run AS SELECT 1 AS run UNION ALL SELECT run FROM runs ORDER BY id": "each_run",
    "ALTER TABLE runs ADD COLUMN made TEXT AS (upper(run))": "runs",
    "ALTER TABLE turns ADD COLUMN made TEXT DEFAULT (upper('x'))": "turns",
    "ALTER TABLE turns ADD COLUMN made TEXT CHECK (length(made) < 3)": "turns",
    "CREATE TABLE checkpoints (thread_id TEXT, made TEXT AS (upper(thread_id)))": "checkpoints",
}  # fmt: skip


def altered(path: Path, statements: str) -> bytes:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements.split("; CREATE"):
            connection.execute(statement if statement.startswith(("CREATE", "DROP", "ALTER")) else f"CREATE{statement}")
    return path.read_bytes()


@pytest.fixture
def stored(path: Path) -> Path:
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())
    return path


@pytest.mark.parametrize("statement", FOREIGN)
def test_what_others_made_is_refused_and_nothing_is_written(stored: Path, statement: str) -> None:
    before = altered(stored, statement)
    for create in (False, True):
        with pytest.raises(StorageError, match=FOREIGN[statement]) as refused:
            SqlStore.open(stored, create=create)
        assert "\x1b" not in str(refused.value)
    assert stored.read_bytes() == before


def test_a_new_store_is_known_by_its_hash(cli: Cli, stored: Path) -> None:
    rehearse(cli)
    for path in (stored, Path("tertulia.db")):  # without LangGraph's tables, and with them
        with closing(sqlite3.connect(path)) as connection:
            assert is_known(objects(connection)), "note the new hash in tertulia/storage/sqlite/objects.py"


LONG_QUERY = f"""
import sys
from tertulia.cli.main import main
from tertulia.storage.store import SqlStore
def runs(self, *_):
    print("asking", flush=True)
    with self.file.transaction():
        self.file.write("UPDATE runs SET label = 'lost'")
        return self.file.rows("{ENDLESS}")
SqlStore.runs = runs
sys.argv = ["tertulia", "runs", "--store", sys.argv[1]]
main()
"""


def test_a_signal_is_heard_in_a_query_without_end(stored: Path) -> None:
    asking = subprocess.Popen(
        [sys.executable, "-c", LONG_QUERY, stored], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "asking\n"
        time.sleep(0.2)
        asking.send_signal(signal.SIGINT)
        _, errors = asking.communicate(timeout=20)
    finally:
        asking.kill()
    assert (asking.returncode, "Traceback" in errors) == (130, False), errors
    with SqlStore.open(stored) as store:
        assert store.file.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        assert store.run("k3f9").label is None


# --- what is packed, and what is nested -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (zlib.compress(bytes(LARGEST_UNPACKED_BYTES + 1), 9), "more than 32 MB"),
        (zlib.compress(bytes(100))[:-5], "cut off"),
        (b"no zlib", "incorrect header"),
        (zlib.compress(b"\xff"), "decode"),
    ],
)
def test_what_nobody_packed_like_that_is_refused(value: bytes, cause: str) -> None:
    with pytest.raises(DamagedValueError, match=cause):
        unpacked(value)


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 10_000, "{", ""])
def test_json_that_nobody_writes_is_refused(text: str) -> None:
    with pytest.raises(DamagedValueError):
        parsed(text)


# --- files ------------------------------------------------------------------------------------------------------------


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_store_and_what_lies_beside_it_are_the_owners_alone(path: Path) -> None:
    with SqlStore.open(path, create=True) as store, store.drive_lock("k3f9"):
        store.create_run(a_run(), a_case())
        beside = {file.name: mode(file) for file in path.parent.iterdir()}
    assert beside == dict.fromkeys([path.name, *(f"{path.name}{end}" for end in ("-wal", "-shm", ".k3f9.lock"))], 0o600)


def test_an_existing_store_keeps_its_permissions(stored: Path) -> None:
    stored.chmod(0o640)
    with SqlStore.open(stored, create=True) as store:
        store.save_text("x")
    assert mode(stored) == 0o640


def test_the_file_alone_has_a_run_that_exists(path: Path, tmp_path: Path) -> None:
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())
        moved = tmp_path / "moved.db"
        moved.write_bytes(path.read_bytes())  # without its log, as after a kill
        with SqlStore.open(moved) as alone:
            assert [run.run for run in alone.runs()] == ["k3f9"]


@pytest.mark.parametrize("create", [False, True])
def test_a_log_whose_store_was_moved_is_told_and_kept(path: Path, create: bool) -> None:
    log = path.with_name(f"{path.name}-wal")
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())
        content = log.read_bytes()
    path.unlink()
    log.write_bytes(content)
    with pytest.raises(StorageError, match="last changes of a store that was moved"):
        SqlStore.open(path, create=create)
    assert log.read_bytes() == content


def test_a_lock_follows_no_link(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("kept")
    lock = path.with_name(f"{path.name}.k3f9.lock")
    lock.symlink_to(target)
    with pytest.raises(StorageError, match="is a link"), drive_lock(path, "k3f9"):
        pass
    assert target.read_text() == "kept"


def _pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [_pipe, Path.mkdir])
def test_a_lock_is_a_file(path: Path, make: Callable[[Path], None]) -> None:
    make(path.with_name(f"{path.name}.k3f9.lock"))
    with pytest.raises(StorageError), drive_lock(path, "k3f9"):
        pass


@pytest.mark.parametrize("run", ["../k3f9", "a/b", "", "a\x00b", "-x", "k\x1b[2J"])
def test_a_lock_is_of_an_id(path: Path, run: str) -> None:
    with pytest.raises(ValueError, match="is no id"), drive_lock(path, run):
        pass


def test_no_file_is_deleted_that_a_journal_names(stored: Path, tmp_path: Path) -> None:
    precious, journal = tmp_path / "precious", stored.with_name(f"{stored.name}-journal")
    precious.write_text("kept")
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(precious).encode()
    header = magic + struct.pack(">IIIII", 0, 1, stored.stat().st_size // 4096, 512, 4096)
    named = struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    journal.write_bytes(header.ljust(512, b"\0") + named)
    with pytest.raises(StorageError, match="names a file that SQLite would delete"):
        SqlStore.open(stored)
    assert precious.read_text() == "kept"
    journal.unlink()
    journal.touch()
    SqlStore.open(stored).close()


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_nothing_waits_for_a_pipe_beside_a_store(stored: Path, ending: str) -> None:
    _pipe(stored.with_name(f"{stored.name}{ending}"))
    with pytest.raises(StorageError, match="is no file, so SQLite could wait"):
        SqlStore.open(stored)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_no_file_is_written_through_a_link_beside_a_store(stored: Path, tmp_path: Path, ending: str) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "link.db").symlink_to(stored)
    stored.with_name(f"{stored.name}{ending}").symlink_to(tmp_path / "precious")
    for path in (stored, tmp_path / "link.db"):
        with pytest.raises(StorageError, match="is a link, so SQLite would write to another file"):
            SqlStore.open(path)
    assert (tmp_path / "precious").read_text() == "kept"
