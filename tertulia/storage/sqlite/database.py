"""The database of a store in a SQLite file."""

import json
import os
import sqlite3
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tertulia.state.errors import StorageError
from tertulia.state.words import has_unspaced
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.contract import Beside, Database
from tertulia.storage.dialects import SQLITE
from tertulia.storage.faults import UNWRITABLE, damaged, hearing, storage_faults
from tertulia.storage.sqlite.connection import ReplacedError
from tertulia.storage.sqlite.locks import Drivers, clear_locks, drive_lock
from tertulia.storage.sqlite.opening import MEMORY, open_connection
from tertulia.storage.sqlite.retention import remove_superseded, superseded
from tertulia.storage.terms import UNSPACED, Term, holds_terms, marked_terms
from tertulia.storage.values import Query, Value, bound, compared, decoded_if_text, read, read_rows

if TYPE_CHECKING:
    from tertulia.storage.sqlite.library import Database as SqliteUtils

#: Up to this size a file's structure is checked whenever it is opened: a millisecond a megabyte.
CHECKED_UP_TO_BYTES = 64 * 1024 * 1024

#: Pages in memory of each file while rows are copied: a transaction reads, and writes, each page once.
_CACHED_KIB = 32 * 1024

#: Unused pages are given back if they are more than this share of a file, all of which is written for that.
_UNUSED_SHARE = 0.01

#: LangGraph's tables, which it makes itself when it first stores a checkpoint; a run is a thread of its.
_CHECKPOINT_TABLES = ("checkpoints", "writes")

#: Bits of the number of a page of the full-text index that follow those of its segment (SQLite's fts5_index.c).
_PAGE_BITS = 37

#: A condition that finds passages that hold signs of scripts without spaces.
_HAS_UNSPACED = " OR ".join(
    f"passages.text GLOB '*[{''.join(f'{first}-{last}' for first, last in ranges)}]*'"
    for ranges in (UNSPACED[:-1], UNSPACED[-1:])
)


