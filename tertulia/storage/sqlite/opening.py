"""Opening a store file: another file, or an altered store, is refused before any of it is used."""

import os
import sqlite3
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

from tertulia.state.errors import StorageError
from tertulia.storage.faults import BUSY_TIMEOUT_S, damaged, storage_faults
from tertulia.storage.sql_views import QUERIES
from tertulia.storage.sqlite.belonging import check_log
from tertulia.storage.sqlite.connection import StoreConnection
from tertulia.storage.sqlite.in_use import opening
from tertulia.storage.sqlite.objects import check_objects, is_known, objects
from tertulia.storage.sqlite.structure import check_tables
from tertulia.storage.sqlite.versions import schema_version
from tertulia.storage.values import LARGEST_BYTES

#: The path of a store that lives only as long as its connection.
MEMORY = ":memory:"

#: SQLite's errors for a file that can be read, on a disk that can't be written.
_UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)

#: No SQLite file that holds anything is shorter.
_SMALLEST_PAGE_BYTES = 512

#: What can lie in the place of a file.
_NO_FILES = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode), "a device"),
)

#: How a journal ends that names a super-journal (https://www.sqlite.org/fileformat2.html, section 4.1).
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")

#: Steps of SQLite's machine between two looks at whether a signal has come: less than a millisecond, at no cost that
#: could be measured.
_STEPS_BETWEEN_SIGNALS = 10_000


def open_connection(
    path: Path | str,
    create: bool,
    isolation_level: Literal["IMMEDIATE"] | None = None,
    one_thread: bool = True,
) -> StoreConnection:
    """Open a store file, with the tables of this version; on a disk that can't be written, for reading.

    Args:
        path: The file, or `:memory:`.
        isolation_level: As in `sqlite3.connect`: whether writing begins a transaction by itself.
        one_thread: Whether only the thread that opens it may use it; else several threads keep each other out.

    Raises:
        StorageError: The file can't be opened, is damaged, not a store, or from another version; or it was left behind
            in the middle of writing, on a disk that can't be written. A log that does not belong to it is set aside.
    """
    with storage_faults(path):
        if path == MEMORY:
            return _prepared(MEMORY, path, isolation_level, one_thread)
        refuse_no_file(path)
        refuse_stump(Path(path))
        try:
            place = Path(path).absolute().as_uri()
        except FileNotFoundError:
            raise StorageError(f"{path} can't be opened: the current folder is gone; change to another") from None
        real = os.path.realpath(path)
        refuse_companions(real)
        check_log(Path(real))
        if create:
            _make_private(Path(path))
        try:
            return _prepared(f"{place}?mode={'rwc' if create else 'rw'}", path, isolation_level, one_thread)
        except sqlite3.OperationalError as error:
            # Python's complaint that a text is not UTF-8 has no error code.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if create or code not in _UNWRITABLE or not os.access(path, os.R_OK):
                raise
            log = Path(f"{path}-wal")
            if log.exists() and log.stat().st_size:
                raise StorageError(
                    f"{path} can't be read where it can't be written: its last changes are still in {log.name}; copy "
                    "both to a folder that is writable"
                ) from error
            return _prepared(f"{place}?mode=ro&immutable=1", path, isolation_level, one_thread, can_write=False)


def _make_private(path: Path) -> None:
    """Make a missing file for its owner alone; `StorageError` if the log of a store that was moved away is there."""
    if os.path.exists(path):
        return
    if os.path.islink(path):
        raise StorageError(f"{path} is a link to nothing, and no store is made through one; name the file")
    refuse_lost_log(path)
    with suppress(OSError):  # SQLite says why, or another process has just made it
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def refuse_lost_log(path: Path) -> None:
    """Raise `StorageError` if a store is missing and its log, with the last changes, is not."""
    log = Path(f"{path}-wal")
    if os.path.isfile(log) and log.stat().st_size:
        raise StorageError(
            f"{path} is not there, but {log.name} is: the last changes of a store that was moved without it; move it "
            "beside the store, under the store's name and -wal, or remove it"
        )


