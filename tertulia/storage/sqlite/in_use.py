"""Whether a database file is open in a process, by SQLite's own POSIX locks; its bytes are read without harm to them.

A process that closes any descriptor of a file loses all its POSIX locks on it, those of SQLite too. So a file that this
process has open is read through a descriptor that is there already.
"""

import fcntl
import os
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Descriptors of this process, on Linux and macOS.
_DESCRIPTORS = "/dev/fd"

#: Where SQLite locks: every connection the shared bytes of a database in WAL mode, as long as it is open (os.h,
#: `SHARED_FIRST` and `SHARED_SIZE`), and the last byte of the locks of its `-shm` file (os_unix.c, `UNIX_SHM_DMS`).
_SHARED, _SHARED_MEMORY = (0x40000002, 510), (128, 1)

#: `struct flock`: its format, and the places of type, start, length and process.
_FLOCK = ("@qqihh", (3, 0, 1, 2)) if sys.platform == "darwin" else ("@hhqqi4x", (0, 2, 3, 4))

#: Held while this process opens a database, and while it opens and closes one only to read its bytes.
opening = threading.RLock()


@contextmanager
def readable(path: Path | str) -> Iterator[int]:
    """Open a file for `os.pread`, without a loss of the locks that this process may have on it."""
    with opening:
        held = _held(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if held is None else held
        try:
            yield descriptor
        finally:
            if held is None:
                os.close(descriptor)


def user_of(path: Path | str) -> int | None:
    """Return the id of a process that has a database file open, this one before others; `None` if none has."""
    return _holder(path, *_SHARED)


def user_of_log(path: Path | str) -> int | None:
    """Return the id of a process that uses the log of a database, of whatever file."""
    return _holder(f"{path}-shm", *_SHARED_MEMORY)


def _holder(path: Path | str, start: int, length: int) -> int | None:
    with opening:
        try:
            if _held(path) is not None:
                return os.getpid()
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return _locked_by(descriptor, start, length)
        finally:
            os.close(descriptor)


def _locked_by(descriptor: int, start: int, length: int) -> int | None:
    layout, (kind, at, size, process) = _FLOCK
    asked = [0] * 5
    asked[kind], asked[at], asked[size] = fcntl.F_WRLCK, start, length
    with suppress(OSError):  # a file system without locks
        answer = struct.unpack(layout, fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(layout, *asked)))
        if answer[kind] != fcntl.F_UNLCK:
            return int(answer[process])
    return None


def _held(path: Path | str) -> int | None:
    """Return a descriptor of this process that is open on a file."""
    wanted = os.stat(path)
    with suppress(FileNotFoundError):
        for name in os.listdir(_DESCRIPTORS):
            with suppress(OSError):
                if os.path.samestat(os.fstat(int(name)), wanted):
                    return int(name)
    return None
