"""Shards: store files in a folder, or at an address that fsspec knows, such as `s3://bucket/folder` or `memory://shards`.

A shard is written under another name and renamed when it is whole. fsspec is imported only for an address; its hosts
and keys come from the address, which the user gives, and from the user's configuration.
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
from tertulia.state.written_files import replacing
from tertulia.storage.sqlite.copy_folder import check_room

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

#: The ending of a store file's name, and the beginning of the name of an unfinished one.
ENDING, UNFINISHED = ".db", "."

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[a-z0-9]+::")
_SECRET = re.compile(r"://[^/]*@")
_WILD = re.compile(r"[*?\[]")

#: A shard's name: it becomes the name of a file, wherever.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def is_address(given: str) -> bool:
    """Return whether a text is an address for fsspec, and not a path."""
    return _ADDRESS.match(given) is not None


def shown(given: str) -> str:
    """Return a path or an address as messages name it: without user and password."""
    return _SECRET.sub("://", given) if is_address(given) else given


def put_shard(path: Path, place: str, name: str) -> str:
    """Copy a store file to a folder or an address, whole or not at all; return its new path or address.

    Args:
        path: The file, closed by all its writers.
        place: The folder or the address; made if it is missing.
        name: The name of the shard there, without its ending; a shard of this name is replaced.

    Raises:
        StorageError: It can't be written there.
        UsageError: The address can't be used.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!a:.60} can't be the name of a shard; take letters, digits, - and _")
    if not is_address(place):
        at = Path(place) / f"{name}{ENDING}"
        try:
            at.parent.mkdir(parents=True, exist_ok=True)
            with replacing(at) as unfinished:
                shutil.copyfile(path, unfinished)
        except OSError as error:
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
    """Return the shards that a file, a folder, an address, or a pattern of them names, in order.

    Links in a folder or matching a pattern are passed over (`linked_shards`); a named file may be a link.

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
        raise NotFoundError(f"there is no store (a file whose name ends in {ENDING}) at {shown(place)}")
    return sorted(found)


def linked_shards(place: str) -> list[str]:
    """Return the links in a folder, or matching a pattern, that are named like shards; none is followed."""
    if is_address(place) or (os.path.exists(place) and not os.path.isdir(place)):
        return []
    found = [os.path.join(place, name) for name in _listed(place)] if os.path.isdir(place) else glob.glob(place)
    return sorted(path for path in found if _is_shard(os.path.basename(path)) and os.path.islink(path))


def fetch_shard(place: str, folder: Path) -> Path:
    """Copy a shard from an address into a local folder, and return the copy.

    Raises:
        NotFoundError: There is none.
        StorageError: It can't be read.
        UsageError: The address can't be used.
    """
    copy = folder / "fetched.db"
    with _faults(place):
        system, key = _opened(place)
        check_room(_size_of(system, key), shown(place))
        system.get_file(key, os.fspath(copy))
    return copy


def _size_of(system: "AbstractFileSystem", key: str) -> int:
    """Return the size of a file in bytes; 0 if it is not known."""
    try:
        return int(system.info(key).get("size") or 0)
    except Exception:  # fetching the file reports the error
        return 0


def remove_shard(place: str) -> None:
    """Remove a shard that was merged."""
    if not is_address(place):
        Path(place).unlink(missing_ok=True)
        return
    with _faults(place):
        system, key = _opened(place)
        system.rm_file(key)


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise StorageError(f"{folder} can't be read ({error.strerror}); give yourself the permission") from error


def _is_shard(name: str) -> bool:
    return name.endswith(ENDING) and not name.startswith(UNFINISHED)


def _at_address(place: str) -> list[str]:
    system, key = _opened(place)
    system.invalidate_cache()  # another one may have been put there since it was listed
    if _WILD.search(place):
        keys = [str(found) for found in system.glob(key)]
    elif system.isfile(key):
        return [place]
    else:
        keys = [str(found) for found in system.ls(key, detail=False)]
    shards = [found for found in keys if _is_shard(found.rpartition("/")[2])]
    # The text around the key is kept: the host of `sftp://HOST/FOLDER` is no part of the key.
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
    """Re-raise a library's error about an address as a one-line error of ours."""
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
