"""Vectors of texts, in a file of their own: later processes need not embed the texts again.

The file is no part of any store, and may be deleted at any time; if it can't be read or written, nothing is kept.
"""

import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tertulia.storage.sqlite.library import Database

#: Vectors that are kept, the last ones: 130 MB at 384 dimensions.
MOST = 65_536
#: Seconds that another program's write is waited for; embedding again takes less.
_BUSY_TIMEOUT_S = 0.5

Vector = NDArray[np.float32]


class VectorFile:
    """Implements `state.kept_vectors.KeptVectors`. It holds hashes of texts, and no text."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()

    def find(self, embedder: str, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors that are kept of these texts."""
        found: dict[str, Vector] = {}
        with self._lock, suppress(OSError, sqlite3.Error, ValueError):
            if (database := self._database) is not None:
                sql = "SELECT vector FROM vectors WHERE key = ?"
                for text in texts:
                    for (vector,) in database.execute(sql, [_key(embedder, text)]):
                        found[text] = np.frombuffer(vector, np.float32)
        return found

    def add(self, embedder: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of texts; one that is kept already stays as it is."""
        rows = [{"key": _key(embedder, text), "vector": vector.tobytes()} for text, vector in vectors.items()]
        with self._lock, suppress(OSError, sqlite3.Error):
            if (database := self._database) is not None:
                database.table("vectors").insert_all(rows, ignore=True)

    @cached_property
    def _database(self) -> "Database | None":
        """The file, without the oldest of too many vectors; `None` if it can't be used."""
        from tertulia.storage.sqlite.library import Database

        with suppress(OSError, sqlite3.Error):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # For its owner alone; SQLite gives the files beside it the same permissions.
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(self._path, timeout=_BUSY_TIMEOUT_S, check_same_thread=False)
            database = Database(connection, execute_plugins=False)
            database.enable_wal()
            table = database.table("vectors")
            table.create({"id": int, "key": bytes, "vector": bytes}, pk="id", if_not_exists=True)
            table.create_index(["key"], unique=True, if_not_exists=True)
            table.delete_where("id <= (SELECT max(id) FROM vectors) - ?", [MOST])
            return database
        return None


def _key(embedder: str, text: str) -> bytes:
    return blake2b(f"{embedder}\0{text}".encode(errors="surrogatepass"), digest_size=16).digest()
