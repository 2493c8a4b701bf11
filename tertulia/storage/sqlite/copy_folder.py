"""A folder for private copies of stores, in the folder of temporary files."""

import os
import shutil
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

from tertulia.state.errors import StorageError
from tertulia.state.locked_folders import locked_folder
from tertulia.storage.sqlite.in_use import readable

#: Bytes that are copied at once.
_PIECE_BYTES = 1 << 20

#: The largest store that is copied: twice the month of a town of a thousand people (docs/scale.md). It takes
#: two minutes, and as much room in the folder of temporary files; a larger one is merged into, and not from.
LARGEST_COPY = 32 * 10**9

#: Room that is left in the folder of temporary files.
_LEFT_FREE = 100 * 10**6

#: How the folders of copies are called.
_FOLDER = "tertulia-copy-"


def folder_of_copy() -> AbstractContextManager[Path]:
    """Make a folder for a private copy, in the folder of temporary files, and remove it afterwards."""
    return locked_folder(Path(tempfile.gettempdir()), _FOLDER)


def check_room(size: int, name: str, folder: Path | None = None) -> None:
    """Refuse a store that is larger than the limit, or than the room that there is for a copy.

    Args:
        size: Its size in bytes, with its log.
        folder: The place of the copy; without it, that of temporary files, in which some room is left.

    Raises:
        StorageError: It is.
    """
    if size > LARGEST_COPY:
        raise StorageError(
            f"{name} has {_gigabytes(size)}, more than the {_gigabytes(LARGEST_COPY)} that are copied to be read; "
            "merge the others into it instead (--into)"
        )
    free = shutil.disk_usage(folder).free if folder else shutil.disk_usage(tempfile.gettempdir()).free - _LEFT_FREE
    if size > free:
        raise StorageError(f"{no_room(name, folder)} (it takes {_gigabytes(size)})")


def _gigabytes(size: int) -> str:
    return f"{size / 10**9:.1f} GB"


def no_room(name: str, folder: Path | None = None) -> str:
    """Return the message for a copy that finds no room in a folder; without it, in that of temporary files."""
    if folder:
        return f"{name} can't be copied: there is no room for it in {folder}; free some space there"
    return (
        f"{name} can't be read: there is no room for a copy where temporary files lie; free some space, or set TMPDIR"
    )


def copied(file: Path, copy: Path) -> Path:
    """Copy a file, byte by byte, and return the path of the copy."""
    with readable(file) as descriptor, open(copy, "xb") as target:
        at = 0
        while piece := os.pread(descriptor, _PIECE_BYTES, at):
            target.write(piece)
            at += len(piece)
    return copy
