"""The limits of a server's answer: at most `MOST_BYTES`, not compressed, no redirect to another origin, no cookies.

LangChain's classes open HTTP clients by themselves, of httpx or of httpx2, which has the same interface. Their hooks
see every request before it is sent, redirected ones too, and every answer before its body is read.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Iterator
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.request import Request

from tertulia.models.served.chat_errors import RefusedAnswerError
from tertulia.models.served.remote_requests import event_loop

#: The longest body that is read. Ollama sends about 160 bytes a token, so these are 50,000 tokens of a model that
#: thinks before it speaks; others send fewer bytes.
MOST_BYTES = 8 * 2**20

#: How many objects lie between a chat model and its HTTP client, at most.
_DEPTH = 3


def limit_answers(chat_model: Any) -> None:
    """Add the hooks to the asynchronous HTTP clients of a chat model of LangChain."""
    getattr(chat_model, "_async_client", None)  # Anthropic's is made when it is first asked for
    for client in _http_clients(chat_model, _DEPTH):
        add_limits(client)


def add_limits(client: Any) -> None:
    """Add the hooks to an asynchronous HTTP client, once."""
    client.cookies.jar.set_policy(_NoCookies())
    for event, hooks in _hooks().items():
        client.event_hooks[event] += [hook for hook in hooks if hook not in client.event_hooks[event]]


def client_options(provider: str) -> dict[str, Any]:
    """Return further options for the class of a provider; Google's does not call hooks that are added later."""
    arguments = {"event_hooks": _hooks(), "cookies": CookieJar(_NoCookies())}
    return {"client_args": arguments} if provider == "google_genai" else {}


class _NoCookies(DefaultCookiePolicy):
    """Keeps and sends none of a server's cookies: they would grow with every answer, and link the runs of a process."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        return not _is_ours() and super().set_ok(cookie, request)

    def return_ok(self, cookie: Cookie, request: Request) -> bool:
        return not _is_ours() and super().return_ok(cookie, request)


def _hooks() -> dict[str, list[Any]]:
    return {"request": [_prepare_request], "response": [_limit_answer]}


def _http_clients(holder: Any, depth: int) -> Iterator[Any]:
    """Yield the asynchronous HTTP clients among the attributes of an object, and among theirs."""
    for held in [*vars(holder).values(), *(getattr(holder, "__pydantic_private__", None) or {}).values()]:
        if hasattr(held, "event_hooks") and hasattr(held, "aclose"):
            yield held
        elif depth > 1 and hasattr(held, "__dict__") and not isinstance(held, type):
            yield from _http_clients(held, depth - 1)


def _is_ours() -> bool:
    """Return whether Tertulia makes a request: LangChain shares clients with models that the user opens beside it."""
    return asyncio.get_running_loop() is event_loop()


async def _prepare_request(request: Any) -> None:
    """Refuse to follow a redirect to another scheme, host or port, and ask for a body that is not compressed.

    A compressed body of kilobytes may become gigabytes before its size is known.
    """
    if not _is_ours():
        return
    asked = request.extensions.setdefault("tertulia_asked", request.url)  # a redirected request has it from the first
    if _origin(asked) != _origin(request.url):
        raise RefusedAnswerError(
            f"was asked at {_shown(asked)}, which redirects to {_shown(request.url)}; a prompt goes to no address that "
            "you did not name: name that one if it is right"
        )
    request.headers["Accept-Encoding"] = "identity"


async def _limit_answer(response: Any) -> None:
    """Refuse a compressed body, and have the bytes of any other counted as they come."""
    if not _is_ours():
        return
    encodings = {part.strip().lower() for part in response.headers.get("Content-Encoding", "").split(",")}
    if encodings - {"", "identity"}:
        raise RefusedAnswerError(
            f"answered with a compressed body, which was not asked for; see what answers at "
            f"{_shown(response.request.url)}, then resume"
        )
    response.stream = _limited(response.stream, response.request.url)


def _limited(stream: Any, url: Any) -> Any:
    """Return a stream that fails when the body is too long, and else yields it in one piece.

    Nothing here reads the beginning of an answer by itself, and millions of small pieces take more memory than their
    bytes.
    """
    library = importlib.import_module(type(stream).__module__.partition(".")[0])

    class LimitedStream(library.AsyncByteStream):  # type: ignore[misc, name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            body = bytearray()
            async for piece in stream:
                body += piece
                if len(body) > MOST_BYTES:
                    raise RefusedAnswerError(
                        f"answered with more than {MOST_BYTES // 2**20} MiB, which is no reply; see what answers at "
                        f"{_shown(url)}, then resume, or take another model"
                    )
            yield bytes(body)

        async def aclose(self) -> None:
            await stream.aclose()

    return LimitedStream()


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _shown(url: Any) -> str:
    """Return an address, shortened and without possible secrets."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))[:200]
