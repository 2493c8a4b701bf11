"""Shards: the store files in which workers drive the cohorts of an experiment, until the experiment's store has them.

They lie at a place that follows from store and experiment, so that the next command finds the shards of a killed one.
"""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tertulia.lab.experiments.reached import CohortTask
from tertulia.runs.driving.events import Emit, Noted
from tertulia.runs.files.shard_files import fetch_shard, is_address, remove_shard, shards_at
from tertulia.state.errors import NotFoundError, StorageError
from tertulia.storage.addresses import ServerAddress
from tertulia.storage.faults import UnavailableError
from tertulia.storage.merging.carrying import SourceError
from tertulia.storage.merging.stores import merge
from tertulia.storage.sqlite.locks import clear_locks, drive_lock, real_path
from tertulia.storage.stop_requests import StopRequests, digest_of, experiment_key
from tertulia.storage.store import SqlStore

#: Ending of a store's name that gives the name of its folder of shards.
_FOLDER_ENDING = ".shards"

#: Ending of a shard that can't be read: its cohort is driven again.
SET_ASIDE = ".set-aside"

#: Ending of a shard that can be read, but that the store refuses: driven again, it would be refused again.
REFUSED = ".refused"

#: How long a worker has to notice that its command was killed.
_PATIENCE_S = 30.0


@contextmanager
def experiment_lock(store: SqlStore, experiment: str) -> Iterator[None]:
    """Hold the lock of an experiment: only one command runs its trials.

    Raises:
        StorageError: Another one has it; the message names its process.
    """
    key = experiment_key(experiment)
    with ExitStack() as held:
        try:
            held.enter_context(store.drive_lock(key))
        except StorageError as error:
            raise StorageError(str(error).replace(key, f"experiment {experiment!r}")) from None
        yield


def stop_requests(store: SqlStore, experiment: str) -> StopRequests:
    """Return a look at the requests that an experiment stop, or one of its trials."""
    return StopRequests(store, "experiment", experiment, experiment_key(experiment))


@dataclass(frozen=True)
class ShardFolder:
    """The folder of the shards of an experiment, which exists only while there are any.

    Workers of other machines put shards to its address, if it has one, and send them otherwise.
    """

    path: Path
    address: str | None = None

    @classmethod
    def of(cls, store: SqlStore, experiment: str, cache: Path, chosen: str | None = None) -> "ShardFolder":
        """Return the folder of an experiment's shards: the chosen folder or address, or one beside the store's file.

        For a store that is no local file it is in the cache.
        """
        path = store.path
        of_both = digest_of(str(path) if isinstance(path, ServerAddress) else os.path.realpath(path), experiment)
        if chosen is not None and not is_address(chosen):
            return cls(Path(chosen) / of_both)
        address = None if chosen is None else f"{chosen.rstrip('/')}/{of_both}"
        if isinstance(path, ServerAddress):
            return cls(cache / "shards" / of_both, address)
        path = real_path(Path(path))
        return cls(path.with_name(f"{path.name}{_FOLDER_ENDING}") / digest_of(experiment), address)

    def fetch(self, name: str | None = None) -> None:
        """Move the shard of this name, or all shards, from the address into the folder.

        Raises:
            StorageError: One can't be read.
        """
        if self.address is None:
            return
        try:
            places = shards_at(self.address)
        except NotFoundError:
            return
        self.make()
        for place in places:
            shard = self.path / place.rpartition("/")[2]
            if name in (None, shard.stem):
                _place(fetch_shard(place, self.path), shard)
                with suppress(StorageError):  # merged once more, it changes nothing
                    remove_shard(place)

    def make(self) -> None:
        """Make the folder, for its owner alone.

        Raises:
            StorageError: It can't be made, or a link lies there.
        """
        for folder in (self.path.parent, self.path):
            if folder.is_symlink():
                raise StorageError(f"{folder} is a link, so shards can't lie there; remove it, or take --shards FOLDER")
        try:
            self.path.parent.mkdir(exist_ok=True, parents=True, mode=0o700)
            self.path.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise StorageError(f"{self.path} can't be made ({error.strerror}); take --shards FOLDER") from None

    def shard(self, task: CohortTask) -> Path:
        """Return the path of a cohort's shard."""
        return self.path / f"{task.runs[0]}.db"

    def refused(self, task: CohortTask) -> Path | None:
        """Return the shard of a cohort that the store has refused, if there is one."""
        shard = Path(f"{self.shard(task)}{REFUSED}")
        return shard if shard.exists() else None

    @property
    def purse(self) -> Path:
        """The file in which workers count the spending of a budget."""
        return self.path / "spent"

    def shards(self) -> list[Path]:
        """Return the shards that lie there."""
        if self.path.is_symlink() or not self.path.is_dir():
            return []
        return sorted(path for path in self.path.glob("*.db") if path.is_file() and not path.is_symlink())

    def remove(self) -> None:
        """Remove the folder and its parent, unless they hold more than released locks."""
        for shard in {lock.name.partition(".db.")[0] for lock in self.path.glob("*.db.*.lock")}:
            clear_locks(self.path / f"{shard}.db")
        with suppress(OSError):
            self.purse.unlink(missing_ok=True)
            self.path.rmdir()
            self.path.parent.rmdir()


