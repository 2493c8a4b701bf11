"""The store of runs in a database. Implements `state.store.Store`, a part in each module that it inherits from.

1. Texts and prompts lie in `contents`, `units` and `prompts`, by the hash of what they say; pictures in `pictures`.
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

from state.errors import StorageError
from storage.addresses import ServerAddress, StoreAddress, is_missing, store_address
from storage.database import MEMORY, StoreFile, refuse_lost_log
from storage.experiments import Experiments
from storage.faults import UNWRITABLE
from storage.journal import Journal
from storage.locks import Drivers
from storage.pictures import Pictures
from storage.removal import delete_checkpoints
from storage.simulations import Simulations
from storage.streams import Streams
from storage.turns import Turns


class SqlStore(Turns, Journal, Streams, Pictures):
    """A store in one database, through one connection; made and used in one thread.

    Attributes:
        path: Where it lies, as the user named it; or `:memory:`.
        file: The connection, for plain SQL.
        simulations: Days of towns.
        experiments: Experiments, and calibrations of λ.
    """

    def __init__(self, file: StoreFile, path: StoreAddress | str) -> None:
        """Wrap an open file; see `open`.

        Args:
            file: The open file.
            path: The address that messages name.
        """
        super().__init__(file, path)
        self.simulations = Simulations(file, path)
        self.experiments = Experiments(file, path)

    @classmethod
    def open(cls, address: StoreAddress | str, create: bool = False) -> Self:
        """Open a store.

        Args:
            address: The file, or `:memory:` for a store that lives as long as this object.
            create: Whether a missing file is made. If not, a missing store is read as an empty one, in memory: it
                lists no runs, finds none, and leaves nothing on the disk.

        Raises:
            StorageError: The file can't be opened, is damaged, not a store, or from a newer version; or the folder that
                it is to be in does not exist.
        """
        if address == MEMORY:
            return cls(StoreFile(MEMORY, create), MEMORY)
        path = store_address(address)
        if isinstance(path, ServerAddress):
            raise StorageError(f"{path} can't be opened: this version has no stores in databases of servers")
        if not os.path.isdir(folder := path.parent):
            raise StorageError(
                f"{path} can't be opened: there is no folder {folder}; create it, or take another file with store=…"
            )
        if os.path.isdir(path):
            raise StorageError(f"{path} can't be opened: it is a folder; name a file in it with store=…")
        if is_missing(path) and not create:
            refuse_lost_log(path)
            return cls(StoreFile(MEMORY, create), path)
        return cls(StoreFile(path, create), path)

    def transaction(self) -> AbstractContextManager[None]:
        """Store all that is written inside, or nothing of it where that fails."""
        return self.file.transaction()

    def check_writable(self) -> None:
        """Raise `StorageError` where nothing can be written, before it is computed what there is to write."""
        if not isinstance(self.path, Path):
            return
        place = self.path.parent if is_missing(self.path) else self.path
        if not os.access(place, os.W_OK):
            raise StorageError(UNWRITABLE.format(path=self.path))

    def drivers(self) -> Drivers:
        """Return a look at which runs are driven."""
        return Drivers(Path(str(self.path)))

    def make_file(self) -> None:
        """Make the file of a store that was missing when it was opened.

        Raises:
            StorageError: It can't be made.
        """
        if self.file.path == MEMORY != self.path:
            self.file.move_to(str(self.path))

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def checkpoint_sizes(self) -> dict[str, int]:
        """Return the size of every run's LangGraph checkpoints in bytes, for those who have any, oldest run first."""
        if not self.file.rows("SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'"):
            return {}
        rows = self.file.rows(
            """SELECT runs.run, sum(length(checkpoint) + length(metadata)) AS size FROM runs
            JOIN checkpoints ON thread_id = runs.run GROUP BY runs.run ORDER BY runs.id"""
        )
        return {row["run"]: row["size"] for row in rows}

    def drop_checkpoints(self, runs: Collection[str]) -> None:
        """Delete the LangGraph checkpoints of runs, and give their space back to the disk."""
        with self.file.transaction():
            delete_checkpoints(self.file, runs)
        self.file.write("VACUUM")
