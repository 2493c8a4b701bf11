"""Requests that the page sends to the server."""

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from tertulia.state.errors import UsageError

#: The most bytes that are read of a request, so that a line that is far too long is refused in a sentence.
_LARGEST_LINE_BYTES = 2_000_000


async def sent_json(request: Request) -> Any:
    """Return the JSON that the page has sent; a page of another site was refused before (viewer/security.py)."""
    if not request.headers.get("origin"):
        raise HTTPException(403, "A seat is taken, a run is paused and a line is checked from the page alone.")
    if request.headers.get("content-type") != "application/json":
        raise HTTPException(400, "What is sent is described by JSON.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_LINE_BYTES:
            raise HTTPException(413, "The line is far too long. Nothing was sent: shorten it.")
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise UsageError("what was sent is no JSON") from None
