"""A guard against two drivers of one run. It dies with its process, however that ends."""

import errno
import fcntl
import glob
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tertulia.state.errors import StorageError
from tertulia.storage.values import identifier

#: Digits of a process id, at most.
_LONGEST = 20

#: A lock that is held for so many moments is a driver's.
_MOMENTS, _MOMENT_S = 5, 0.01


@contextmanager
def drive_lock(store: Path, run: str) -> Iterator[None]:
    """Hold the lock of a run: only one process drives it.

    The lock is the kernel's, on a small file beside the store that holds the driver's process id and is gone
    afterwards. A driver that was killed leaves the file, but not the lock; the next one takes it over.

    Raises:
        StorageError: Another driver has the run (the message names its process), or no file can be made there.
    """
    path = _path_of(real_path(store), run)
    try:
        lock = _locked(path, run)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space, then try again" if is_full else "the folder of the store must be writable"
        problem = f"can't be made ({error.strerror}); {remedy}"
        if path.is_symlink():
            problem = "is a link, so it can't be the lock of the run; remove it, then try again"
        raise StorageError(f"{path} {problem}") from error
    try:
        yield
    finally:
        # Removed while still locked: a process that opened it meanwhile sees that it is gone, and makes a new one.
        path.unlink(missing_ok=True)
        os.close(lock)


def clear_locks(store: Path) -> None:
    """Remove the lock files that killed drivers have left."""
    store = real_path(store)
    for path in store.parent.glob(f"{glob.escape(store.name)}.*.lock"):
        run = path.name.removeprefix(f"{store.name}.").removesuffix(".lock")
        with suppress(OSError, StorageError):  # held, or not ours to remove
            if path.is_file() and path.stat().st_size <= _LONGEST and re.fullmatch(rb"\d*", path.read_bytes()):
                with drive_lock(store, run):
                    pass


def real_path(store: Path) -> Path:
    """Return the path of the file itself for a link to a store, which has its locks and shards under one name."""
    return Path(os.path.realpath(store)) if store.is_symlink() else store


def _path_of(store: Path, run: str) -> Path:
    identifier(run)  # it becomes the name of a file
    return store.with_name(f"{store.name}.{run}.lock")


def _locked(path: Path, run: str) -> int:
    waited = 0
    while True:
        # Not through a link, and not blocked by a pipe: either may have been sent together with the store.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        lock = os.open(path, flags, 0o600)
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            os.close(lock)
            raise StorageError(f"{path} is no file, so it can't be the lock of the run; remove it, then try again")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(lock, path):
                _sign(lock, path)
                return lock
        except BlockingIOError:
            driver = os.pread(lock, _LONGEST, 0).decode("ascii", "replace") or "not known yet"
            os.close(lock)
            if (waited := waited + 1) <= _MOMENTS:  # clearing locks takes each for a moment
                time.sleep(_MOMENT_S)
                continue
            who = "thread of this process" if driver == str(os.getpid()) else "process"
            raise StorageError(
                f"{run} is being driven by another {who} (pid {driver}); wait for it, or stop it, then resume"
            ) from None
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _sign(lock: int, path: Path) -> None:
    """Write the id of this process into a lock that it holds; without room for that, leave no file."""
    try:
        os.truncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _is_at(lock: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), os.stat(path))
    except FileNotFoundError:
        return False


class Drivers:
    """Which runs of a store are driven now, looked at again and again.

    To see whether a lock is held it is taken for a moment, which could turn a driver away that begins in that moment.
    So a lock that was found free is not tried again before another process has written to its file.
    """

    def __init__(self, store: Path) -> None:
        """Take the store file."""
        self._store = real_path(store)
        self._free: dict[str, tuple[int, int]] = {}

    def is_driven(self, run: str) -> bool:
        """Return whether a process drives a run; if that can't be seen, as of another user's, assume that one does."""
        try:
            lock = os.open(_path_of(self._store, run), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return not isinstance(error, FileNotFoundError)
        try:
            status = os.fstat(lock)
            written = (status.st_ino, status.st_mtime_ns)
            if not status.st_size or self._free.get(run) == written:  # without a byte, a process is just taking it
                return not status.st_size
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            self._free[run] = written
            return False
        except OSError:
            return True
        finally:
            os.close(lock)
