"""A private copy of a store file, which can be read without the file being touched."""

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tertulia.state.errors import NotFoundError, StorageError
from tertulia.storage.faults import damaged, storage_faults
from tertulia.storage.sqlite.belonging import belongs
from tertulia.storage.sqlite.copy_folder import check_room, copied, no_room
from tertulia.storage.sqlite.in_use import readable
from tertulia.storage.sqlite.opening import refuse_companions, refuse_lost_log, refuse_stump

_logger = logging.getLogger("tertulia")

#: A store with the files that SQLite may keep beside it.
_FILES = ("", "-wal", "-journal")

#: A file of which less than this share is on the disk is no store: SQLite leaves no holes, and no disk compresses so.
_LEAST_STORED = 1 / 64

#: The header of a database file: its first bytes, and the places of page size, change counter, number of pages and the
#: change counter of that number (https://www.sqlite.org/fileformat2.html, section 1.3).
_MAGIC, _HEADER_BYTES = b"SQLite format 3\0", 100
_PAGE_SIZE, _CHANGES, _PAGES, _COUNTED_AT = slice(16, 18), slice(24, 28), slice(28, 32), slice(92, 96)

#: A store that is open in a process, and that was not changed for so long, is not being written to. Longer than the
#: steps in which file systems keep time, so that a change after the first look is seen at the second.
_QUIET_NS = 2_000_000_000


def copy_store(path: Path, copy: Path, folder: Path | None = None) -> None:
    """Copy a store as it is at this moment, with its log; others may be writing to it.

    Nothing of it is executed or believed here, and no file appears beside it: it is copied byte by byte, or, if
    another process is writing to it, page by page as SQLite sees it.

    Args:
        copy: The path of the copy; there must be no such file.
        folder: The folder of which the user is told that it has no room; without it, that of temporary files.

    Raises:
        NotFoundError: There is no such file.
        StorageError: It is no store, is cut off, too large, or can't be read.
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
    with storage_faults(path), _file_faults(path, folder):
        _check_size(path)
        files: tuple[str, ...] = _FILES
        if not belongs(Path(os.path.realpath(path))):
            files = tuple(ending for ending in _FILES if ending != "-wal")
            _logger.warning("note: %s-wal does not belong to %s, which is read without it", path, path.name)
        before = _changes(path)
        check_room(sum(size for _, size in before), str(path), folder)
        is_open = os.path.exists(f"{path}-shm")  # or was open in a process that was killed
        if files != _FILES or not is_open or max(changed for changed, _ in before) < time.time_ns() - _QUIET_NS:
            for ending in files:
                if os.path.exists(f"{path}{ending}"):
                    copied(Path(f"{path}{ending}"), Path(f"{copy}{ending}"))
            if _changes(path) == before or files != _FILES:
                return
            for ending in _FILES:
                Path(f"{copy}{ending}").unlink(missing_ok=True)
        place = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(place, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)


def _check_size(path: Path) -> None:
    """Refuse a file that is larger than its contents: a store is read only after its copy, which may take minutes."""
    status = path.stat()
    with readable(path) as file:
        header = os.pread(file, _HEADER_BYTES, 0)
    if not header.startswith(_MAGIC):
        return  # the error comes with opening the copy, unless the file is too large for one
    page, pages = int.from_bytes(header[_PAGE_SIZE], "big"), int.from_bytes(header[_PAGES], "big")
    told = pages * (65_536 if page == 1 else page)
    has_log = any(os.path.exists(f"{path}{ending}") and os.path.getsize(f"{path}{ending}") for ending in _FILES[1:])
    if told < status.st_size and header[_CHANGES] == header[_COUNTED_AT] and not has_log:
        raise damaged(path, f"it has {status.st_size:,} bytes, of which its header knows {told:,}")
    stored = status.st_blocks * 512
    if stored and stored < status.st_size * _LEAST_STORED:  # some file systems do not say
        raise damaged(path, f"of its {status.st_size:,} bytes only {stored:,} were ever written")


@contextmanager
def _file_faults(path: Path, folder: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(no_room(str(path), folder)) from error
        raise StorageError(f"{path} can't be read ({error.strerror}); give yourself the permission") from error


def _changes(path: Path) -> list[tuple[int, int]]:
    found = [os.stat(f"{path}{ending}") for ending in _FILES if os.path.exists(f"{path}{ending}")]
    return [(file.st_mtime_ns, file.st_size) for file in found]
