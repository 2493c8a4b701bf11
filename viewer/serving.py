"""A port of the loopback, and the server that answers at it until it is stopped."""

import errno
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from state.errors import UsageError

#: How many ports are tried where the first is in use.
_TRIED = 100

#: How long an answer may still take when the server is stopped.
_END_WITHIN_S = 1


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


class PageServer(uvicorn.Server):
    """The server of an application; what the application has open ends with it, event streams first."""

    def __init__(self, app: Starlette, answers: Callable[[], None] | None = None) -> None:
        """Prepare the server.

        Args:
            app: Made by `viewer.server.build_app`.
            answers: Called as soon as requests are answered.
        """
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                log_level="critical",  # errors are logged by the application; a cancelled answer is none
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_END_WITHIN_S,
            )
        )
        self._app, self._answers = app, answers

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self._answers is not None:
            self._answers()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams and what was started, then the server."""
        self._app.state.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """End the server where Ctrl-C, SIGTERM or a closed terminal asks for it, and then raise `KeyboardInterrupt`."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._captured_signals:
            raise KeyboardInterrupt