def _place(fetched: Path, shard: Path) -> None:
    """Move a fetched shard to its place, or merge it into the shard there, which may be newer."""
    if shard.exists() and _is_merged(fetched, shard):
        fetched.unlink()
    else:
        os.replace(fetched, shard)


def _is_merged(source: Path, target: Path) -> bool:
    """Merge a shard into another one; return whether that is possible."""
    try:
        opened = SqlStore.open(target)
    except UnavailableError:
        raise
    except StorageError:
        return False
    with opened:
        return not _merge_shard(opened, source)[0]


@contextmanager
def worker_lock(shard: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of a shard while writing to it, once another process has released it within these seconds.

    Raises:
        StorageError: Another process writes to it.
    """
    given_up_at = time.monotonic() + patience_s
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(drive_lock(shard, "worker"))
                break
            except StorageError:
                if time.monotonic() >= given_up_at:
                    raise
                time.sleep(0.1)
        yield


def hand_over(store: SqlStore, runs: Collection[str], shard: Path) -> None:
    """Copy the runs that a cohort resumes, or goes on from, into its shard.

    Raises:
        StorageError: The shard can't be written.
    """
    with SqlStore.open(shard, create=True) as opened:
        merge(store, opened, runs=runs)


def take_in(store: SqlStore, shard: Path) -> list[str]:
    """Merge a shard, finished or not, into the store and delete it; return messages to the user.

    A shard that can't be merged is kept under another name.

    Raises:
        StorageError: The store can't be written, the shard can't be read at the moment, or another process writes to
            it.
    """
    with worker_lock(shard, _PATIENCE_S):
        refused, kept_as = _merge_shard(store, shard)
        aside = shard.with_name(f"{shard.name}{kept_as}")
        for ending in ("", "-wal", "-shm", "-journal"):
            file = Path(f"{shard}{ending}")
            if refused and file.exists():
                file.rename(f"{aside}{ending}")
            file.unlink(missing_ok=True)
    for lock in shard.parent.glob(f"{shard.name}.*.lock"):  # of runs whose worker was killed
        lock.unlink(missing_ok=True)
    return [f"{problem}; its shard is kept as {aside}" for problem in refused]


def _merge_shard(store: SqlStore, shard: Path) -> tuple[list[str], str]:
    """Merge a shard; return why parts of it could not be merged, and the ending of the name that it is kept under.

    Raises:
        StorageError: The store can't be written, or the shard can't be read at the moment.
    """
    try:
        opened = SqlStore.open(shard)
    except UnavailableError:
        raise
    except StorageError as error:
        return [str(error)], SET_ASIDE
    with opened:
        try:
            merged = merge(opened, store, joined=lambda known, _: known)
        except SourceError as error:
            if isinstance(error.__cause__, UnavailableError):
                raise
            return [str(error)], SET_ASIDE
    problems = [f"{run} is refused: {why}" for run, why in merged.refused.items()]
    return problems, REFUSED if merged.differing else SET_ASIDE


def gather(store: SqlStore, folder: ShardFolder, emit: Emit) -> None:
    """Merge all shards that earlier commands left, and report problems as events.

    Raises:
        StorageError: An earlier command's worker still writes to one, one can't be read at the moment, or the store
            can't be written.
    """
    _take_all(store, folder, emit)
    folder.fetch()  # only now: shards here must not wait for an address that can't be read
    _take_all(store, folder, emit)
    folder.remove()


def _take_all(store: SqlStore, folder: ShardFolder, emit: Emit) -> None:
    for shard in folder.shards():
        for problem in take_in(store, shard):
            emit(Noted(shard.stem, problem))
