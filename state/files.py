"""Files that a user hands over: only regular ones are read, and only up to a size that their kind has at most.

A pipe or a device may block, or never end; a file of gigabytes takes the memory of the machine. If a command reads
another's output, as in `tertulia metrics <(zcat runs.gz)`, a pipe is one that the user has made.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

#: Kinds of file that are not regular, and their names in a message.
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


#: The end of a message about links in a folder which is read: nothing that they lead to is of the folder.
NOT_FOLLOWED = "links in a folder are not followed; copy there what they lead to"


def is_linked(file: Path, folder: Path) -> bool:
    """Return whether a link lies on the way from a folder to a file in it, or is the file."""
    inside = Path(os.path.relpath(file, folder))
    return any(os.path.islink(folder / part) for part in (inside, *inside.parents) if part != Path())


def links_noted(names: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return a line about links of a folder that were passed over, as a tuple; empty if there are none."""
    if not names:
        return ()
    others = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return (f"{names[0]}{others} in {folder}: {NOT_FOLLOWED}",)


@contextmanager
def open_regular(path: Path, most_bytes: int, may_be_pipe: bool = False) -> Iterator[BinaryIO]:
    """Open a regular file for reading while inside.

    Args:
        most_bytes: Its size at most; that of a pipe is not known before.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: It is no regular file, or too large, or can't be read; `strerror` says which.
    """
    _check(os.stat(path), most_bytes, may_be_pipe)  # opening a device may do something
    with open(path, "rb", opener=_without_waiting) as file:
        _check(os.fstat(file.fileno()), most_bytes, may_be_pipe)  # it may be another by now
        os.set_blocking(file.fileno(), True)
        yield file


def read_text(path: Path, most_bytes: int, may_be_pipe: bool = False) -> str:
    """Return the text of a file; an `OSError` like those of `open_regular` if it is not in UTF-8."""
    content = read_bytes(path, most_bytes, may_be_pipe)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise OSError(errno.EILSEQ, f"line {line} is not in UTF-8; save the file as UTF-8") from None


def read_bytes(path: Path, most_bytes: int, may_be_pipe: bool = False) -> bytes:
    """Return the content of a file; see `open_regular`."""
    with open_regular(path, most_bytes, may_be_pipe) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:  # it has grown, or is of a file system that states no sizes
        raise _too_large(most_bytes)
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _check(status: os.stat_result, most_bytes: int, may_be_pipe: bool) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode) and not (may_be_pipe and stat.S_ISFIFO(status.st_mode)):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file; save the content to a file and name that")
    if status.st_size > most_bytes:
        raise _too_large(most_bytes)


def _too_large(most_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most_bytes // 10**6} MB, the most that is read of such a file")
