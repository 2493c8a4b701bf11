"""The servers of one model: the choice of the next one, and the rest of servers after failures.

1. A request goes to the server that has the fewest in flight, and to none that has as many as it may.
2. A server that has failed several times on end rests, longer each time; then it gets one request, until one succeeds.
   If all of them rest, none does: retries wait by themselves.
3. Requests wait for a free server in the order in which they came.

Used in one event loop.
"""

import asyncio
import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pydantic import SecretStr

from tertulia.models.served.chat_errors import FIRST_WAIT_S, LONGEST_WAIT_S

#: Failures on end after which a server rests: one request in ten fails by chance, and three on end hardly ever do.
_FAILURES = 3


@dataclass(eq=False)
class Server:
    """A server or provider of a model, and the state of its requests.

    Attributes:
        address: The base of its URLs, `http://127.0.0.1:8000/v1`; empty for a provider whose client knows it.
        key: The key that is sent to it, and to no other server.
        in_flight: Requests that it has not answered yet.
        failures: Of its last requests, those that failed on end.
        rests_until: When it is asked again, on the clock of `time.monotonic`.
        refused: Parts of requests that it refused by name (`refusals`), and is not sent again.
        next_start: When the next request to it may start, if the starts in a minute are limited.
    """

    address: str = ""
    key: SecretStr = field(default_factory=lambda: SecretStr(""), repr=False)
    in_flight: int = 0
    failures: int = 0
    rests_until: float = 0.0
    next_start: float = 0.0
    refused: set[str] = field(default_factory=set)

    @property
    def is_awake(self) -> bool:
        """Whether it may be asked: it has not failed again and again, or it is asked whether it is back."""
        if self.failures < _FAILURES:
            return True
        return time.monotonic() >= self.rests_until and not self.in_flight


class ServerPool:
    """The servers of a model, each with as many requests in flight as it may have."""

    def __init__(self, servers: Sequence[Server], at_once: int) -> None:
        """Take the servers, and how many requests each may have in flight."""
        self.servers, self._at_once = servers, at_once
        self._queue: deque[asyncio.Future[Server]] = deque()

    async def take(self, passed_over: Collection[Server] = ()) -> Server:
        """Return the next server as soon as one is free; servers in `passed_over` only if no other is free."""
        if not self._queue and (server := self._free(passed_over)) is not None:
            server.in_flight += 1
            return server
        place: asyncio.Future[Server] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.give_back(place.result())
            raise

    def give_back(self, server: Server) -> None:
        """Note that a request has come to its end."""
        server.in_flight -= 1
        self._hand_out()

    def note_success(self, server: Server) -> None:
        """Note that a server has answered."""
        server.failures = 0

    def note_failure(self, server: Server) -> None:
        """Note that a server has failed in a way that may pass."""
        server.failures += 1
        if len(self.servers) > 1 and server.failures >= _FAILURES:
            rest_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(server.failures - _FAILURES, 10))
            server.rests_until = time.monotonic() + rest_s
            asyncio.get_running_loop().call_later(rest_s, self._hand_out)

    def has_another(self, failed: Collection[Server]) -> bool:
        """Whether another server than these is awake."""
        return any(server.is_awake for server in self.servers if server not in failed)

    def _free(self, passed_over: Collection[Server] = ()) -> Server | None:
        awake = [server for server in self.servers if server.is_awake] or self.servers
        free = [server for server in awake if server.in_flight < self._at_once]
        return min(free, key=lambda server: (server in passed_over, server.in_flight), default=None)

    def _hand_out(self) -> None:
        while self._queue and (server := self._free()) is not None:
            place = self._queue.popleft()
            if not place.done():
                server.in_flight += 1
                place.set_result(server)
