"""Values as SQLite holds them, and the checksum of a row. Text is data: half a surrogate pair is kept as bytes.

So bytes in a column of text are text; those of the columns that are declared to hold bytes are read as they are.
"""

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic_core import from_json

from tertulia.state.errors import StorageError
from tertulia.state.store import AnyRecord
from tertulia.state.text import first_line
from tertulia.storage.schema import ALL_TABLES, BINARY, IDENTIFIERS, TABLES, TYPES, Kind

Value = str | int | float | bytes | None

#: No value that is read or written is larger. The largest that Tertulia writes are texts of some hundred kilobytes.
LARGEST_BYTES = 64 * 1024 * 1024

#: Nothing that is packed is larger when it is unpacked: three megabytes of a stranger's could become six gigabytes. The
#: largest are traces, of half a megabyte in a meeting of sixty.
LARGEST_UNPACKED_BYTES = 32 * 1024 * 1024

#: Ids of runs and simulations. They stand in the names of lock files, in commands to copy, and in messages.
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


class DamagedValueError(ValueError):
    """A stored value can't be read; the message says why, in a line."""


def compared(value: Value) -> Value:
    """Return a value as a query compares with it: an integer of more than 64 bits as the nearest that has them."""
    return max(-(2**63), min(value, 2**63 - 1)) if isinstance(value, int) else value


