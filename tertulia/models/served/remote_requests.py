"""Requests to one remote model: their server, their pace, their time limit, and their retries (by tenacity).

All remote models share one event loop in a thread of its own (`event_loop`): connections outlive the loop of a run
there, and a local model at work does not make answers look late.
"""

import asyncio
import contextvars
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from tertulia.models.served.chat_errors import (
    LONGEST_LOADING_S,
    as_model_error,
    describe_failure,
    is_loading,
    is_temporary,
    wait_s,
)
from tertulia.models.served.servers import Server, ServerPool
from tertulia.state.errors import TertuliaError
from tertulia.state.language_model import Activity, Report
from tertulia.state.parameters import Parameters

T = TypeVar("T")


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop in which all remote requests are made."""
    # A loop keeps the context in which it was made, and so would a host's graph whose step is the first to ask.
    loop = contextvars.Context().run(asyncio.new_event_loop)
    threading.Thread(target=loop.run_forever, name="remote models", daemon=True).start()
    return loop


class RemoteRequests:
    """The requests to one model; used in `event_loop` only."""

    def __init__(self, model: str, parameters: Parameters, servers: Sequence[Server], report: Report) -> None:
        """Note the limits, which hold for each server; keys of servers are kept out of messages.

        `report` is called whenever a request waits, and when none waits any more.
        """
        self._model, self._report = model, report
        self._retries, self._timeout_s = parameters.max_retries, parameters.request_timeout_s
        self._pool = ServerPool(servers, parameters.max_concurrency)
        self._per_minute = parameters.requests_per_minute
        self._waits: dict[object, str] = {}

    async def send(self, request: Callable[[Server], Awaitable[T]], generator: random.Random) -> T:
        """Return the result of a request, repeated while it fails for reasons that may pass.

        After a failure of one server another is asked at once, if there is one.

        Raises:
            ModelError: It failed for good.
        """
        activity = ""
        failed: list[Server] = []
        loading, loading_until = 0, time.monotonic() + LONGEST_LOADING_S

        def wait(state: RetryCallState) -> float:
            nonlocal activity
            error = state.outcome.exception() if state.outcome else None
            assert error is not None
            if self._pool.has_another(failed):
                seconds = 0.0
            else:
                seconds = wait_s(error, state.attempt_number, generator)
                del failed[:-1]
            failure = describe_failure(error, self._model, self._timeout_s)
            retry = f"retry {state.attempt_number - loading} of {self._retries}"
            activity = f"{failure}; {'asked again' if is_loading(error) else retry} in {_in_words(seconds)}"
            return seconds

        def stops(state: RetryCallState) -> bool:
            nonlocal loading
            error = state.outcome.exception() if state.outcome else None
            if error is not None and is_loading(error):
                loading += 1
                return time.monotonic() > loading_until
            return state.attempt_number - loading > self._retries

        async def sleep(seconds: float) -> None:
            with self._waiting(activity):
                await asyncio.sleep(seconds)

        retrying = AsyncRetrying(
            sleep=sleep,
            stop=stops,
            wait=wait,
            retry=retry_if_exception(is_temporary),
            reraise=True,
        )
        attempts = 0
        try:
            async for attempt in retrying:
                attempts += 1
                with attempt:
                    return await self._attempt(request, failed)
        except TertuliaError:
            raise
        except Exception as error:
            model, key = self._where(failed[-1]), failed[-1].key.get_secret_value()
            raise as_model_error(error, model, key=key, timeout_s=self._timeout_s, attempts=attempts) from None
        raise AssertionError  # the last attempt returns or raises

    async def _attempt(self, request: Callable[[Server], Awaitable[T]], failed: list[Server]) -> T:
        server = await self._pool.take(passed_over=failed)
        try:
            await self._keep_pace(server)
            async with asyncio.timeout(self._timeout_s):
                result = await request(server)
            self._pool.note_success(server)
            return result
        except Exception as error:
            failed.append(server)
            if is_temporary(error):
                self._pool.note_failure(server)
            raise
        finally:
            self._pool.give_back(server)

    def _where(self, server: Server) -> str:
        """Return the model's id with the server alone that an error comes from."""
        _, has_name, name = self._model.partition("#")
        return f"{server.address}#{name}" if server.address and has_name else self._model

    async def _keep_pace(self, server: Server) -> None:
        """Wait until the next request to a server may start: so many start in a minute, evenly."""
        if not self._per_minute:
            return
        now = time.monotonic()
        start = max(now, server.next_start)
        server.next_start = start + 60 / self._per_minute
        if start > now:
            with self._waiting(f"waiting {_in_words(start - now)}: at most {self._per_minute:g} requests a minute"):
                await asyncio.sleep(start - now)

    @contextmanager
    def _waiting(self, text: str) -> Iterator[None]:
        """Report a wait while inside; then the latest of those that go on, or that there is none."""
        wait = object()
        self._waits[wait] = text
        self._report(Activity(text))
        try:
            yield
        finally:
            del self._waits[wait]
            self._report(Activity(next(reversed(self._waits.values()), "")))


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1f} s"
