"""The generation of a store: a random value on a page of its own, by which a write-ahead log is told from another.

1. The first transaction of a connection, and each one after a checkpoint, writes a new value beside the one before it.
   So the first transaction of a log names the value in the file at that moment.
2. A log belongs to a file with that value, or with a later one of the same log, which a checkpoint has moved over.

The table is made first, so that it lies on the second page, after VACUUM too. The page is read from the bytes of the
file: SQLite would show it as it is with the log.
"""

import sqlite3
from typing import NamedTuple

#: Made before any other table; only SQLite's stores have it.
TABLE = "CREATE TABLE generation (id INTEGER PRIMARY KEY, previous BLOB, current BLOB)"

#: The number of its page, counted from 1.
PAGE = 2

_FIRST = "INSERT INTO generation (id, previous, current) VALUES (1, randomblob(16), randomblob(16))"
_NEXT = "UPDATE generation SET previous = current, current = randomblob(16) WHERE id = 1"

#: A leaf of a table, and its cell up to the values: 36 bytes of payload in row 1, a header of 4 bytes, an id that is
#: the row's, two blobs of 16 bytes (https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1).
_LEAF, _CELL, _VALUE_BYTES = 0x0D, bytes((36, 1, 4, 0, 44, 44)), 16


class Generation(NamedTuple):
    """The value of a store, and the one before it."""

    previous: bytes
    current: bytes


def make_generation(connection: sqlite3.Connection) -> None:
    """Make the table with its row; inside a transaction, before any other table."""
    connection.execute(TABLE)
    connection.execute(_FIRST)


def advance(connection: sqlite3.Connection) -> None:
    """Write a new value; inside a transaction."""
    connection.execute(_NEXT)


def generation_on(page: bytes) -> Generation | None:
    """Return the generation on the bytes of a page; `None` if something else lies there."""
    if page[:1] != bytes((_LEAF,)) or int.from_bytes(page[3:5], "big") != 1:
        return None
    at = int.from_bytes(page[8:10], "big")
    values = at + len(_CELL)
    if page[at:values] != _CELL or len(page) < values + 2 * _VALUE_BYTES:
        return None
    return Generation(page[values : values + _VALUE_BYTES], page[values + _VALUE_BYTES : values + 2 * _VALUE_BYTES])
