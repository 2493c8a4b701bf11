"""Stores of rehearsed conversations that belong together, as colleagues or workers leave them, and how they compare."""

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from support.store_content import content, differences

from tertulia.storage.merging.stores import Merged, merge
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table


def merged(into: Path, *sources: Path) -> list[Merged]:
    """Merge stores into another, one after the other."""
    found = []
    for source in sources:
        with SqlStore.open(source) as given, SqlStore.open(into, create=True) as target:
            found.append(merge(given, target))
    return found


def assert_same(expected: Path, found: Path) -> None:
    """Assert that two stores hold the same, whatever their rows are called by."""
    assert not differences(content(expected, is_in_order=False), content(found, is_in_order=False))


def copied(store: Path, to: Path) -> Path:
    """Copy a store that nobody has open."""
    return Path(shutil.copyfile(store, to))


def execute(store: Path, *statements: tuple[str, Sequence[Any]]) -> None:
    """Change a store behind its back."""
    with closing(sqlite3.connect(store)) as connection, connection:
        for sql, values in statements:
            connection.execute(sql, values)


def forged(path: Path, table: str, which: str, **changes: Any) -> Path:
    """Change rows and renew their checksums, as a stranger would."""
    with SqlStore.open(path) as store:
        rows = Table(store.file, table).select(which)
        store.file.write(f"DELETE FROM {table} {which}")
        for row in rows:
            Table(store.file, table).insert(row | changes)
    return path
