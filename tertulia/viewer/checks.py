"""A line, or a thought, that is checked from the page: the run's model measures its sources, unit by unit."""

from collections.abc import Callable

from starlette.requests import Request

from tertulia.state.documents import Document
from tertulia.state.errors import StorageError, UsageError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.turn import turn_page
from tertulia.viewer.sent import sent_json
from tertulia.viewer.store_reader import StoreReader
from tertulia.views.reading.shared_turns import as_it_was

#: Measures the loss of a turn's line without each unit that it leaned on, and keeps that in the store. It takes a
#: store, a run, a turn, and the part of an exchange, or the agent of a meeting whose thought is meant; empty for the
#: turn's own line.
Check = Callable[[SqlStore, str, int, str], None]


class Checker:
    """Checks lines for the page, one after the other."""

    def __init__(self, store: StoreReader, measurer: StoreReader, check: Check) -> None:
        """Note the stores and the check; `measurer` is a reader that may wait for a model."""
        self._store, self._measurer, self._check = store, measurer, check

    async def is_offered(self) -> bool:
        """Return whether lines can be checked: measurements are kept, so the store must be writable."""
        try:
            await self._store.read(SqlStore.check_writable)
        except StorageError:
            return False
        return True

    async def checked(self, request: Request) -> Document:
        """Measure the units that a line leaned on, and return its turn's document, which has the measurement.

        The body is `{"run": …, "turn": …, "part": …}`; `part` is empty for the turn's own line, and for a thought the
        agent whose it is.
        """
        match await sent_json(request):
            case {"run": str(run), "turn": int(turn), "part": str(part), **more} if not more and type(turn) is int:
                await self._measurer.write(lambda store: self._measure(store, run, turn, part))
                return await self._store.read(lambda store: turn_page(store, run, turn))
        raise UsageError("a check has a run, a turn and a part")

    def _measure(self, store: SqlStore, run: str, turn: int, part: str) -> None:
        record = store.run(run)
        if as_it_was(store, record, turn).rehearsed:
            raise UsageError(f"run {record.run} was rehearsed: no model said its lines, so there is nothing to measure")
        store.check_writable()
        self._check(store, record.run, turn, part)
