"""The contract of a store's database: `sqlite.database.StoreFile` and `postgres.database.ServerDatabase` meet it.

SQL is written as storage/dialects.py says. Values are Python's: any text, even if the database itself can't hold it.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tertulia.storage.addresses import StoreAddress
from tertulia.storage.dialects import Dialect
from tertulia.storage.terms import Term
from tertulia.storage.values import Value


class Written(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows it inserted, changed or deleted."""


class RunDrivers(Protocol):
    """Which runs of a store are driven now, looked at again and again."""

    def is_driven(self, run: str) -> bool:
        """Return whether a process drives a run; if that can't be seen, assume that one does."""


class Database(Protocol):
    """The connection of one user of a store: rows out, writes in transactions; used in one thread."""

    dialect: Dialect
    path: StoreAddress | str
    #: How many transactions, or parts of one, were undone: rows that were inserted may be gone when it rises.
    undone: int
    #: The prefix of its tables' names.
    prefix: str = ""

    @property
    def is_checked(self) -> bool:
        """Whether it is small, and near, enough to be checked whole whenever it is read."""

    def rows(self, sql: str, *values: Value, of: str | None = None) -> list[dict[str, Any]]:
        """Return the rows of a query, each by column name.

        Args:
            of: The table of which results with its columns' names are; else any of them may be NULL, as in a join.

        Raises:
            StorageError: A value is not of the kind of the column that its result is named after.
        """

    def named_rows(self, sql: str, values: Mapping[str, Value]) -> list[dict[str, Any]]:
        """Return the rows of a query with named parameters."""

    def tuples(self, sql: str, *values: Value, of: str | None = None) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a query: faster than `rows` for many rows."""

    def write(self, sql: str, *values: Value) -> Written:
        """Execute one statement that writes."""

    def write_all(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Execute one statement that writes for each of some rows of values; inside a transaction."""

    def insert_rows(self, sql: str, rows: Sequence[Sequence[Value]]) -> list[int]:
        """Execute an INSERT for each of some rows, and return their `id`s; inside a transaction."""

    def beside(self, other: "Database") -> "AbstractContextManager[Beside | None]":
        """Read another store over the connection of this one; `None` if that is impossible, as between two servers."""

    def transaction(self) -> AbstractContextManager[None]:
        """Make all writes inside one transaction, or part of the one that is open; one writer at a time."""

    def joined(self) -> AbstractContextManager[None]:
        """Make all writes inside part of the transaction that is open, as a whole with it, or one of their own."""

    def reading(self) -> AbstractContextManager[None]:
        """Read everything inside as it was at one moment, or in the transaction that is open; nothing inside writes."""

    def check_full_text(self) -> None:
        """Check the full-text index against the passages if that is cheap; `StorageError` if they differ."""

    def passages(self, terms: Sequence[Term]) -> tuple[str, dict[str, Value]]:
        """Return the condition that a passage holds terms, and the values of its named parameters."""

    def drive_lock(self, run: str) -> AbstractContextManager[None]:
        """Hold the lock by which one process drives a run; `StorageError` names a process that holds it already."""

    def clear_locks(self) -> None:
        """Remove the remains of locks without a holder."""

    def drivers(self) -> RunDrivers:
        """Return a look at which runs are driven."""

    def data_version(self) -> Hashable:
        """Return a value that differs whenever another connection has written."""

    def checkpoint_sizes(self) -> dict[str, int]:
        """Return the size in bytes of the LangGraph checkpoints of each thread that has any."""

    def delete_checkpoints(self, threads: Collection[str]) -> None:
        """Delete LangGraph's checkpoints of threads; inside a transaction."""

    def superseded_sizes(self) -> dict[str, int]:
        """Return by thread the bytes of LangGraph's checkpoints that it does not go on from, if there are any."""

    def delete_superseded(self, threads: Collection[str]) -> None:
        """Delete these checkpoints of threads; inside a transaction."""

    def check_writable(self) -> None:
        """Raise `StorageError` if nothing can be written."""

    def save_log(self) -> None:
        """Gather all stored rows in one place, as far as that is cheap; not inside a transaction."""

    def unused_bytes(self) -> int:
        """Return the bytes of deleted rows that `compact` would give back; 0 if they are not worth it."""

    def compact(self) -> int:
        """Give the space of deleted rows back to the disk, and return how many bytes those are."""

    def reopen(self) -> None:
        """Replace the connection by a new one. An interrupted transaction or query stays open on the old one."""

    def close(self) -> None:
        """Close the connection."""


class Beside(Protocol):
    """A store that is read over the connection of another: in a transaction of that, as it was when that began."""

    dialect: Dialect
    path: StoreAddress | str
    prefix: str

    def tuples(self, sql: str, *values: Value, of: str | None = None) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a query (see `Database.tuples`); its tables have the prefix."""

    def copy(self, table: str, columns: Sequence[str], rest: str, *values: Value) -> None:
        """Insert rows into the table of that name of the other store, which has none with their keys.

        Args:
            rest: SQL that follows `FROM` and the table's name.
        """


#: A source of rows.
Readable = Database | Beside
