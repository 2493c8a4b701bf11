"""Folders for unfinished files: each is locked by its process for as long as that lives, and then swept by others."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: How the folders are called that are made beside what is written.
UNFINISHED = ".tertulia-unfinished-"


@contextmanager
def locked_folder(place: Path, beginning: str = UNFINISHED) -> Iterator[Path]:
    """Make a folder, for this user alone, in another one, and remove it afterwards.

    Before, those are removed that processes have left which were killed: a living one holds the lock of its folder.

    Args:
        place: The folder in which it is made.
        beginning: How its name begins.
    """
    _sweep(place, beginning)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=beginning, dir=place))
        lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        with suppress(OSError):  # if a folder can't be locked, no process can lock it in order to remove it either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():  # not swept before it was locked
            break
        os.close(lock)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _sweep(place: Path, beginning: str) -> None:
    """Remove the folders so called, of this user, that no process holds."""
    for left in place.glob(f"{beginning}*"):
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if os.fstat(lock).st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)
