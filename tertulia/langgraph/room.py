"""A thread with an event loop of its own, in which models and stores are open and every step of a hosted graph runs.

So a graph can be invoked synchronously or asynchronously, from any thread or event loop, and no model blocks the
caller's loop. A step that is waited for in a thread takes no other thread: agents that think together can't wait for
each other for ever.
"""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

from langchain_core.runnables.config import var_child_runnable_config

from tertulia.storage.store import SqlStore

Result = TypeVar("Result")


class Room:
    """The thread, its stores by address, and its models by name."""

    def __init__(self) -> None:
        self.models: dict[object, Any] = {}
        self._stores: dict[str, SqlStore] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="tertulia", daemon=True).start()

    def store(self, path: str) -> SqlStore:
        """Return an open store, made if it is missing; in the thread of the room."""
        if path not in self._stores:
            self._stores[path] = SqlStore.open(path, create=True)
        return self._stores[path]

    def wait(self, step: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of a step; the caller's thread waits for it."""
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


def room() -> Room:
    """Return the room of this process."""
    return _room_of(os.getpid())


@cache
def _room_of(process: int) -> Room:
    return Room()  # threads do not outlive a fork
