"""A private copy of a store file, which can be migrated and read without the file being touched."""

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from state.errors import NotFoundError, StorageError
from storage.faults import storage_faults
from storage.opening import refuse_companions, refuse_lost_log, refuse_stump

#: A store with what SQLite may keep beside it.
_FILES = ("", "-wal", "-journal")

#: A store that somebody has open, and that was not changed for so long, is not being written to. Longer than the steps
#: in which file systems keep time, so that a change after the first look is seen at the second.
_QUIET_NS = 2_000_000_000


def copy_store(path: Path, copy: Path) -> None:
    """Copy a store as it is at this moment, with what stands in its log; others may be writing to it.

    Nothing of it is executed or believed here, and no file appears beside it: it is copied byte by byte, or, where
    somebody is writing to it, page by page as SQLite sees it.

    Args:
        path: The file.
        copy: Where the copy is made; there must be none.

    Raises:
        NotFoundError: There is no such file.
        StorageError: It is none, is cut off, or can't be read.
    """
    if not os.path.exists(path):
        refuse_lost_log(path)
        raise NotFoundError(f"there is no store {path}")
    if not os.path.isfile(path):
        raise StorageError(f"{path} is not a file; name a store, or a folder with stores")
    if not path.stat().st_size:
        raise StorageError(f"{path} is empty: nothing was ever stored in it, or it was cut off; copy it again")
    refuse_stump(path)
    refuse_companions(os.path.realpath(path))
    with storage_faults(path), _file_faults(path):
        before = _changes(path)
        if not _is_in_use(path) or max(changed for changed, _ in before) < time.time_ns() - _QUIET_NS:
            for ending in _FILES:
                if os.path.exists(f"{path}{ending}"):
                    shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
            if _changes(path) == before:
                return
            for ending in _FILES:
                Path(f"{copy}{ending}").unlink(missing_ok=True)
        place = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(place, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)


@contextmanager
def _file_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = "there is no room for a copy where temporary files lie; free some space, or set TMPDIR"
            raise StorageError(f"{path} can't be read: {where}") from error
        raise StorageError(f"{path} can't be read ({error.strerror}); give yourself the permission") from error


def _changes(path: Path) -> list[tuple[int, int]]:
    """Return when the files of a store were changed last, and how long they are."""
    found = [os.stat(f"{path}{ending}") for ending in _FILES if os.path.exists(f"{path}{ending}")]
    return [(file.st_mtime_ns, file.st_size) for file in found]


def _is_in_use(path: Path) -> bool:
    """Return whether somebody has the store open, or was killed while they had: by the file that they share."""
    return os.path.exists(f"{path}-shm")
