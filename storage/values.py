"""Values as SQLite holds them, and the checksum of a row. Text is data: half a surrogate pair is kept as bytes.

So bytes in a column of text are text; those of the columns that are declared to hold bytes are read as they are.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from state.store import AnyRecord

Value = str | int | float | bytes | None


def compared(value: Value) -> Value:
    """Return a value as a query compares with it: an integer beyond those of SQLite as the nearest of them."""
    return max(-(2**63), min(value, 2**63 - 1)) if isinstance(value, int) else bound(value)


def bound(value: Value) -> Value:
    """Return a value as it is written."""
    if isinstance(value, float) and value != value:
        raise ValueError("NaN can't be stored: SQLite would make it no value at all")
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def read(value: Value) -> Value:
    """Return the value of a column that holds no bytes as it was before it was written."""
    return decoded(value) if isinstance(value, bytes) else value


def decoded(text: bytes) -> str:
    """Return a text as SQLite gives it out; its JSON functions make half a surrogate pair of an escape."""
    return text.decode("utf-8", "surrogatepass")


def json_text(value: object) -> str:
    """Return JSON that SQLite's functions read too: half a surrogate pair is escaped.

    Raises:
        ValueError, TypeError: The value holds what JSON can't, such as NaN.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if isinstance(bound(text), bytes):
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def plain_json(value: object) -> str:
    """Return JSON in which half a surrogate pair stands as it is, as it may where SQLite does not search."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def record_of(kind: type[AnyRecord], row: Mapping[str, Any], **fields: Any) -> AnyRecord:
    """Return the record of a row.

    Args:
        kind: Its class.
        row: The row; columns that are no fields are passed over.
        fields: The fields that no column holds as they are.
    """
    return kind(**{name: row[name] for name in kind.model_fields if name in row} | fields)


def searchable(text: str) -> str:
    """Return a text without what SQLite's full-text index can't hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def checksum(values: Sequence[Value]) -> int:
    """Return the CRC-32 of a row's values: any single flipped bit changes it."""
    # As SQLite gives them back: 1 for true, and zero without a sign.
    plain = tuple(value + 0 if isinstance(value, (bool, float)) else value for value in values)
    return zlib.crc32(repr(plain).encode())
