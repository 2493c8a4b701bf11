"""Rows of the tables that have checksums; altered rows are refused when read."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from tertulia.state.errors import StorageError
from tertulia.storage.contract import Database, Readable, Written
from tertulia.storage.faults import UnavailableError, damaged
from tertulia.storage.schema import CHECKSUM, TABLES
from tertulia.storage.values import DamagedValueError, Value, checksum, identifier, unlike_their_sums

#: The columns that a checksum covers, in its order.
COLUMNS: Mapping[str, tuple[str, ...]] = {table.name: table.checked for table in TABLES.values() if table.has_checksum}


@dataclass(frozen=True)
class Rows:
    """Verified rows of a table as tuples, for functions that handle thousands at once.

    Attributes:
        names: The columns that a checksum covers, in its order.
        values: For each row, a value for every one of them, and the checksum.
    """

    names: tuple[str, ...]
    values: Sequence[tuple[Any, ...]]

    def column(self, name: str) -> list[Any]:
        """Return the values of a column."""
        return [*map(itemgetter(self.names.index(name)), self.values)]

    def columns(self, *names: str) -> list[tuple[Any, ...]]:
        """Return the values of two or more columns, row by row."""
        return [*map(itemgetter(*map(self.names.index, names)), self.values)]

    def with_changes(self, name: str, changes: Mapping[Any, Any]) -> "Rows":
        """Return the rows with other values in a column, by the values there, and with their checksums."""
        place = self.names.index(name)
        bare = [(*row[:place], changes[row[place]], *row[place + 1 : -1]) for row in self.values]
        return Rows(self.names, [(*row, checksum(row)) for row in bare])


class Table:
    """One table of a store file."""

    def __init__(self, file: Database, name: str) -> None:
        self._file, self._name, self._columns = file, name, COLUMNS[name]

    def insert(self, row: Mapping[str, Value], replace: bool = False) -> None:
        """Insert a row.

        A prepared statement: a run writes row after row, and sqlite-utils' `insert` takes six times as long for each.

        Args:
            row: A value for every column.
            replace: Whether it takes the place of one with its key; if not, that one stays.
        """
        self._insert(row, replace)

    def insert_new(self, row: Mapping[str, Value]) -> bool:
        """Insert a row unless there is one with its key; return whether it was inserted, which a server is asked."""
        return self._insert(row, replace=False).rowcount > 0

    def _insert(self, row: Mapping[str, Value], replace: bool) -> Written:
        values = self._values(row)
        sql = self._file.dialect.insert(self._name, (*self._columns, CHECKSUM), replace)
        return self._file.write(sql, *values, checksum(values))

    def insert_all(self, rows: Iterable[Mapping[str, Value]], replace: bool = False) -> None:
        """Insert rows; inside a transaction.

        Args:
            rows: Each with a value for every column.
            replace: Whether they take the place of those with their keys; if not, there must be none.
        """
        listed = map(self._values, rows)
        self._write([(*values, checksum(values)) for values in listed], replace)

    def update(self, row: Mapping[str, Value], key: str, **changes: Value) -> None:
        """Change columns of a selected row, which `key` tells from all others."""
        columns = ", ".join(f"{column} = ?" for column in (*changes, CHECKSUM))
        sql = f"UPDATE {self._name} SET {columns} WHERE {key} = ?"
        renewed = checksum(self._values({**row, **changes}))
        self._file.write(sql, *changes.values(), renewed, row[key])

    def _values(self, row: Mapping[str, Value]) -> list[Value]:
        """Return the values of a row, in the order of its columns."""
        values = [row[column] for column in self._columns]
        if not (are_of_kinds(self._name, values) and all(map(_fits, values))):
            held = TABLES[self._name].column
            wrong = next(
                f"{name}={value!r:.60}"
                for name, value in zip(self._columns, values, strict=True)
                if not (held(name).holds(value) and _fits(value))
            )
            raise StorageError(f"{self._file.path} can't hold {wrong} in {self._name}; nothing of it was stored")
        return values

    def select(self, rest: str, *values: Value, also: str = "") -> list[dict[str, Any]]:
        """Return rows, each by column name.

        Args:
            rest: SQL that follows `FROM` and the table's name.
            also: More columns, of tables that are joined.

        Raises:
            StorageError: A row does not match its checksum.
        """
        names = ", ".join(f"{self._name}.{column}" for column in (*self._columns, CHECKSUM))
        sql = f"SELECT {names}{', ' if also else ''}{also} FROM {self._name} {rest}"
        rows = self._file.rows(sql, *values, of=self._name)
        held = [*map(itemgetter(*self._columns), rows)]
        sums = [row.pop(CHECKSUM) for row in rows]
        sum_of = zlib.crc32  # here, as a call for each row takes as long as its sum
        for values_of, stored in zip(held, sums, strict=True):
            if stored != sum_of(repr(values_of).encode()) and stored != checksum(values_of):
                raise damaged(self._file.path, f"a row of {self._name} does not match its checksum")
        return rows

    def readable(self, order: str, name: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Return all rows that read, in an order, and why the others do not, by their names.

        Args:
            order: SQL that follows `ORDER BY`.
            name: The column that names a row.

        Raises:
            UnavailableError: The database can't be read now.
        """
        refused: dict[str, str] = {}

        def between(first: int, count: int) -> list[dict[str, Any]]:
            try:
                return self.select(f"ORDER BY {order} LIMIT ? OFFSET ?", count, first)
            except UnavailableError:
                raise
            except StorageError as error:
                if count > 1:
                    half = count // 2
                    return between(first, half) + between(first + half, count - half)
                refused[self._name_at(order, name, first)] = str(error)
                return []

        ((size,),) = self._file.tuples(f"SELECT count(*) AS size FROM {self._name}")
        return between(0, size), refused

    def _name_at(self, order: str, name: str, place: int) -> str:
        """Return the value of a column in the row at a place of an order, or the place if that is no id."""
        with suppress(StorageError):
            sql = f"SELECT {name} AS name FROM {self._name} ORDER BY {order} LIMIT 1 OFFSET ?"
            for (value,) in self._file.tuples(sql, place):
                with suppress(DamagedValueError):
                    return str(identifier(value))
        return f"row {place + 1} of {self._name}"

    def insert_tuples(self, rows: Rows) -> None:
        """Insert rows that were selected, from this table of another store; inside a transaction."""
        self._write(rows.values, replace=False)

    def _write(self, rows: Sequence[tuple[Value, ...]], replace: bool) -> None:
        columns = (*self._columns, CHECKSUM)
        anew = f"INSERT INTO {self._name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        self._file.write_all(self._file.dialect.insert(self._name, columns, replace) if replace else anew, rows)