class StoreFile(Database):
    """The connection of one user of a SQLite file."""

    dialect = SQLITE

    _has_driven = False

    def __init__(self, path: Path | str, create: bool) -> None:
        """Open the file (see `open_connection`) and check its structure if that is cheap."""
        self.path, self.undone = path, 0
        self._connection = open_connection(path, create)
        self._database: SqliteUtils | None = None
        try:
            self._check_structure()
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection itself."""
        return self._connection

    @property
    def database(self) -> "SqliteUtils":
        """The file as sqlite-utils shows it; imported when asked for, as reading does without (see `_prepared`)."""
        if self._database is None:
            from tertulia.storage.sqlite.library import Database as SqliteUtils

            self._database = SqliteUtils(self._connection, recursive_triggers=False, execute_plugins=False)
        return self._database

    @override
    def rows(self, sql: str, *values: Value, of: str | None = None) -> list[dict[str, Any]]:
        return self._fetched(sql, [bound(compared(value)) for value in values], of)

    @override
    def named_rows(self, sql: str, values: Mapping[str, Value]) -> list[dict[str, Any]]:
        return self._fetched(sql, {name: bound(compared(value)) for name, value in values.items()})

    def _fetched(self, sql: str, values: Any, of: str | None = None) -> list[dict[str, Any]]:
        with storage_faults(self.path):
            names, rows = self.executed(sql, values, of)
        return [dict(zip(names, row, strict=True)) for row in rows]

    @override
    def tuples(self, sql: str, *values: Value, of: str | None = None) -> Sequence[tuple[Any, ...]]:
        with storage_faults(self.path):
            return self.executed(sql, [bound(compared(value)) for value in values], of)[1]

    def executed(self, sql: str, values: Any, of: str | None = None) -> tuple[list[str], Sequence[tuple[Any, ...]]]:
        """Return the columns and the rows of a query, each value as it was before it was written."""
        cursor = self._connection.execute(sql, values)
        try:
            rows = cursor.fetchall()
        except sqlite3.OperationalError as error:
            if hasattr(error, "sqlite_errorcode"):  # else a text is not UTF-8
                raise
            self._connection.text_factory = decoded_if_text  # a call of Python for each text
            try:
                rows = (cursor := self._connection.execute(sql, values)).fetchall()
            finally:
                self._connection.text_factory = str
        names = [column[0] for column in cursor.description]
        return names, read_rows(Query(sql, names, of), rows, read, bytes)

    @override
    def write(self, sql: str, *values: Value) -> sqlite3.Cursor:
        with storage_faults(self.path), self.joined():
            return self._connection.execute(sql, [bound(value) for value in values])

    @override
    def write_all(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        with storage_faults(self.path):
            self._connection.executemany(sql, [[bound(value) for value in row] for row in rows])

    @override
    def insert_rows(self, sql: str, rows: Sequence[Sequence[Value]]) -> list[int]:
        inserted = [self.write(sql, *row).lastrowid for row in rows]
        return [row for row in inserted if row is not None]  # all, in tables with row ids

    @override
    @contextmanager
    def beside(self, other: Database) -> "Iterator[BesideFile | None]":
        beside = BesideFile(self, other.path)
        if not (isinstance(other, StoreFile) and beside.is_attached()):
            yield None
            return
        ((size,),) = self._connection.execute("PRAGMA main.cache_size").fetchall()
        try:
            for database in ("main", "source"):
                self._connection.execute(f"PRAGMA {database}.cache_size = {-_CACHED_KIB}")
            yield beside
        finally:
            with suppress(sqlite3.OperationalError):  # both go with the connection at the latest
                self._connection.execute(f"PRAGMA main.cache_size = {size}")
                self._connection.execute("DETACH source")

    @override
    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one transaction, or part of the one that is open.

        Nothing inside awaits, so two never interleave. A failed transaction inside another one is undone by itself: the
        outer one may go on.
        """
        with storage_faults(self.path), self._nested() if self._connection.in_transaction else self._outermost():
            yield

    @override
    def joined(self) -> AbstractContextManager[None]:
        return nullcontext() if self._connection.in_transaction else self.transaction()

    @override
    def reading(self) -> AbstractContextManager[None]:
        return nullcontext() if self._connection.in_transaction else self._moment()

    @contextmanager
    def _moment(self) -> Iterator[None]:
        with storage_faults(self.path):
            self._connection.execute("BEGIN")  # DEFERRED: no writer waits for it
            try:
                yield
            finally:
                self._connection.commit()

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        try:
            self._connection.begin()
            yield
            self._connection.commit()
        except BaseException:
            self.undone += 1
            self._connection.rollback()
            raise

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self._connection.execute("SAVEPOINT nested")
        try:
            yield
            self._connection.execute("RELEASE nested")
        except BaseException:
            self.undone += 1
            if self._connection.in_transaction:  # SQLite itself rolls back all of it if the disk is full
                self._connection.execute("ROLLBACK TO nested")
                self._connection.execute("RELEASE nested")
            raise

    @override
    def save_log(self) -> None:
        # The write-ahead log goes into the file, as far as no other process reads or writes it, without waiting: so
        # the file alone has it, should it be moved or copied without its log. A transaction is not in the log yet.
        if self._connection.in_transaction:
            return
        with storage_faults(self.path):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    @override
    def reopen(self) -> None:
        self.undone += 1
        path = self.path
        with suppress(sqlite3.Error):  # as of a file that was cut off; the connection is given up
            self._connection.rollback()
        try:
            self._connection.check_path()
        except ReplacedError as error:
            path = error.rescued or path
        opened = open_connection(path, create=False)  # first: if that fails, there is still a connection to be asked
        self.close()
        self.path, self._connection, self._database = path, opened, None

    @override
    def close(self) -> None:
        self._connection.close()
        if self._has_driven:
            self.clear_locks()

    @property
    @override
    def is_checked(self) -> bool:
        return self.path == MEMORY or os.path.getsize(self.path) <= CHECKED_UP_TO_BYTES

    @override
    def passages(self, terms: Sequence[Term]) -> tuple[str, dict[str, Value]]:
        looked_through = f"({_HAS_UNSPACED}) AND {self._holding('holds_terms', terms)}"
        if any(has_unspaced(term.text) for term in terms):  # the index has no word of them
            return looked_through, {}
        # Nothing but quotes and a last `*` has a meaning of its own.
        query = " ".join(f'"{term.text}"{"*" if term.is_prefix else ""}' for term in terms)
        indexed = "passages.id IN (SELECT rowid FROM passages_fts WHERE passages_fts MATCH :query)"
        if marked := marked_terms(terms):
            indexed += f" AND {self._holding('holds_marked', marked)}"
        return f"{indexed} OR {looked_through}", {"query": query}

    def _holding(self, name: str, terms: Sequence[Term]) -> str:
        """Return the condition that a passage holds terms, by a pure function for the queries of this connection."""
        self._connection.create_function(name, 1, hearing(lambda text: holds_terms(text, terms)), deterministic=True)
        return f"{name}(passages.text)"

    @override
    def check_full_text(self) -> None:
        # SQLite's own check passes over a segment if none of its pages can be found any more.
        pages = f"SELECT id >> {_PAGE_BITS} FROM passages_fts_data WHERE id >> {_PAGE_BITS} > 0"
        if self.rows(f"{pages} AND id >> {_PAGE_BITS} NOT IN (SELECT segid FROM passages_fts_idx) LIMIT 1"):
            raise damaged(self.path, "the index of what is searched is not whole")
        try:
            with storage_faults(self.path):
                self._connection.execute("INSERT INTO passages_fts (passages_fts, rank) VALUES ('integrity-check', 1)")
        except StorageError as error:
            code = getattr(error.__cause__, "sqlite_errorcode", 0)
            if code & 0xFF != sqlite3.SQLITE_READONLY:  # it writes nothing, but a read-only file refuses it
                raise

    # --- drivers ----------------------------------------------------------------------------------------------------

    @override
    def drive_lock(self, run: str) -> AbstractContextManager[None]:
        # A store in memory has no other driver.
        self._connection.check_names()
        self._has_driven = True
        return nullcontext() if self.path == MEMORY else drive_lock(Path(self.path), run)

    @override
    def clear_locks(self) -> None:
        if self.path != MEMORY:
            clear_locks(Path(self.path))

    @override
    def drivers(self) -> Drivers:
        return Drivers(Path(self.path))

    @override
    def data_version(self) -> Hashable:
        return int(self.rows("PRAGMA data_version")[0]["data_version"])

    # --- LangGraph's checkpoints ------------------------------------------------------------------------------------

    @override
    def checkpoint_sizes(self) -> dict[str, int]:
        if not self._made("checkpoints"):
            return {}
        size = "sum(length(checkpoint) + length(metadata)) AS size"
        rows = self.rows(f"SELECT thread_id, {size} FROM checkpoints GROUP BY thread_id")
        return {row["thread_id"]: row["size"] for row in rows}

    @override
    def delete_checkpoints(self, threads: Collection[str]) -> None:
        for table in self._made(*_CHECKPOINT_TABLES):
            self.write(f"DELETE FROM {table} WHERE thread_id IN {SQLITE.given_texts}", json.dumps([*threads]))

    @override
    def superseded_sizes(self) -> dict[str, int]:
        with storage_faults(self.path):
            sizes = {
                thread: sum(size for _, _, size in superseded(self._connection, thread))
                for thread in self.checkpoint_sizes()
            }
        return {thread: size for thread, size in sizes.items() if size}

    @override
    def delete_superseded(self, threads: Collection[str]) -> None:
        with storage_faults(self.path):
            for thread in threads:
                remove_superseded(self._connection, thread)

    def _made(self, *tables: str) -> list[str]:
        given = f"SELECT name FROM sqlite_master WHERE type = 'table' AND name IN {SQLITE.given_texts}"
        return [row["name"] for row in self.rows(given, json.dumps(tables))]

    # --- the file ---------------------------------------------------------------------------------------------------

    @override
    def check_writable(self) -> None:
        place = self.path if os.path.exists(self.path) else Path(self.path).parent
        if self.path != MEMORY and not os.access(place, os.W_OK):
            raise StorageError(UNWRITABLE.format(path=self.path))
        self._connection.check_names()

    @override
    def unused_bytes(self) -> int:
        pages, unused = self._pragma("page_count"), self._pragma("freelist_count")
        return unused * self._pragma("page_size") if unused > pages * _UNUSED_SHARE else 0

    @override
    def compact(self) -> int:
        with self.transaction():
            pass  # the log begins with a generation
        before = self._pragma("page_count")
        with storage_faults(self.path):
            self._connection.execute("VACUUM")
        return (before - self._pragma("page_count")) * self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        return int(self.rows(f"PRAGMA {name}")[0][name])

    def _check_structure(self) -> None:
        if not self.is_checked:
            return
        (found,) = self.rows("PRAGMA quick_check(1)")
        if found["quick_check"] != "ok":
            raise damaged(self.path, found["quick_check"].splitlines()[-1])


