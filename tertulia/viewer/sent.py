"""Requests that the page sends to the server."""

import json
from math import isfinite
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from tertulia.state.errors import UsageError

#: The most bytes that are read of a request, so that a line that is far too long is refused in a sentence.
LARGEST_LINE_BYTES = 2_000_000

_TOO_LONG = "The line is far too long. Nothing was sent: shorten it."

#: The largest number that JavaScript, and so the page, counts with exactly.
_LARGEST_NUMBER = 2**53 - 1


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


async def sent_json(
    request: Request,
    at_most: int = LARGEST_LINE_BYTES,
    too_much: str = "The line is far too long. Nothing was sent: shorten it.",
) -> Any:
    """Return the JSON that the page has sent, whose numbers are finite and none larger than the page counts.

    Args:
        at_most: Bytes.
        too_much: The answer to more of them.

    Raises:
        HTTPException: It is too long, or was not sent by the page.
        UsageError: It is no such JSON.
    """
    check_sender(request, "application/json")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > at_most:
            raise HTTPException(413, too_much)
    try:
        return json.loads(bytes(body), parse_constant=_number, parse_float=_number, parse_int=_whole_number)
    except (ValueError, RecursionError):
        raise UsageError("what was sent is no JSON, or has a number that is too large") from None


def _number(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError
    return number


def _whole_number(text: str) -> int:
    if abs(number := int(text)) > _LARGEST_NUMBER:
        raise ValueError
    return number
