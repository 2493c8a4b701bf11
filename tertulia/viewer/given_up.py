"""Requests whose client has gone: nobody waits for the answer, so it is not made."""

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class DropGivenUp:
    """Cancels the handlers of requests that read, once their client has closed the connection.

    A browser does so when its reader goes to another view. A request that writes is carried out all the same.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as long as its client is there."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        gone = asyncio.ensure_future(_gone(receive))

        async def receive_gone() -> Message:
            await asyncio.shield(gone)
            return {"type": "http.disconnect"}

        handler = asyncio.ensure_future(self._app(scope, receive_gone, send))
        try:
            await asyncio.wait({handler, gone}, return_when=asyncio.FIRST_COMPLETED)
            if handler.done():
                handler.result()
        finally:
            gone.cancel()
            handler.cancel()
            with suppress(asyncio.CancelledError, Exception):  # an error of the handler was raised above
                await handler


async def _gone(receive: Receive) -> None:
    """Wait until the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