def refuse_no_file(path: Path | str) -> None:
    """Raise `StorageError` for a folder, a device, a pipe or a socket in the place of a store."""
    with suppress(OSError):
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            kind = next((kind for is_kind, kind in _NO_FILES if is_kind(mode)), "no file")
            raise StorageError(f"{path} can't be opened: it is {kind}; name a file, new or with a store in it")


def refuse_stump(path: Path) -> None:
    """Refuse the first bytes of a store.

    SQLite would take it for a new file. One without a byte is new: another process may be making it.

    Raises:
        StorageError: No more is left of it.
    """
    size = path.stat().st_size if os.path.isfile(path) else 0
    if 0 < size < _SMALLEST_PAGE_BYTES:
        raise damaged(path, f"no more than {size} bytes are left of it")


def refuse_companions(path: str) -> None:
    """Refuse files beside a store through which SQLite would write to, or delete, a file of a stranger's choice.

    SQLite follows a link in the place of its log or its journal; and when it rolls a journal back that names a
    super-journal, it deletes the file of that name. Tertulia never has one, as it never writes to two files at once.

    Raises:
        StorageError: There is such a file.
    """
    for ending in ("-wal", "-shm", "-journal"):
        beside = f"{path}{ending}"
        if os.path.islink(beside):
            raise StorageError(f"{beside} is a link, so SQLite would write to another file; remove the link first")
        if os.path.exists(beside) and not os.path.isfile(beside):
            raise StorageError(f"{beside} is no file, so SQLite could wait for it for ever; remove it first")
    with suppress(OSError), open(f"{path}-journal", "rb") as journal:
        journal.seek(-len(_JOURNAL_MAGIC), os.SEEK_END)
        if journal.read() == _JOURNAL_MAGIC:
            raise StorageError(f"{path}-journal names a file that SQLite would delete; remove the journal first")


def _prepared(
    place: str,
    path: Path | str,
    isolation_level: Literal["IMMEDIATE"] | None,
    one_thread: bool,
    can_write: bool = True,
) -> StoreConnection:
    with opening:
        connection = sqlite3.connect(
            place,
            uri=place != MEMORY,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=isolation_level,
            check_same_thread=one_thread,
            factory=StoreConnection,
        )
    try:
        if place != MEMORY:
            connection.note_path(Path(path))
        _restrict(connection)
        if schema_version(connection, str(path)) == 0:
            # Imported only to make tables: with it comes sqlite-utils, and with that pandas, if it is
            # installed: a third of a second, which commands that only read a store don't have to wait.
            from tertulia.storage.sqlite.making import make_tables

            make_tables(connection, str(path))
        check_schema(connection, str(path))
        # All of it is ours, to the last token, and SQLite needs to trust it: up to 3.40 at least, a trigger may not
        # write to a full-text index otherwise.
        connection.execute("PRAGMA trusted_schema = ON")
        if can_write:
            # WAL: readers don't wait for the writer. NORMAL: kill -9 loses nothing; a power cut may lose the last
            # commits, but the file stays whole.
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _restrict(connection: sqlite3.Connection) -> None:
    """Make a connection trust nothing in the file, read nothing huge, and hear signals in a query."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_BYTES)
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    connection.set_progress_handler(_hear_signals, _STEPS_BETWEEN_SIGNALS)


def _hear_signals() -> int:
    """Go on. Python handles signals when a function of its own begins; an exception there ends the query.

    Python's `sqlite3` drops the exception and reports SQLITE_INTERRUPT, of which `storage_faults` makes one again.
    """
    return 0


def check_schema(connection: sqlite3.Connection, path: str) -> None:
    """Raise `StorageError` if the schema of a store of this version was altered."""
    rows = objects(connection)
    if not is_known(rows):
        check_objects(rows, path, QUERIES)
        check_tables(connection, path, {str(row[1]) for row in rows}, QUERIES)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Turn on SQLite's write-ahead log, for which it wants a new file for itself and does not wait by itself."""
    given_up_at = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > given_up_at:
                raise
            time.sleep(0.01)
