"""The requests that are refused before anything is answered, and the headers of every answer (SECURITY.md).

The server listens on the loopback, which any page of any site can reach through the browser of the same machine. Four
guards keep such pages out: the host name (a site may let its own name resolve to the loopback), the origin, the
browser's statement about the source of a request, and an optional token. The token is in addresses, never in a cookie:
browsers send the cookies of a host to all of its ports, so any other local server would receive it.

A seat in the page has a token of its own, which opens the paths of seats alone (tertulia/viewer/seats.py).
"""

import hmac
import json
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tertulia.viewer.seats import SEAT_HEADER, SEAT_PATHS, SeatTokens

#: The header in which the page's script sends the token.
TOKEN_HEADER = "x-tertulia-token"

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

#: Headers of a report, which may be a stranger's: it has styles of its own; nothing in it runs, is fetched,
#: sent, or leads anywhere. It has no origin: so it needs no opener's policy, beside which browsers refuse a sandbox.
INERT = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "unsafe-none",
}

#: The path of a report's page.
REPORT_PATH = "/report"

_NO_TOKEN = "This address lacks the token. Open the address that `tertulia view` has printed."

_NO_SEAT = "This invitation is not valid, or was withdrawn. Ask who made it for another one."


class Guards:
    """Refuses requests of other sites and without the token, and adds the headers to all answers."""

    def __init__(self, app: ASGIApp, token: str | None, seats: SeatTokens | None = None) -> None:
        """Wrap an application; `token` is required of every request, if any, or else a seat's."""
        self._app, self._token, self._seats = app, token, seats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS | (INERT if scope["path"] == REPORT_PATH else {}))
            await send(message)

        problem = self._problem(scope)
        answer = self._app if problem is None else refusal(scope, problem)
        await answer(scope, receive, send_guarded)

    def _problem(self, scope: Scope) -> str | None:
        """Return why a request is refused; `None` if it is not."""
        headers = Headers(scope=scope)
        hosts = [host.lower() for host in headers.getlist("host")]
        if len(hosts) != 1 or hosts[0] not in _hosts(scope):
            return "This host name is not the server's. Open the address that `tertulia view` has printed."
        if any(origin != f"http://{hosts[0]}" for origin in headers.getlist("origin")):
            return "Requests of other sites are refused."
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _opens_the_page(scope, headers):
            return "Requests of other sites are refused."
        if self._token is not None and not _has_token(scope, headers, self._token):
            return self._problem_of_seat(scope, headers)
        return None

    def _problem_of_seat(self, scope: Scope, headers: Headers) -> str | None:
        """Note the seat from which a request without the token comes; return why it is refused, `None` if it is not."""
        given = [*_query(scope).get("seat", []), *headers.getlist(SEAT_HEADER)]
        if not given or self._seats is None:
            return _NO_TOKEN
        seat = self._seats.seat_of(given[0])
        if len({*given}) != 1 or seat is None:
            return _NO_SEAT
        scope["seat"], scope["seat_token"] = seat, given[0]
        return None if scope["path"] in SEAT_PATHS else f"This invitation is for the seat of {seat.agent} alone."


def refusal(scope: Scope, problem: str, status: int = 403) -> Response:
    """Return an answer with the problem: to scripts as JSON, to people as text."""
    if scope["path"].startswith("/api/"):
        return Response(json.dumps({"error": problem}), status, media_type="application/json")  # any text in ASCII
    return PlainTextResponse(problem, status)


def _hosts(scope: Scope) -> list[str]:
    port = scope["server"][1]
    names = ("127.0.0.1", "localhost", "[::1]")
    return [f"{name}:{port}" for name in names] + (list(names) if port == 80 else [])


def _opens_the_page(scope: Scope, headers: Headers) -> bool:
    """Return whether a request opens the page itself in a window of its own, which other sites can't read."""
    return (
        scope["method"] == "GET"
        and scope["path"] == "/"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _has_token(scope: Scope, headers: Headers, token: str) -> bool:
    given = [*_query(scope).get("token", []), *headers.getlist(TOKEN_HEADER)]
    return any(hmac.compare_digest(value.encode(errors="replace"), token.encode()) for value in given)


def _query(scope: Scope) -> dict[str, list[str]]:
    return parse_qs(scope["query_string"].decode("latin-1"))