def bound(value: Value) -> Value:
    """Return a value as it is written."""
    if not isinstance(value, str):
        return bound_number(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def bound_number(value: Value) -> Value:
    """Return a value that is no text as it is; `ValueError` for NaN."""
    if isinstance(value, float) and value != value:
        raise ValueError("NaN can't be stored: SQLite would make it no value at all")
    return value


def read(value: Value) -> Value:
    """Return the value of a column that holds no bytes as it was before it was written.

    Raises:
        ValueError: It is bytes and no text, or bytes of a text that would not have been written as bytes.
    """
    if not isinstance(value, bytes):
        return value
    text = decoded(value)
    if bound(text) != value:
        raise ValueError("bytes in the place of a text")
    return text


def decoded(text: bytes) -> str:
    """Return a text as SQLite gives it out; its JSON functions make half a surrogate pair of an escape."""
    return text.decode("utf-8", "surrogatepass")


def decoded_if_text(text: bytes) -> str | bytes:
    """Return a text as SQLite gives it out; as its bytes if it is none."""
    try:
        return decoded(text)
    except UnicodeDecodeError:
        return text


def json_text(value: object) -> str:
    """Return JSON that SQLite reads, surrogates escaped; `ValueError` or `TypeError` for values that are no JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if isinstance(bound(text), bytes):
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def plain_json(value: object) -> str:
    """Return JSON with unescaped halves of surrogate pairs, for columns that SQLite does not search."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def record_of(kind: type[AnyRecord], row: Mapping[str, Any], **fields: Any) -> AnyRecord:
    """Return the record of a row.

    Args:
        row: The row; columns that are no fields are passed over.
        fields: The fields that no column holds as they are.
    """
    return kind(**{name: row[name] for name in _fields_of(kind) if name in row} | fields)


def records_of(kind: type[AnyRecord], rows: Sequence[Mapping[str, Any]]) -> list[AnyRecord]:
    """Return the records of rows, whose further columns are passed over; faster than `record_of` for each."""
    fields = _fields_of(kind)
    records: list[AnyRecord] = listed(kind).validate_python([{name: row[name] for name in fields} for row in rows])
    return records


@cache
def listed(kind: type[AnyRecord]) -> TypeAdapter[Any]:
    """Return an adapter that reads and writes many records of a kind at once."""
    return TypeAdapter(list[kind])  # type: ignore[valid-type]


@cache
def _fields_of(kind: type[AnyRecord]) -> tuple[str, ...]:
    return tuple(kind.model_fields)


def parsed(text: str | bytes) -> Any:
    """Return the value of a stored JSON text.

    Raises:
        DamagedValueError: It is no JSON, or only a stranger would write it: nested thousands of levels deep, or a
            number of thousands of digits.
    """
    try:
        return from_json(text)  # half the time of `json.loads`, which reads all that this does, as the same
    except (ValueError, TypeError):  # it is no JSON, or has half a surrogate pair or hundreds of levels
        pass
    try:
        return json.loads(text)
    except RecursionError:
        raise DamagedValueError("JSON is nested too deeply") from None
    except (ValueError, TypeError) as error:
        raise DamagedValueError(first_line(error)) from error


def packed(text: str) -> bytes:
    """Return a text compressed; `StorageError` if it is larger than `unpacked` accepts."""
    plain = text.encode()
    if len(plain) > LARGEST_UNPACKED_BYTES:
        raise StorageError(f"a record of {len(plain) / 1e6:.0f} MB is too large to be stored; let fewer take part")
    return zlib.compress(plain)


def unpacked(value: bytes) -> str:
    """Return a packed text; `DamagedValueError` if it is damaged, or larger than anything that Tertulia writes."""
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(value, LARGEST_UNPACKED_BYTES)
        if unpacking.unconsumed_tail:
            raise DamagedValueError(f"it holds more than {LARGEST_UNPACKED_BYTES >> 20} MB")
        if not unpacking.eof:
            raise DamagedValueError("it is cut off")
        return plain.decode()
    except (zlib.error, TypeError, UnicodeDecodeError) as error:
        raise DamagedValueError(first_line(error)) from error


@lru_cache(maxsize=4096)
def identifier(value: Value) -> Value:
    """Return the id of a run or a simulation, or NULL, as it is; `DamagedValueError` for a value that is no id."""
    if value is None or (isinstance(value, str) and _ID.fullmatch(value)):
        return value
    raise DamagedValueError(f"{value!a:.60} is no id")


def searchable(text: str) -> str:
    """Return a text without the signs that SQLite's full-text index can't hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def checksum(values: Sequence[Value]) -> int:
    """Return the CRC-32 of a row's values: any single flipped bit changes it."""
    # As SQLite gives them back: 1 for true, and zero without a sign.
    return zlib.crc32(repr(tuple(v + 0 if isinstance(v, (bool, float)) else v for v in values)).encode())


def unlike_their_sums(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows, each with its checksum at its end, that differ from it, as a database gives them out."""
    sum_of = zlib.crc32  # here, as a call for each row takes a quarter of the time
    return [row for row in rows if sum_of(repr(row[:-1]).encode()) != row[-1]]


# --- the values of a query -----------------------------------------------------------------------------------------


class Query(NamedTuple):
    """A query whose results are read.

    Attributes:
        sql: Its SQL.
        names: The names of its results.
        of: The table of which results with its columns' names are; `None`: any of them may be NULL, as in a join.
    """

    sql: str
    names: Sequence[str]
    of: str | None = None


def read_rows(
    query: Query, rows: Sequence[tuple[Any, ...]], reader: Callable[[Any], Value], read_type: type
) -> Sequence[tuple[Any, ...]]:
    """Return the rows of a query with their values as they were before they were written.

    A result that is named like a declared column holds a value of its kind. SQLite puts anything into any column; a
    STRICT table would refuse bytes as text, which halves of surrogate pairs are.

    Args:
        query: The query.
        rows: Its rows.
        reader: Reads values of `read_type`, except in columns of bytes.

    Raises:
        DamagedValueError: A value is of another kind; the message names table, column and row.
    """
    columns: list[Sequence[Any]] = [*zip(*rows, strict=True)]
    expected = _expected(query.of)
    is_changed = False
    for place, column in enumerate(columns):
        name, types = query.names[place], {*map(type, column)}
        accepted, check = expected.get(name, _ANYTHING)
        try:
            if read_type in types and name not in BINARY:
                columns[place] = column = [*map(reader, column)]
                types, is_changed = {*map(type, column)}, True
            if accepted is not None and not types <= accepted:
                raise DamagedValueError
            if check is not None:
                for value in {*column} - _NOTHING:
                    check(value)
        except ValueError:
            if len(rows) > 1:  # the first of them
                for row in rows:
                    read_rows(query, [row], reader, read_type)
            raise _wrong_value(query, name, rows[0]) from None
    return [*zip(*columns, strict=True)] if is_changed else rows


def _wrong_value(query: Query, name: str, row: Sequence[Any]) -> DamagedValueError:
    """Return the error of a row that has a wrong value in a column."""
    tables = (table for table, schema in ALL_TABLES.items() if any(column.name == name for column in schema.columns))
    table = query.of or next((table for table in tables if re.search(rf"\b{table}\b", query.sql)), "a query")
    keys = {"run", *ALL_TABLES[table].key, *ALL_TABLES[table].unique} if table in ALL_TABLES else {"run"}
    values = dict(zip(query.names, row, strict=True))
    key = ", ".join(f"{column}={values[column]!a:.40}" for column in values if column in keys and column != name)
    return DamagedValueError(f"{name} of {table} holds {values[name]!a:.40}{f' in the row {key}' if key else ''}")


#: By kind, a check of values beyond their type.
_CHECKS: Mapping[Kind, Callable[[Any], object]] = {"moment": datetime.fromisoformat, "integer": int}

#: Results that are named otherwise than a column, or like one and hold something else.
_RESULTS: Mapping[str, Kind] = {
    **dict.fromkeys(("traced", "length", "found", "row", "size", "own"), "count"),
    **dict.fromkeys(("candidates", "steps", "calls", "parts", "unit_scores"), "count"),  # how many
    **{"replies": "count", "id": "text"},  # of a view, how many; of a unit
}

#: The types that a result may have, `None` for any, and a check of its values.
_Expected = tuple[frozenset[type] | None, Callable[[Any], object] | None]

_ANYTHING: _Expected = (None, None)
_NOTHING = frozenset({None})


@cache
def _expected(table: str | None) -> Mapping[str, _Expected]:
    """Return the values that results may have, by their names."""
    if table is not None:
        own = {
            column.name: _expected_of(column.name, {column.kind}, column.nullable) for column in TABLES[table].columns
        }
        return {**_expected(None), **own}
    kinds: dict[str, set[Kind]] = {name: {kind} for name, kind in _RESULTS.items()}
    for schema in ALL_TABLES.values():
        for column in schema.columns:
            kinds.setdefault(column.name, set()).add(column.kind)
    return {name: _expected_of(name, of_name, True) for name, of_name in kinds.items()}


def _expected_of(name: str, kinds: Collection[Kind], nullable: bool) -> _Expected:
    types = frozenset(kind for given in kinds for kind in TYPES[given]) | ({type(None)} if nullable else set())
    check = identifier if name in IDENTIFIERS else _CHECKS.get(min(kinds)) if len(kinds) == 1 else None
    return types, check
