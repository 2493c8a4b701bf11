"""A server that answers every request as the test wants, byte by byte, until it is done or the client hangs up."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Returns the pieces of an answer, status line and headers among them, from the path that was asked.
Answer = Callable[[str], Iterable[bytes]]


@dataclass
class Hostile:
    """What a server was asked, and how much of its answers was taken.

    Attributes:
        answer: Its answers.
        address: Where it listens.
        paths, headers, bodies: What came.
        taken: Bytes that could be sent before the client hung up.
    """

    answer: Answer
    address: str = ""
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    taken: int = 0

    @property
    def model(self) -> str:
        """The name under which Tertulia opens a model here."""
        return f"{self.address}/v1#parrot"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hostile: Hostile

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        hostile = self.hostile
        hostile.paths.append(self.path)
        hostile.headers.append({name.lower(): value for name, value in self.headers.items()})
        hostile.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.close_connection = True
        try:
            for piece in hostile.answer(self.path):
                self.wfile.write(piece)
                hostile.taken += len(piece)
        except OSError:
            pass

    do_GET = do_POST


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hung up."""


@contextmanager
def answering(answer: Answer) -> Iterator[Hostile]:
    """Serve on this machine while inside."""
    hostile = Hostile(answer)
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"hostile": hostile}))
    hostile.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield hostile
    finally:
        server.shutdown()
        server.server_close()


def head(status: str = "200 OK", **headers: str) -> bytes:
    """Return status line and headers; an underscore in a name stands for a hyphen."""
    lines = [
        f"HTTP/1.1 {status}",
        "Connection: close",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()
