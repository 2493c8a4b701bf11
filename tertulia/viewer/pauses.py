"""Pauses from the page: asked for, taken back and ended if the page may start runs, with the host's token."""

from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.held_line import Passed, let_pass, pause_page, set_pause
from tertulia.viewer.documents.seat import ConflictError
from tertulia.viewer.sent import sent_json
from tertulia.viewer.starting import Starter
from tertulia.viewer.store_reader import StoreReader


class PausePages:
    """The handlers of requests about pauses."""

    def __init__(self, reader: StoreReader, starter: Starter) -> None:
        self._reader, self._starter = reader, starter

    async def shown(self, request: Request) -> Response:
        """Answer whether a run is paused, and the line that is held."""
        return JSONResponse(
            await self._reader.read(lambda store: pause_page(store, request.query_params.get("run", "")))
        )

    async def changed(self, request: Request) -> Response:
        """Pause a run before its next line, take that back, or let a held line pass; the run goes on from it.

        The body is `{"run": …, "pause": true or false}` or `{"run": …, "turn": …, "words": … or null, "again": …}`.
        """
        match await sent_json(request):
            case {"run": str(run), "pause": bool(wanted), **more} if not more:
                return JSONResponse(await self._stored(lambda store: set_pause(store, run, wanted)))
            case {"run": str(run), "turn": int(turn), "words": str() | None as words, "again": bool(again), **more} if (
                not more and type(turn) is int
            ):
                passed = Passed(turn, words, again)
                stored = await self._stored(lambda store: let_pass(store, run, passed))
                await self._starter.go_on_if_left(self._reader, run)
                return JSONResponse(stored)
        raise UsageError("a pause has a run; a line that is let pass has a run, turn, words and again")

    async def _stored(self, store_it: Callable[[SqlStore], dict[str, Any]]) -> dict[str, Any]:
        try:
            return await self._reader.write(store_it)
        except ConflictError as error:
            raise HTTPException(409, str(error)) from None
