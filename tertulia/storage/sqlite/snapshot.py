"""A store file as bytes, while it may be written to."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tertulia.storage.faults import storage_faults


def snapshot_of(path: Path) -> bytes:
    """Return a store as it is now, as the bytes of a file that needs no log; `StorageError` if it can't be read."""
    with (
        storage_faults(path),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(":memory:")) as copy,
    ):
        source.backup(copy)
        return copy.serialize()
