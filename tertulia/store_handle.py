"""A store file by its path, for Python code that reads it now and then."""

from pathlib import Path

from state.errors import StorageError
from storage.store import SqlStore
from tertulia.arguments import path_of


class StoreFileHandle:
    """A store file that is opened whenever something is read, and closed at once; safe in any thread."""

    def __init__(self, path: Path | str) -> None:
        """Name the file; it is not opened yet."""
        self._given = Path(path_of("store", path))
        self._absolute = _absolute(self._given)
        self.is_closed = False

    @property
    def path(self) -> Path:
        """The file as it was given; the absolute one where the current folder is another by now."""
        return self._given if _absolute(self._given) == self._absolute else self._absolute

    def __eq__(self, other: object) -> bool:
        """Return whether the other names the same file."""
        return isinstance(other, StoreFileHandle) and self._absolute.resolve() == other._absolute.resolve()

    def __hash__(self) -> int:
        """Return a hash that handles of one file have in common."""
        return hash(self._absolute.resolve())

    def opened(self) -> SqlStore:
        """Return the store, open; the caller closes it. A file that is missing is made when a run begins.

        Raises:
            StorageError: The handle was closed, or the file can't be read.
        """
        self.check_open()
        return SqlStore.open(self.path)

    def check_open(self) -> None:
        """Raise `StorageError` where the handle was closed."""
        if self.is_closed:
            raise StorageError(f"the store {self.path} was closed; open it again with tertulia.open_store")


def _absolute(path: Path) -> Path:
    try:
        return path.absolute()
    except FileNotFoundError:  # the current folder is gone
        return path
