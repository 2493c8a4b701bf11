"""A port of the loopback, and the server that answers there until it is stopped."""

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from tertulia.runs.driving.interrupting import run_or_abandon
from tertulia.runs.driving.stop_signals import reacting
from tertulia.state.errors import UsageError

#: How many ports are tried if the first is in use.
_TRIED = 100

#: How long an answer may still take when the server is stopped.
_END_WITHIN_S = 1

#: The time for a whole request; a partial one would hold its connection, and an open file, for ever.
REQUEST_WITHIN_S = 10


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback, at a port or the next free one; 0 for any.

    Raises:
        UsageError: The port can't be listened at, or all that follow are in use.
    """
    ports = range(port, min(port + _TRIED, 65536))
    for candidate in ports:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", candidate))
            listening.listen(128)
            return listening
        except OSError as error:
            listening.close()
            if error.errno != errno.EADDRINUSE:
                problem = f"can't be listened at ({error.strerror}); take another, or --port 0 for any"
                raise UsageError(f"--port {candidate}: {problem}") from None
    raise UsageError(f"--port {port}: it and those up to {ports[-1]} are in use; take another, or --port 0 for any")


class _TimedProtocol(H11Protocol):
    """A connection that is closed if no whole request comes in time."""

    _waiting: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_whole = self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
        if is_whole:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(REQUEST_WITHIN_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class PageServer(uvicorn.Server):
    """The server of an application; it closes the application's connections, event streams first."""

    def __init__(self, app: Starlette, answers: Callable[[], None] | None = None) -> None:
        """Prepare the server; `answers` is called as soon as requests are answered."""
        super().__init__(
            uvicorn.Config(
                app,
                http=_TimedProtocol,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                log_level="critical",  # errors are logged by the application; a cancelled answer is no error
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_END_WITHIN_S,
            )
        )
        self._app, self._answers = app, answers

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the end; a signal that comes while the event loop is made or closed waits for that."""
        run_or_abandon(self.serve(sockets))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self._answers is not None:
            self._answers()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams and the started commands, then the server."""
        self._app.state.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """End the server on Ctrl-C, SIGTERM or a closed terminal, and then raise `KeyboardInterrupt`."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with reacting(lambda number: self.handle_exit(number, None)):
            yield
        if self._captured_signals:
            raise KeyboardInterrupt
