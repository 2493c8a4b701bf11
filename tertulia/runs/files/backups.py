"""Back up a store in a SQLite file, and put a backup in its place."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tertulia.runs.driving.stop_signals import held_signals
from tertulia.state.errors import NotFoundError, StorageError, UsageError
from tertulia.state.locked_folders import locked_folder
from tertulia.state.written_files import check_file, refuse_link, replacing
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.faults import UnavailableError, damaged, storage_faults
from tertulia.storage.sqlite.belonging import is_whole
from tertulia.storage.sqlite.connection import copy_store_to
from tertulia.storage.sqlite.database import StoreFile
from tertulia.storage.sqlite.in_use import readable, user_of, user_of_log
from tertulia.storage.sqlite.private_copy import copy_store
from tertulia.storage.store import SqlStore

_ENDINGS = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True)
class Restored:
    """A store that was restored.

    Attributes:
        runs: How many runs it has.
        before: The former store, with its log in it, or beside it if it is damaged; `None` without a former store.
    """

    runs: int
    before: Path | None


def back_up(store: StoreAddress, file: Path, force: bool = False) -> int:
    """Copy a store, as it is at one moment, to a file that needs no log; others may be writing to it.

    Args:
        file: The copy; it appears when it is whole, and only its owner may read it.
        force: Whether it replaces an existing file.

    Returns:
        How many runs it has.

    Raises:
        NotFoundError: There is no store.
        UsageError: The store is on a server; or the file can't be written, or is a link.
        StorageError: It can't be written whole, or another process has it open.
    """
    check_file(file, path := _path_of(store), force)
    _refuse_users(file)
    with replacing(file) as copy, SqlStore.open(path) as opened, storage_faults(file):
        if opened.is_missing or not isinstance(opened.file, StoreFile):
            raise NotFoundError(f"there is no store {path}")
        copy_store_to(opened.file.connection, copy)
        _sync(copy)
    _sync(file.absolute().parent)
    with SqlStore.open(file) as copied:
        return _number_of_runs(copied)


def restore(backup: Path, store: StoreAddress) -> Restored:
    """Put a copy of a backup in the place of a store, which gets another name.

    Whenever it is killed, the former store is whole under its own name, or under the other one.

    Raises:
        NotFoundError: There is no backup.
        UsageError: The store is on a server; or one of the two is a link.
        StorageError: The backup is damaged or no store of this version; or a process has the store open.
    """
    store = _path_of(store)
    for file in (backup, store):
        refuse_link(file)
    if store.is_dir() or not store.absolute().parent.is_dir():
        raise UsageError(f"{store} can't be written: it is a folder, or in none; name a file")
    if store.exists() and backup.exists() and os.path.samefile(store, backup):
        raise UsageError(f"{backup} is the store itself; name a backup of it")
    with locked_folder(store.absolute().parent) as folder:
        copy = folder / "store.db"
        copy_store(backup, copy, store.parent)
        runs = _checked(copy, backup)
        copy.chmod(0o600)
        _sync(copy)
        _refuse_users(store)
        _fold_log(store)
        with held_signals():
            before = _set_aside(store)
            os.replace(copy, store)
            _sync(store.absolute().parent)
    return Restored(runs, before)


def _checked(copy: Path, backup: Path) -> int:
    """Return how many runs a copy of a backup has; give it a generation of its own, and move its log into it."""
    try:
        with SqlStore.open(copy) as opened:
            with opened.transaction():
                pass
            runs = _number_of_runs(opened)
    except StorageError as error:
        raise StorageError(str(error).replace(str(copy), str(backup))) from error
    if not is_whole(copy):
        raise damaged(backup, "it is not whole")
    return runs


def _fold_log(store: Path) -> None:
    """Move the log of a store into it: so its one file is all of it, and one rename puts another in its place.

    A store that can't be opened, as it is damaged, keeps its log.
    """
    if not store.exists() or not any(os.path.lexists(f"{store}{ending}") for ending in _ENDINGS[1:]):
        return
    try:
        with SqlStore.open(store) as opened:
            opened.file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    except UnavailableError:
        raise
    except StorageError:
        return


def _set_aside(store: Path) -> Path | None:
    """Give a store another name, which it has besides its own until that is another file's.

    Files that are still beside it, of a damaged store, are renamed.
    """
    if not any(os.path.lexists(f"{store}{ending}") for ending in _ENDINGS):
        return None
    number, before = 1, Path(f"{store}.before")
    while any(os.path.lexists(f"{before}{ending}") for ending in _ENDINGS):
        if _is_same(store, before):  # after a restore that was killed before the store's name was another file's
            before.unlink()
            continue
        number += 1
        before = Path(f"{store}.before-{number}")
    if store.exists():
        os.link(store, before)
    for ending in _ENDINGS[1:]:
        with suppress(FileNotFoundError):
            os.rename(f"{store}{ending}", f"{before}{ending}")
    return before


def _is_same(store: Path, before: Path) -> bool:
    return store.exists() and before.exists() and os.path.samefile(store, before)


def _path_of(store: StoreAddress) -> Path:
    if not isinstance(store, Path):
        raise UsageError(f"{store} is on a server: use pg_dump to back it up, and psql or pg_restore to restore it")
    return store


def _refuse_users(store: Path) -> None:
    user = user_of(store) or user_of_log(store)
    if user is not None:
        raise StorageError(f"process {user} has {store} open, such as a run or the page; end it, then try again")


def _number_of_runs(store: SqlStore) -> int:
    (found,) = store.file.rows("SELECT count(*) AS number FROM runs")
    return int(found["number"])


def _sync(path: Path) -> None:
    with readable(path) as descriptor:
        os.fsync(descriptor)
