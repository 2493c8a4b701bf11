"""Changes of the store as server-sent events for all open pages, from one watch of the store."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator

from tertulia.state.errors import TertuliaError
from tertulia.storage.ids import resolve_id
from tertulia.storage.store import SqlStore
from tertulia.storage.watching import StoreProgress, Watch
from tertulia.viewer.store_reader import StoreReader

#: Seconds between two looks at the store; when a page connects again; seconds between signs of life.
_LOOK_EVERY_S, _RECONNECT_AFTER_MS, _HEARTBEAT_S = 0.25, 1000, 15.0


class Changes:
    """The event streams of all pages; the store is watched only while there are any."""

    def __init__(self, reader: StoreReader) -> None:
        self._reader = reader
        self._watch: tuple[SqlStore, Watch] | None = None
        self._latest: StoreProgress | str | None = None  # a text says why the store can't be read
        self._clients: set[asyncio.Event] = set()
        self._looking: asyncio.Task[None] | None = None
        self._is_closed = False

    async def events(self, run: str | None) -> AsyncIterator[str]:
        """Yield the state of a run, at once and whenever it or the list of runs changes.

        Args:
            run: Its id, a unique beginning of it, or `@last`; `None` for the list alone.
        """
        changed = asyncio.Event()
        self._clients.add(changed)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield f"retry: {_RECONNECT_AFTER_MS}\n\n"
            last = ""
            while not self._is_closed:
                changed.clear()
                if (event := self._event(run)) != last:
                    last = event
                    yield event
                try:
                    await asyncio.wait_for(changed.wait(), _HEARTBEAT_S)
                except TimeoutError:
                    yield ": nothing has changed\n\n"
        finally:
            self._clients.discard(changed)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        for client in self._clients:
            client.set()

    async def _look(self) -> None:
        while self._clients and not self._is_closed:
            try:
                latest: StoreProgress | str = await self._reader.read(self._read)
            except TertuliaError as error:
                latest = str(error)
            except Exception:
                logging.getLogger(__name__).exception("the store could not be watched")
                latest = "the store could not be read; the terminal of `tertulia view` says why"
            if latest != self._latest:
                self._latest = latest
                self._wake()
            await asyncio.sleep(_LOOK_EVERY_S)
        self._looking = self._latest = None

    def _read(self, store: SqlStore) -> StoreProgress:
        if self._watch is None or self._watch[0] is not store:
            self._watch = store, Watch(store)
        return self._watch[1].look()

    def _event(self, run: str | None) -> str:
        if self._latest is None:
            return ""
        if isinstance(self._latest, str):
            return f"event: unreadable\ndata: {json.dumps({'error': self._latest})}\n\n"
        runs, row = self._latest.runs, None
        try:
            name = None if run is None else resolve_id(run, list(runs), "run", self._reader.path)
        except TertuliaError:  # several begin like that
            name = None
        if name is not None:
            row = {"run": name, "status": runs[name].status, "turns": runs[name].turns, "driven": runs[name].is_driven}
        return f"data: {json.dumps({'runs': self._latest.digest, 'run': row})}\n\n"