def select_tuples(file: Readable, table: str, rest: str, *values: Value) -> Rows:
    """Return rows of a table as tuples, verified as `Table.select` does.

    Args:
        rest: SQL that follows `FROM` and the table's name.

    Raises:
        StorageError: A row does not match its checksum.
    """
    columns, place = COLUMNS[table], f"{file.prefix}{table}"
    names = ", ".join(f"{place}.{column}" for column in (*columns, CHECKSUM))
    rows = file.tuples(f"SELECT {names} FROM {place} {rest}", *values, of=table)
    if any(row[-1] != checksum(row[:-1]) for row in unlike_their_sums(rows)):
        raise damaged(file.path, f"a row of {table} does not match its checksum")
    return Rows(columns, rows)


def _fits(value: Value) -> bool:
    return type(value) is not int or value.bit_length() < 64


#: The types of rows that were found acceptable, by table: few, so most rows are one look-up.
_ACCEPTED: dict[str, set[tuple[type, ...]]] = {name: set() for name in COLUMNS}


def are_of_kinds(table: str, values: Sequence[Value]) -> bool:
    """Return whether each value is of its column's kind: SQLite puts anything into any column."""
    types = tuple(map(type, values))
    if types not in _ACCEPTED[table]:
        columns = (TABLES[table].column(name) for name in COLUMNS[table])
        if not all(column.holds(value) for column, value in zip(columns, values, strict=True)):
            return False
        _ACCEPTED[table].add(types)
    return True
