"""A connection to a store file: opened with the same care by everyone, its errors told in one line."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from sqlite_utils import Database

from state.errors import StorageError
from storage.faults import BUSY_TIMEOUT_S, DAMAGED, storage_faults
from storage.migrations import check_tables, migrate

#: The path of a store that lives only as long as its connection.
MEMORY = ":memory:"

#: Up to this size a file's structure is checked whenever it is opened: a millisecond a megabyte.
CHECKED_UP_TO_BYTES = 64 * 1024 * 1024

Value = str | int | float | None


def open_connection(
    path: Path | str, create: bool, isolation_level: Literal["IMMEDIATE"] | None = None
) -> sqlite3.Connection:
    """Open a store file, new or old, with the tables of this version.

    Args:
        path: The file, or `:memory:`.
        create: Whether the file is made if it is missing.
        isolation_level: As in `sqlite3.connect`: whether writing begins a transaction by itself.

    Raises:
        StorageError: The file can't be opened, is damaged, not a store, or from a newer version.
    """
    with storage_faults(path):
        place = MEMORY if path == MEMORY else f"{Path(path).absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        connection = sqlite3.connect(place, uri=path != MEMORY, timeout=BUSY_TIMEOUT_S, isolation_level=isolation_level)
        try:
            # WAL: readers don't wait for the writer. NORMAL: kill -9 loses nothing; a power cut may lose the last
            # commits, but the file stays whole.
            migrate(connection, str(path))
            check_tables(connection, str(path))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection


class StoreFile:
    """The connection of one user of the file (the store, the journal): rows out, writes in transactions.

    Text is data: half a surrogate pair, which SQLite's UTF-8 can't hold, is kept as bytes.
    """

    def __init__(self, path: Path | str, create: bool) -> None:
        """Open the file (see `open_connection`) and check its structure where that is cheap."""
        self.path = path
        self.database = Database(open_connection(path, create), execute_plugins=False)
        try:
            self._check_structure()
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, *values: Value) -> list[dict[str, Any]]:
        """Return the rows of a query, each by column name."""
        with storage_faults(self.path):
            cursor = self.database.execute(sql, [_bound(value) for value in values])
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, map(_read, row), strict=True)) for row in cursor]

    def write(self, sql: str, *values: Value) -> sqlite3.Cursor:
        """Execute one statement that writes."""
        with storage_faults(self.path):
            return self.database.execute(sql, [_bound(value) for value in values])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one: all of them, or none. Never awaits inside, so two never interleave."""
        with storage_faults(self.path):
            # IMMEDIATE: one that only reads at first could not wait for another writer later.
            self.database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.database.execute("COMMIT")
            except BaseException:
                self.database.rollback()
                raise

    def close(self) -> None:
        """Close the connection."""
        self.database.close()

    def _check_structure(self) -> None:
        if self.path == MEMORY or os.path.getsize(self.path) > CHECKED_UP_TO_BYTES:
            return
        (found,) = self.rows("PRAGMA quick_check(1)")
        if found["quick_check"] != "ok":
            raise StorageError(DAMAGED.format(path=self.path, cause=found["quick_check"]))


def _bound(value: Value) -> Value | bytes:
    if isinstance(value, float) and value != value:
        raise ValueError("NaN can't be stored: SQLite would make it no value at all")
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def _read(value: Value | bytes) -> Value:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
