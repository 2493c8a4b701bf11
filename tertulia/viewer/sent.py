"""Requests that the page sends to the server."""

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from tertulia.state.errors import UsageError

#: The most bytes that are read of a request, so that a line that is far too long is refused in a sentence.
_LARGEST_LINE_BYTES = 2_000_000


def check_sender(request: Request, media_type: str) -> None:
    """Refuse a request that the page has not sent, or of another media type than the one that the page sends.

    Pages of other sites were refused before (viewer/security.py).

    Raises:
        HTTPException: It has no origin, or another media type.
    """
    if not request.headers.get("origin"):
        raise HTTPException(403, "This is done from the page alone.")
    if request.headers.get("content-type") != media_type:
        raise HTTPException(400, f"The page sends this as {media_type}.")


async def sent_json(request: Request) -> Any:
    """Return the JSON that the page has sent."""
    check_sender(request, "application/json")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_LINE_BYTES:
            raise HTTPException(413, "The line is far too long. Nothing was sent: shorten it.")
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise UsageError("what was sent is no JSON") from None