class BesideFile(Beside):
    """A store file that is read over the connection of another one; it was opened, and so checked, before."""

    dialect, prefix = SQLITE, "source."

    def __init__(self, file: StoreFile, path: StoreAddress | str) -> None:
        self.path, self._file = path, file

    def is_attached(self) -> bool:
        """Attach the file for reading; return whether that could be."""
        connection = self._file.connection
        if MEMORY in (self.path, self._file.path) or connection.in_transaction:
            return False
        try:
            connection.execute("ATTACH ? AS source", (f"{Path(str(self.path)).absolute().as_uri()}?mode=ro",))
        except sqlite3.Error:
            return False
        try:
            connection.execute("SELECT 1 FROM source.runs LIMIT 1").fetchall()
        except sqlite3.Error:  # as on a read-only disk
            connection.execute("DETACH source")
            return False
        return True

    @override
    def tuples(self, sql: str, *values: Value, of: str | None = None) -> Sequence[tuple[Any, ...]]:
        with storage_faults(self.path):
            return self._file.executed(sql, [bound(compared(value)) for value in values], of)[1]

    @override
    def copy(self, table: str, columns: Sequence[str], rest: str, *values: Value) -> None:
        names = ", ".join(columns)
        self._file.write(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM source.{table} {rest}", *values)
