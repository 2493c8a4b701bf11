"""The store of runs in an SQL database. Implements `state.store.Store`, a part in each module that it inherits from.

1. Texts and prompts lie in `contents`, `units` and `prompts`, by the hash of their contents; pictures in `pictures`.
2. Runs, turns and their parts, scores, candidates, steps and calls have deterministic keys: written again, they change
   nothing.
3. A record that is read back equals the one that was written, to the last digit.
"""

import os
from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from tertulia.state.annotation import Annotation, Instrument
from tertulia.state.errors import MissingPackageError, StorageError, extra_hint
from tertulia.storage.addresses import ServerAddress, StoreAddress, store_address
from tertulia.storage.contract import Database, RunDrivers
from tertulia.storage.faults import UNWRITABLE, UnavailableError
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.parts.experiments import Experiments
from tertulia.storage.parts.likeness import Likeness
from tertulia.storage.parts.pictures import Pictures
from tertulia.storage.parts.simulations import Simulations
from tertulia.storage.parts.streams import Streams
from tertulia.storage.parts.turn_rows import TurnRowsStore
from tertulia.storage.parts.turns import Turns
from tertulia.storage.sqlite.database import StoreFile
from tertulia.storage.sqlite.opening import MEMORY, refuse_lost_log

_NOT_COMPACTED = (
    "the checkpoints are dropped, but {path} is not smaller yet, by {unused:.1f} MB: for that, as much room as it will "
    "take must be free on its disk and where temporary files lie (TMPDIR), and no other program may write to it; "
    "then: tertulia gc --yes"
)


class SqlStore(Turns, TurnRowsStore, Streams, Pictures, Likeness):
    """A store in an SQL database, at the `path` that the user named; made and used in one thread."""

    def __init__(self, file: Database, path: StoreAddress | str) -> None:
        """Wrap an open database; see `open`."""
        self._use(file, path)

    def _use(self, file: Database, path: StoreAddress | str) -> None:
        super().__init__(file, path)
        self.simulations = Simulations(file, path)
        self.experiments = Experiments(file, path)

    @classmethod
    def open(cls, address: StoreAddress | str, create: bool = False) -> Self:
        """Open a store.

        Args:
            address: The file, the server, or `:memory:` for a store that lives as long as this object.
            create: Whether a missing store is made. If not, it is read as an empty one, in memory: it lists no runs,
                finds none, and leaves nothing behind.

        Raises:
            StorageError: The store can't be opened, is damaged, not a store, or from a newer version; or the folder
                that it is to be in does not exist.
        """
        path = address if address == MEMORY else store_address(address)
        return cls(_opened(path, create), path)

    def transaction(self) -> AbstractContextManager[None]:
        """Store all rows that are written inside, or none of them after a failure."""
        return self.file.transaction()

    def reading(self) -> AbstractContextManager[None]:
        """Read everything inside as it was at one moment, whatever others write meanwhile; nothing inside writes."""
        return self.file.reading()

    def check_writable(self) -> None:
        """Raise `StorageError` if nothing can be written, before a result is computed that could not be stored."""
        if not self.is_missing:
            self.file.check_writable()
        elif isinstance(self.path, Path) and not os.access(self.path.parent, os.W_OK):
            raise StorageError(UNWRITABLE.format(path=self.path))

    def drivers(self) -> RunDrivers:
        """Return a look at which runs are driven."""
        return self.file.drivers()

    @property
    def is_missing(self) -> bool:
        """Whether there was no store when it was opened, and it has not been made since."""
        return self.file.path == MEMORY != self.path

    def make_file(self) -> None:
        """Make the store that was missing when it was opened; `StorageError` if it can't be made."""
        if self.is_missing:
            self.file.close()
            self._use(_opened(self.path, create=True), self.path)

    def reopen(self) -> None:
        """Replace the connection by a new one; if the file lost its path, to the copy that was made of it."""
        self.file.reopen()
        if not self.is_missing and isinstance(self.file.path, Path):
            self.path = self.file.path

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def annotations_of_turn(self, run: str, turn: int, *instruments: Instrument) -> list[Annotation]:
        """Return the annotations by these instruments that begin with a turn; a fork has those of shared turns."""
        return Annotations(self.file).of_turn(run, turn, *instruments)

    def checkpoint_sizes(self) -> dict[str, int]:
        """Return the size of the LangGraph checkpoints of every run that has any, in bytes, oldest run first."""
        sizes = self.file.checkpoint_sizes()
        runs = self.file.rows("SELECT run FROM runs ORDER BY id") if sizes else []
        return {row["run"]: sizes[row["run"]] for row in runs if row["run"] in sizes}

    def superseded_checkpoints(self) -> dict[str, int]:
        """Return the bytes of checkpoints that threads of a user's own graphs do not go on from, by thread."""
        sizes = self.file.superseded_sizes()
        rows = self.file.rows("SELECT run FROM runs UNION SELECT simulation FROM simulations") if sizes else []
        ours = {row["run"] for row in rows}
        return {thread: size for thread, size in sizes.items() if thread not in ours}

    def drop_checkpoints(self, runs: Collection[str], threads: Collection[str] = ()) -> int:
        """Delete the LangGraph checkpoints of runs, and the superseded ones of threads, and give their space back.

        So is the space of those that were deleted before, if it was not given back then.

        Returns:
            How many bytes the store is smaller.

        Raises:
            StorageError: It can't be written; or they are deleted, and their space can't be given back now.
        """
        if runs or threads:
            with self.file.transaction():
                self.file.delete_checkpoints(runs)
                self.file.delete_superseded(threads)
        unused = self.file.unused_bytes()
        if not (runs or threads or unused):
            return 0
        try:
            return self.file.compact()
        except UnavailableError as error:
            raise StorageError(_NOT_COMPACTED.format(path=self.path, unused=unused / 1e6)) from error


def _opened(address: StoreAddress | str, create: bool) -> Database:
    """Return the open database at an address; one in memory if there is none and `create` is false."""
    if isinstance(address, ServerAddress):
        try:
            from tertulia.storage.postgres.database import open_server
        except ImportError as error:
            needed = f"stores on a server need psycopg, which is not installed; run: {extra_hint('postgres')}"
            raise MissingPackageError(needed) from error
        return open_server(address, create) or StoreFile(MEMORY, create)
    if address == MEMORY:
        return StoreFile(MEMORY, create)
    path = Path(address)
    if not os.path.isdir(path.parent):
        raise StorageError(f"{path} can't be opened: there is no folder {path.parent}; create it, or name another file")
    is_missing = not create and not os.path.exists(path)
    if is_missing:
        refuse_lost_log(path)
    return StoreFile(MEMORY if is_missing else path, create)
