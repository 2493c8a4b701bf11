"""A store by its address, for Python code that reads it from time to time."""

from pathlib import Path

from tertulia.state.errors import StorageError
from tertulia.state.wrong_arguments import path_of, with_named_arguments
from tertulia.storage.addresses import ServerAddress, StoreAddress, store_address
from tertulia.storage.store import SqlStore


class StoreHandle:
    """A store that is opened whenever something is read, and closed at once; safe in any thread."""

    @with_named_arguments
    def __init__(self, path: StoreAddress | str) -> None:
        """Name the store; it is not opened yet."""
        self._given = store_address(path if isinstance(path, ServerAddress) else path_of("store", path))
        self._absolute = _absolute(self._given)
        self.is_closed = False

    @property
    def path(self) -> StoreAddress:
        """The address as it was given; the absolute one if the current folder has changed."""
        return self._given if _absolute(self._given) == self._absolute else self._absolute

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreHandle) and _resolved(self._absolute) == _resolved(other._absolute)

    def __hash__(self) -> int:
        return hash(_resolved(self._absolute))

    def opened(self) -> SqlStore:
        """Open the store; the caller closes it. A missing file is made when a run begins.

        Raises:
            StorageError: The handle was closed, or the file can't be read.
        """
        self.check_open()
        return SqlStore.open(self.path)

    def check_open(self) -> None:
        """Raise `StorageError` if the handle was closed."""
        if self.is_closed:
            raise StorageError(f"the store {self.path} was closed; open it again with tertulia.open_store")


def _resolved(address: StoreAddress) -> StoreAddress:
    return address.resolve() if isinstance(address, Path) else address


def _absolute(path: StoreAddress) -> StoreAddress:
    if not isinstance(path, Path):
        return path
    try:
        return path.absolute()
    except FileNotFoundError:  # the current folder is gone
        return path
