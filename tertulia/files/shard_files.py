"""Shards: store files in a folder, or at an address that fsspec knows, such as `s3://bucket/folder` or `memory://shards`.

A shard is written under another name and gets its own when it is whole, so that nobody reads half of one. fsspec is
imported only for an address; which hosts and keys it uses is said by the address, which the user gives, and by the
user's own configuration.
"""

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tertulia.state.errors import NotFoundError, StorageError, TertuliaError, UsageError
from tertulia.state.text import first_line
from tertulia.storage.sqlite.private_copy import check_room

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

#: How the name of a store file ends, and how one begins that is not whole yet.
ENDING, UNFINISHED = ".db", "."

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[a-z0-9]+::")
_SECRET = re.compile(r"://[^/]*@")
_WILD = re.compile(r"[*?\[]")

#: A shard's name: it becomes the name of a file, wherever.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def is_address(given: str) -> bool:
    """Return whether a text is an address for fsspec, not a path."""
    return _ADDRESS.match(given) is not None


def shown(given: str) -> str:
    """Return a path or an address as messages name it: without user and password."""
    return _SECRET.sub("://", given) if is_address(given) else given


def put_shard(path: Path, place: str, name: str) -> str:
    """Copy a store file to a folder or an address, whole or not at all; return where it lies.

    Args:
        path: The file, closed by all who wrote to it.
        place: The folder or the address; made if it is missing.
        name: What the shard is called there, without its ending. One of this name is replaced.

    Raises:
        StorageError: It can't be written there.
        UsageError: The address can't be used.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!a:.60} can't be the name of a shard; take letters, digits, - and _")
    if not is_address(place):
        at = Path(place) / f"{name}{ENDING}"
        unfinished = at.with_name(f"{UNFINISHED}{at.name}.{os.getpid()}")
        try:
            at.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, unfinished)
            os.replace(unfinished, at)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise StorageError(f"{at} can't be written ({error.strerror}); take another folder") from error
        return str(at)
    with _faults(place):
        system, folder = _opened(place)
        unfinished_key, key = f"{folder}/{UNFINISHED}{name}{ENDING}.{os.getpid()}", f"{folder}/{name}{ENDING}"
        system.makedirs(folder, exist_ok=True)
        system.put_file(os.fspath(path), unfinished_key)
        system.mv(unfinished_key, key)
        return str(system.unstrip_protocol(key))


def shards_at(place: str) -> list[str]:
    """Return the shards that are named by a file, a folder, an address, or a pattern of one of them, in order.

    Links in a folder, and those that a pattern matches, are passed over (`linked_shards`); what is named may be one.

    Raises:
        NotFoundError: There is none.
        StorageError: It can't be read.
        UsageError: The address can't be used.
    """
    if is_address(place):
        with _faults(place):
            found = _at_address(place)
    elif os.path.isdir(place):
        found = [os.path.join(place, name) for name in _listed(place) if _is_shard(name)]
    elif os.path.exists(place) or not _WILD.search(place):
        return [place]
    else:
        found = [path for path in glob.glob(place) if _is_shard(os.path.basename(path))]
    if not is_address(place):
        found = [path for path in found if not os.path.islink(path)]
    if not found and not linked_shards(place):
        raise NotFoundError(f"there is no store ({UNFINISHED_HINT}) at {shown(place)}")
    return sorted(found)


def linked_shards(place: str) -> list[str]:
    """Return the links of a folder, or of what a pattern matches, that are named like shards: none is followed."""
    if is_address(place) or (os.path.exists(place) and not os.path.isdir(place)):
        return []
    found = [os.path.join(place, name) for name in _listed(place)] if os.path.isdir(place) else glob.glob(place)
    return sorted(path for path in found if _is_shard(os.path.basename(path)) and os.path.islink(path))


def fetch_shard(place: str, folder: Path) -> Path:
    """Copy a shard of an address into a folder of this machine; return the copy.

    Raises:
        NotFoundError: There is none.
        StorageError: It can't be read.
        UsageError: The address can't be used.
    """
    copy = folder / "fetched.db"
    with _faults(place):
        system, key = _opened(place)
        check_room(_size_of(system, key), shown(place), folder)
        system.get_file(key, os.fspath(copy))
    return copy


def _size_of(system: "AbstractFileSystem", key: str) -> int:
    """Return the size of a file in bytes; 0 where its system does not know, or does not say."""
    try:
        return int(system.info(key).get("size") or 0)
    except Exception:  # what is wrong with the file is told where it is fetched
        return 0


def remove_shard(place: str) -> None:
    """Remove a shard that was merged."""
    if not is_address(place):
        Path(place).unlink(missing_ok=True)
        return
    with _faults(place):
        system, key = _opened(place)
        system.rm_file(key)


#: What a place is looked through for.
UNFINISHED_HINT = f"a file whose name ends in {ENDING}"


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise StorageError(f"{folder} can't be read ({error.strerror}); give yourself the permission") from error


def _is_shard(name: str) -> bool:
    return name.endswith(ENDING) and not name.startswith(UNFINISHED)


def _at_address(place: str) -> list[str]:
    system, key = _opened(place)
    system.invalidate_cache()  # somebody may have put another one there since it was listed
    if _WILD.search(place):
        keys = [str(found) for found in system.glob(key)]
    elif system.isfile(key):
        return [place]
    else:
        keys = [str(found) for found in system.ls(key, detail=False)]
    shards = [found for found in keys if _is_shard(found.rpartition("/")[2])]
    # What stands around the key is kept: the host of `sftp://HOST/FOLDER` is no part of it.
    before, stands, behind = place.rpartition(key)
    if not stands:
        return [system.unstrip_protocol(found) for found in shards]
    return [f"{before}{found}{behind.lstrip('/')}" for found in shards]


def _opened(place: str) -> "tuple[AbstractFileSystem, str]":
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(f"{shown(place)} needs fsspec; install it with: pip install 'tertulia[shards]'") from None
    system, key = url_to_fs(place)
    return system, str(key).rstrip("/")


@contextmanager
def _faults(place: str) -> Iterator[None]:
    """Re-raise what goes wrong with an address as one line.

    Raises:
        NotFoundError, StorageError, UsageError: It does.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(f"there is nothing at {shown(place)}") from error
    except ImportError as error:
        raise UsageError(f"{shown(place)} needs another package: {_cause(error)}") from error
    except ValueError as error:
        raise UsageError(f"{shown(place)} can't be used: {_cause(error)}") from error
    except TertuliaError:
        raise
    except Exception as error:  # every library behind fsspec has errors of its own, such as botocore's ClientError
        raise StorageError(f"{shown(place)} can't be read or written: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    message = first_line(error) or type(error).__name__
    return _SECRET.sub("://", message)[:200]
