"""Damages by SQL: in a drawn table, whatever its size, a column is altered, or rows are deleted, copied or exchanged.

What is written is mostly what could stand there: the value of another row, or the next number. Triggers do their work,
as they would for whoever writes with a tool of his own.
"""

import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Protocol

Value = str | int | float | bytes | None

#: What only a stranger writes.
_VALUES: tuple[Value, ...] = (
    *(None, 0, -1, 2**62, 1.5, "", "x", "\x1b[31m", "null", "[]", "{}", "[" * 5000, "9" * 5000, "k3f9"),
    *(b"\xff\x00", b""),
)

#: A value of each type that SQLite has.
ONE_OF_EACH_TYPE: tuple[Value, ...] = (7, 1.5, "x", b"\xff\x00", None)

#: Rows that are deleted, or in which a column is altered; the last stands for all.
_COUNTS = (1, 1, 1, 3, 100_000)

#: Draws until one of them is what the table's keys allow.
_DRAWS = 200


class _Alteration(Protocol):
    """Alters a table; returns what it did, or `None` where that would change nothing."""

    def __call__(self, table: "_Table", drawn: random.Random) -> str | None: ...


def alter(alteration: _Alteration, store: Path, drawn: random.Random) -> str:
    """Alter a table of a store; return what was done."""
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        tables = [table for table in tables_of(connection) if table.count()]
        for _ in range(_DRAWS):
            table = drawn.choice(tables)
            connection.execute("BEGIN")
            try:
                done = alteration(table, drawn)
            except sqlite3.IntegrityError:  # two rows would have one key
                done = None
            if done is not None:
                connection.execute("COMMIT")
                return f"{table.name}: {done}"
            connection.execute("ROLLBACK")
    raise AssertionError(f"no table of {store} could be altered")


