"""A connection to a store file, which sees before it writes that the path has become another file, or none."""

import os
import sqlite3
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from tertulia.state.errors import StorageError
from tertulia.state.text import one_line, path_argument
from tertulia.storage.sqlite.generation import advance

#: More than the steps in which file systems keep time.
_TICK_NS = 20_000_000

_lock = threading.Lock()

#: By device and number of a file that lost its path: the copy that this process has made of it.
_rescued: dict[tuple[int, int], Path] = {}


class ReplacedError(StorageError):
    """The store was moved, replaced or removed while it was written to; `rescued` is a copy with all of it, if any."""

    def __init__(self, message: str, rescued: Path | None) -> None:
        super().__init__(message)
        self.rescued = rescued


class StoreConnection(sqlite3.Connection):
    """A connection to a store, by `open_connection`; without a path, as in memory, it sees nothing."""

    _path: Path | None = None
    _file = (0, 0)
    #: How many names the file had when it was opened; one that it gets later does no harm to this process.
    _names = 1
    #: When the file last changed, at the last transaction that began; and at the last one with a new generation, `None`
    #: if the file may have changed since at what its file system takes for the same time.
    _changed: tuple[int, int] | None = None
    _advanced: tuple[int, int] | None = None
    _is_quiet = False

    def note_path(self, path: Path) -> None:
        """Note the file at a path as the one that is open here."""
        status = os.stat(path)
        self._path, self._file, self._names = path, (status.st_dev, status.st_ino), status.st_nlink
        with _lock:
            _rescued.pop(self._file, None)  # of a former file with this number

    def begin(self) -> None:
        """Begin a transaction that writes; with a new generation if it is the first, or a checkpoint was before it.

        Raises:
            ReplacedError: The path is another file; nothing was begun.
            StorageError: The file has several names; likewise.
        """
        self.check_names()
        # IMMEDIATE: a transaction that only reads at first could not wait for another writer later.
        try:
            self.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            self.check_path()
            raise
        if self._path is None:
            return
        try:
            self.check_path()
            if self._changed != self._advanced:
                advance(self)
        except BaseException:
            self.rollback()
            raise

    def commit(self) -> None:
        """Commit."""
        super().commit()
        if self._changed != self._advanced:
            self._advanced = self._changed if self._is_quiet else None

    def rollback(self) -> None:
        """Roll back."""
        super().rollback()
        self._changed = self._advanced

    def check_names(self) -> None:
        """Raise `StorageError` if the file is not to be written, as it has several names (hard links)."""
        if self._path is None or self._names < 2:
            return
        with suppress(OSError):
            self._names = os.stat(self._path).st_nlink
        if self._names > 1:
            raise StorageError(
                f"{self._path} has {self._names} names (hard links), and SQLite keeps a log for each, so writing would "
                "destroy the store; remove the other names, or make a copy: tertulia backup COPY --store "
                f"{path_argument(str(self._path))}"
            )

    def check_path(self) -> None:
        """Raise `ReplacedError` if the path is no longer the file that is open here."""
        if self._path is None:
            return
        try:
            status = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            raise self._replaced("was moved or removed") from None
        if (status.st_dev, status.st_ino) != self._file:
            raise self._replaced("was replaced by another file")
        self._changed = status.st_mtime_ns, status.st_size
        self._is_quiet = time.time_ns() - status.st_mtime_ns > _TICK_NS

    def _replaced(self, event: str) -> ReplacedError:
        assert self._path is not None
        self.rollback()
        with _lock:
            try:
                rescued = _rescued.get(self._file) or self._rescue(self._path)
            except (OSError, sqlite3.Error) as error:
                why = error.strerror if isinstance(error, OSError) else one_line(error)
                return ReplacedError(
                    f"{self._path} {event} while this process wrote to it, and what it held could not be saved ({why})",
                    None,
                )
            _rescued[self._file] = rescued
        target = path_argument(str(rescued))
        trials = f"{self._path}.shards"  # of an experiment that goes on
        merge = f", after tertulia merge {path_argument(trials)} --into {target}" if os.path.isdir(trials) else ""
        return ReplacedError(
            f"{self._path} {event} while this process wrote to it; all that was stored until then is in {rescued}: "
            f"go on with --store {target}{merge}",
            rescued,
        )

    def _rescue(self, path: Path) -> Path:
        """Copy all that is stored to a new file beside the path, or to the folder of temporary files."""
        folder = path.parent if os.access(path.parent, os.W_OK) else Path(tempfile.gettempdir())
        number = 0
        while True:
            number += 1
            copy = folder / f"{path.name}.rescued{'' if number == 1 else f'-{number}'}"
            try:
                copy_store_to(self, copy)
                return copy
            except FileExistsError:
                continue


def copy_store_to(source: sqlite3.Connection, copy: Path) -> None:
    """Copy a store as it is at this moment to a new file for its owner alone, which needs no log.

    It gets a generation of its own, so no log of the store belongs to it.

    Raises:
        FileExistsError: There is such a file.
    """
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as target:
            source.backup(target)
            target.execute("PRAGMA synchronous = FULL")
            advance(target)
    except BaseException:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{copy}{ending}").unlink(missing_ok=True)
        raise
