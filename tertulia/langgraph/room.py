"""A thread with an event loop of its own, in which models and stores are open and every step of a hosted graph runs.

So a graph can be invoked synchronously or asynchronously, from any thread or event loop, and no model blocks the
caller's loop. A step that is waited for in a thread takes no other thread: agents that think together can't wait for
each other for ever.

1. A process has one room, made at its first step and closed at its end. A forked process makes its own.
2. A store is open as long as a graph is alive that uses it; one in memory, and models, as long as the process.
"""

import asyncio
import atexit
import contextvars
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from langchain_core.runnables.config import var_child_runnable_config

from tertulia.state.errors import UsageError
from tertulia.storage.sqlite.opening import MEMORY
from tertulia.storage.store import SqlStore

Result = TypeVar("Result")

#: How long the end of a process waits for the step that runs, in seconds.
_LAST_STEP_S = 5.0


class Room:
    """The thread, its stores by address, and its models by name."""

    def __init__(self) -> None:
        self.models: dict[object, Any] = {}
        self._stores: dict[str, SqlStore] = {}
        self._users: Counter[str] = Counter()
        # A loop keeps the context in which it was made, and so would the graph whose step makes the room.
        self._loop = contextvars.Context().run(asyncio.new_event_loop)
        self._thread = threading.Thread(target=self._run, name="tertulia", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            for store in self._stores.values():
                store.close()
            self._loop.close()

    def store(self, path: str) -> SqlStore:
        """Return an open store, made if it is missing; in the thread of the room."""
        if path not in self._stores:
            self._stores[path] = SqlStore.open(path, create=True)
        return self._stores[path]

    def keep_store(self, path: str, user: object) -> None:
        """Keep a store open as long as an object lives; in the thread of the room."""
        self._users[path] += 1
        # Garbage is collected in any thread, in the middle of anything.
        weakref.finalize(user, self._call, lambda: self._release(path)).atexit = False

    def _call(self, function: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)

    def _release(self, path: str) -> None:
        self._users[path] -= 1
        if not self._users[path] and path != MEMORY and (store := self._stores.pop(path, None)):
            store.close()

    def close(self) -> None:
        """Stop the thread, and close the stores."""
        self._call(self._loop.stop)
        self._thread.join(_LAST_STEP_S)

    def wait(self, step: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of a step; the caller's thread waits for it.

        Raises:
            UsageError: A step of this room waits, and so would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise UsageError("a node of Tertulia's graph invokes another and would wait for itself: await its ainvoke")
        future = self._submit(step)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def wait_in_loop(self, step: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of a step; the caller's event loop goes on meanwhile."""
        return await asyncio.wrap_future(self._submit(step))

    def _submit(self, step: Callable[[], Coroutine[Any, Any, Result]]) -> "Future[Result]":
        context = contextvars.copy_context()
        # Graphs within a step are separate from the caller's: else they would store their steps with its checkpointer.
        context.run(var_child_runnable_config.set, None)
        return context.run(lambda: asyncio.run_coroutine_threadsafe(step(), self._loop))


class _Process:
    """The room of a process, or none yet."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.room: Room | None = None
        self._of_parents: list[Room] = []

    def forked(self) -> None:
        # Threads do not outlive a fork. The parent's connections must not be closed here, nor be collected.
        if self.room is not None:
            self._of_parents.append(self.room)
        self.lock, self.room = threading.Lock(), None


_process = _Process()
os.register_at_fork(after_in_child=_process.forked)


def room() -> Room:
    """Return the room of this process."""
    with _process.lock:
        if _process.room is None:
            _process.room = Room()
            atexit.register(_process.room.close)
        return _process.room
