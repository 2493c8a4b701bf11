"""Whether the log beside a store belongs to it; asked before SQLite opens the store, and so applies the log.

A store that was replaced by a backup lies beside the log of another one, which SQLite would write into it for good. The
generation (`generation.py`) and the bytes of the pages tell them apart. Without that evidence the log is
tried on a private copy. A log that does not belong gets another name; it is neither applied nor deleted.
"""

import logging
import os
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tertulia.state.errors import StorageError
from tertulia.storage.faults import NO_STORE, damaged
from tertulia.storage.sqlite.copy_folder import check_room, copied, folder_of_copy
from tertulia.storage.sqlite.generation import PAGE, generation_on
from tertulia.storage.sqlite.in_use import readable, user_of, user_of_log
from tertulia.storage.sqlite.log_frames import LogFrames, read_log
from tertulia.storage.sqlite.versions import check_version

#: What the evidence says; `foreign_unless_needed`: the log is a store's own only if the file alone is not whole.
Verdict = Literal["own", "foreign", "foreign_unless_needed", "own_if_whole"]

_MAGIC, _HEADER_BYTES = b"SQLite format 3\0", 100

#: Looks at a log and a store that other processes may be changing, and seconds between them.
_LOOKS, _BETWEEN_S = 5, 0.02

_SET_ASIDE = (
    "note: %s does not belong to %s, so nothing of it was applied; it is now %s, and can be deleted if the store is as "
    "expected"
)

_logger = logging.getLogger("tertulia")


def check_log(path: Path) -> None:
    """Give a log another name if it does not belong to the store beside it.

    Args:
        path: The store, without links.

    Raises:
        StorageError: It can't get one, the pair is damaged, or the store is no store of this version.
    """
    if not belongs(path):
        set_aside(path)


def belongs(path: Path) -> bool:
    """Return whether SQLite may open a store with the log that lies beside it, if any.

    Raises:
        StorageError: Neither the store nor the two together are whole, or it is no store of this version.
    """
    log = Path(f"{path}-wal")
    for _ in range(_LOOKS):
        before = _signs(path)
        if before is None or user_of(path) is not None:  # no log, or its user has looked
            return True
        if user_of_log(path) is not None:
            if _is_elsewhere(path):
                return False
        else:
            try:
                if _is_own(path, log):
                    return True
            except FileNotFoundError:  # a process has just closed the store
                continue
            except OSError:  # it can't be read, as SQLite will say
                return True
            except StorageError:
                if _is_unused(path, before):
                    raise
            if _is_unused(path, before):
                return False
        time.sleep(_BETWEEN_S)
    return True


def _is_unused(path: Path, before: tuple[tuple[int, int, int], ...]) -> bool:
    """Return whether a store and its log are as they were before, and no process has one of them open."""
    return _signs(path) == before and user_of(path) is None and user_of_log(path) is None


def _is_elsewhere(path: Path) -> bool:
    """Return whether a process uses the log of a store, but not the file itself, at several looks.

    It opens a store before the log, and closes it after the log.
    """
    for _ in range(_LOOKS):
        if user_of_log(path) is None or user_of(path) is not None or user_of_log(path) is None:
            return False
        time.sleep(_BETWEEN_S)
    return True


def _signs(path: Path) -> tuple[tuple[int, int, int], ...] | None:
    """Return what changes with a store or its log; `None` without a log."""
    try:
        found = [os.stat(f"{path}{ending}") for ending in ("", "-wal")]
    except FileNotFoundError:
        return None
    return tuple((file.st_ino, file.st_size, file.st_mtime_ns) for file in found) if found[1].st_size else None


def _is_own(path: Path, log: Path) -> bool:
    """Return whether the log of a store that no process uses belongs to it."""
    if not os.path.getsize(path):
        return False  # SQLite would delete the log
    frames = read_log(log)
    with readable(path) as file:
        header = os.pread(file, _HEADER_BYTES, 0)
        if not frames.is_log:
            return False
        if not frames.frames:
            return True  # nothing in it would be applied
        verdict = _verdict(_File(path, file, header), frames)
    if verdict in ("own", "foreign"):
        return verdict == "own"
    return _is_own_by_trial(path, log, verdict)