class _Table:
    """A table of an open store, whatever its columns are.

    Attributes:
        name: Its name.
        columns: The names of its columns.
        key: Those of its primary key.
        unique: Those that are of its key, or unique together.
    """

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection, self.name = connection, name
        rows = connection.execute(f"PRAGMA table_info({name})").fetchall()
        self.columns = [row[1] for row in rows]
        self.key = [row[1] for row in rows if row[5]]
        self.unique = {*self.key}
        for _, index, is_unique, *_ in connection.execute(f"PRAGMA index_list({name})").fetchall():
            if is_unique:
                self.unique |= {row[2] for row in connection.execute(f"PRAGMA index_info({index})")}
        self._order = ", ".join(self.key) or "rowid"

    def count(self) -> int:
        """Return how many rows it has."""
        return int(self._connection.execute(f"SELECT count(*) FROM {self.name}").fetchone()[0])

    def write(self, sql: str, *values: Value) -> int:
        """Execute a statement; return how many rows it changed."""
        return self._connection.execute(sql, values).rowcount

    def row(self, drawn: random.Random) -> dict[str, Value]:
        """Return a row that is drawn."""
        offset = drawn.randrange(self.count())
        found = self._connection.execute(f"SELECT * FROM {self.name} ORDER BY {self._order} LIMIT 1 OFFSET {offset}")
        return dict(zip(self.columns, found.fetchone(), strict=True))

    def some(self, drawn: random.Random) -> tuple[str, list[Value], str]:
        """Return a condition for some rows that are drawn, its values, and the same in words."""
        column = drawn.choice(self.columns)
        if drawn.random() < 0.25:
            value = self.row(drawn)[column]
            return f"{column} IS ?", [value], f"where {column} is {value!r:.40}"
        number, size = drawn.choice(_COUNTS), self.count()
        begin = 0 if number >= size else drawn.randrange(size - number + 1)
        rows = f"SELECT {self._order} FROM {self.name} ORDER BY {self._order} LIMIT {number} OFFSET {begin}"
        return f"({self._order}) IN ({rows})", [], f"{min(number, size)} of {size} rows from {begin}"

    def replace(self, old: Sequence[Mapping[str, Value]], new: Sequence[Mapping[str, Value]]) -> None:
        """Write rows in the place of others."""
        key = self.key or self.columns
        for row in old:
            condition = " AND ".join(f"{column} IS ?" for column in key)
            self.write(f"DELETE FROM {self.name} WHERE {condition}", *(row[column] for column in key))
        marks = ", ".join("?" * len(self.columns))
        for row in new:
            self.write(f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({marks})", *row.values())


def tables_of(connection: sqlite3.Connection) -> list[_Table]:
    """Return the tables that hold something; a full-text index is the tables that it lies in."""
    found = connection.execute(
        """SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name != 'generation'
        AND sql NOT LIKE '%VIRTUAL%'"""
    )
    return [_Table(connection, name) for (name,) in found.fetchall()]


def _alter_column(table: _Table, drawn: random.Random) -> str | None:
    """Write another value into a column of some rows."""
    column = drawn.choice(table.columns)
    condition, values, which = table.some(drawn)
    value = _another(table.row(drawn)[column], drawn)
    changed = table.write(f"UPDATE {table.name} SET {column} = ? WHERE {condition}", value, *values)
    return f"{column} := {value!r:.40} in {which}" if changed else None


def alter_type(table: "_Table", drawn: random.Random, column: str | None = None, to: Value = 1.5) -> str | None:
    """Write a value of another type into a column of one row; both are drawn if no column is given."""
    if column is None:
        column, to = drawn.choice(table.columns), drawn.choice(ONE_OF_EACH_TYPE)
    row = table.row(drawn)
    if type(row[column]) is type(to):
        return None
    condition = " AND ".join(f"{name} IS ?" for name in table.key)
    table.write(f"UPDATE {table.name} SET {column} = ? WHERE {condition}", to, *(row[name] for name in table.key))
    return f"{column} := {to!r} in {_named(table, row)}"


def _another(value: Value, drawn: random.Random) -> Value:
    """Return a value that a row of the table has, one that is near it, or one that only a stranger writes."""
    how = drawn.random()
    if how < 0.5:
        return value
    if how < 0.75 and isinstance(value, int | float):
        return value + drawn.choice((-1, 1))
    return drawn.choice(_VALUES)


def _delete_rows(table: _Table, drawn: random.Random) -> str | None:
    """Delete some rows."""
    condition, values, which = table.some(drawn)
    deleted = table.write(f"DELETE FROM {table.name} WHERE {condition}", *values)
    return f"deleted {which}" if deleted else None


def _copy_row(table: _Table, drawn: random.Random) -> str | None:
    """Copy a row over another, or double it under another key."""
    row, other = table.row(drawn), table.row(drawn)
    if drawn.random() < 0.5:
        kept = {*table.key} if drawn.random() < 0.5 else table.unique
        copied = {column: other[column] if column in kept else row[column] for column in table.columns}
        if copied == other:
            return None
        table.replace([other], [copied])
        return f"{_named(table, row)} copied over {_named(table, other)}"
    column = drawn.choice(sorted(table.unique) or table.columns)
    doubled = {**row, column: _another(other[column], drawn)}
    if "id" in table.key and column != "id":
        doubled["id"] = None  # the next that is free
    table.replace([], [doubled])
    return f"{_named(table, row)} doubled with {column} = {doubled[column]!r:.40}"


def _exchange_rows(table: _Table, drawn: random.Random) -> str | None:
    """Exchange two rows, but for their keys, or one column of them."""
    one, other = table.row(drawn), table.row(drawn)
    moved = {*table.columns}.difference(table.key) if drawn.random() < 0.6 else {drawn.choice(table.columns)}
    exchanged = [
        {column: given[column] if column in moved else kept[column] for column in table.columns}
        for kept, given in ((one, other), (other, one))
    ]
    if exchanged in ([one, other], [other, one]):
        return None
    table.replace([one, other], exchanged)
    what = f"{moved.pop()} exchanged" if len(moved) == 1 else "exchanged"
    return f"{what} between {_named(table, one)} and {_named(table, other)}"


def _named(table: _Table, row: Mapping[str, Value]) -> str:
    """Return the key of a row, in words."""
    return f"{tuple(row[column] for column in table.key)}"


ALTERATIONS = {
    "columns altered": partial(alter, _alter_column),
    "types altered": partial(alter, alter_type),
    "rows deleted": partial(alter, _delete_rows),
    "rows copied": partial(alter, _copy_row),
    "rows exchanged": partial(alter, _exchange_rows),
}
