"""Values as SQLite holds them, and the checksum of a row. Text is data: half a surrogate pair is kept as bytes."""

import zlib
from collections.abc import Sequence

Value = str | int | float | None


def bound(value: Value) -> Value | bytes:
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


def read(value: Value | bytes) -> Value:
    """Return a value as it was before it was written."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def checksum(values: Sequence[Value]) -> int:
    """Return the CRC-32 of a row's values: any single flipped bit changes it."""
    plain = tuple(int(value) if isinstance(value, bool) else value for value in values)
    return zlib.crc32(repr(plain).encode())