@dataclass(frozen=True)
class _File:
    path: Path
    descriptor: int
    header: bytes

    @property
    def page_size(self) -> int:
        size = int.from_bytes(self.header[16:18], "big")
        return 65_536 if size == 1 else size

    def page(self, number: int) -> bytes:
        return os.pread(self.descriptor, self.page_size, (number - 1) * self.page_size)

    def integer(self, at: int) -> int:
        return int.from_bytes(self.header[at : at + 4], "big")


def _verdict(file: _File, log: LogFrames) -> Verdict:
    if not file.header.startswith(_MAGIC):
        raise StorageError(NO_STORE.format(path=file.path))
    check_version(str(file.path), True, file.integer(68), file.integer(60))
    if log.page_size != file.page_size:
        return "foreign"
    known, now = log.generations, generation_on(file.page(PAGE))
    if not known:
        return "own_if_whole"  # another program's, or one transaction of ours in a thousand million
    if now is None:
        return "foreign_unless_needed"
    if now.current == known[0][1].previous:  # nothing was moved into the file, but perhaps the first page
        return "own" if _has_first_page(file, log) else "foreign_unless_needed"
    moved = [number for number, generation in known if generation.current == now.current]
    return _verdict_by_pages(file, log, moved[0]) if moved else "foreign"


def _has_first_page(file: _File, log: LogFrames) -> bool:
    """Return whether the first page is as before the log, or as one in it: it counts its changes."""
    if log.first_page is None:
        return True
    first = int.from_bytes(log.first_page[24:28], "big")
    return file.integer(24) in (first, first - 1) or file.page(1) in log.pages(log.frames[1])


def _verdict_by_pages(file: _File, log: LogFrames, since: int) -> Verdict:
    """Judge a file into which pages of the log were moved: all, or those of a checkpoint that did not come to its end.

    A checkpoint moves pages in the order of their numbers. So pages that are not in the log are older, with higher
    numbers than those that were moved; or they are newer, and the log is no longer all that it was.

    Args:
        since: The number of the frame with the file's generation: earlier ones were moved before.
    """
    unknown, moved = 0, 0
    for page, numbers in sorted(log.frames.items()):
        if file.page(page) not in log.pages(numbers[::-1]):
            unknown = unknown or page
        elif unknown and numbers[-1] >= since:
            moved += 1
    if file.integer(28) > log.size or (unknown == 1 and not _has_first_page(file, log)):
        return "foreign_unless_needed"
    if not unknown:
        return "own"
    # A page that was written without a change looks as if it had been moved.
    return "foreign_unless_needed" if moved > (not log.is_cut) else "own_if_whole"


def _is_own_by_trial(path: Path, log: Path, verdict: Verdict) -> bool:
    """Apply the log to a private copy, and see whether that, or the file alone, is whole."""
    check_room(path.stat().st_size + log.stat().st_size, str(path))
    with folder_of_copy() as folder:
        alone = copied(path, folder / "alone.db")
        is_whole_alone = is_whole(alone)
        if verdict == "foreign_unless_needed" and is_whole_alone:
            return False
        alone.unlink()
        both = copied(path, folder / "both.db")
        copied(log, folder / "both.db-wal")
        if is_whole(both):
            return True
    if is_whole_alone:
        return False
    raise damaged(path, f"neither it nor the two together are whole: it and {log.name}")


def is_whole(copy: Path) -> bool:
    """Return whether a private copy is sound to SQLite, with all rows that its rows refer to."""
    with closing(sqlite3.connect(copy)) as connection, suppress(sqlite3.DatabaseError):
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        return bool(found == "ok" and not connection.execute("PRAGMA foreign_key_check").fetchall())
    return False


def set_aside(path: Path) -> None:
    """Give the log of another store, and its index, a name that no file has; the program is told.

    Raises:
        StorageError: The folder can't be written.
    """
    log = Path(f"{path}-wal")
    number = 1
    while any(os.path.lexists(f"{path}-{kind}.{number}") for kind in ("wal", "shm")):
        number += 1
    new = log.with_name(f"{log.name}.{number}")
    try:
        if not os.access(path, os.W_OK):
            raise PermissionError
        for kind in ("shm", "wal"):
            with suppress(FileNotFoundError):  # another process has done it
                os.rename(f"{path}-{kind}", f"{path}-{kind}.{number}")
    except OSError as error:
        raise StorageError(
            f"{log} does not belong to {path.name}, and can't get another name, as folder and file must be writable "
            "for that; copy the store without the log to another folder"
        ) from error
    if new.exists():
        _logger.warning(_SET_ASIDE, log, path.name, new.name)
