"""Read the store in a thread that keeps it open, and reopens it when its file was made or replaced."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from tertulia.storage.addresses import StoreAddress
from tertulia.storage.store import SqlStore

Result = TypeVar("Result")

#: How long the end of the thread is waited for; it may be reading a long document.
_END_WITHIN_S = 0.5


class StoreReader:
    """A store that is read for many requests, one after the other.

    SQLite's connections belong to the thread that made them. The thread is a daemon: the process does not wait for an
    unwanted document. A missing file is an empty store.
    """

    def __init__(self, path: StoreAddress) -> None:
        self.path = path
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._store: SqlStore | None = None
        self._file: tuple[int, int] | None = None

    async def read(self, read: Callable[[SqlStore], Result]) -> Result:
        """Return the result of a function that reads from the store, all of it as it was at one moment.

        Raises:
            StorageError: The store can't be read; it is reopened next time.
        """

        def read_at_once(store: SqlStore) -> Result:
            with store.reading():
                return read(store)

        return await self.write(read_at_once)

    async def write(self, write: Callable[[SqlStore], Result]) -> Result:
        """Return the result of a function that writes to the store, and reads in its own transactions.

        Raises:
            StorageError: The store can't be written; it is reopened next time.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="store", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def finish(settle: Callable[[Any], None], value: Any) -> None:
            if not future.done():  # the request may have been given up
                settle(value)

        def task() -> None:
            if future.cancelled():  # given up before its turn came
                return
            try:
                settle, value = future.set_result, write(self._opened())
            except Exception as error:
                self._close()
                settle, value = future.set_exception, error  # type: ignore[assignment]
            with suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(finish, settle, value)

        self._tasks.put(task)
        return await future

    def close(self) -> None:
        """Close the store and end the thread, without waiting long."""
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join(_END_WITHIN_S)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
        self._close()

    def _opened(self) -> SqlStore:
        """Return the store, reopened if its file is another one."""
        file = self._identity()
        if self._store is None or file != self._file:
            self._close()
            self._store, self._file = SqlStore.open(self.path), file
        return self._store

    def _identity(self) -> tuple[int, int] | None:
        if not isinstance(self.path, Path):
            return None
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
