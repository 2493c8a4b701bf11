"""A server on this machine that speaks OpenAI's protocol, answers deterministically, and fails a quarter of the time.

Failures on the way (429, 500, a body that breaks off) are drawn at random, for the same request is answered later. An
answer that is no JSON belongs to its request, or two runs of one conversation would not be the same. Where it is told
to, it talks nonsense: what nobody can take for an answer.
"""

import hashlib
import json
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "parrot"

#: Share of the requests that fail on their way, and of those whose answer is no JSON.
ON_THE_WAY, NO_JSON = 0.2, 0.06

_WORDS = ("the ferry", "the baker", "the harbour", "a long walk", "the timetable", "supper", "the tide")


#: What the server says when it talks nonsense: a status, and a body, whole.
_NONSENSE: tuple[tuple[int, bytes], ...] = (
    (200, b"<html><body>Welcome to the hotel's network</body></html>"),
    (200, b"{}"),
    (200, b"[]"),
    (200, b"null"),
    (200, b"\xff\xfe\x00"),
    (200, b'{"choices": []}'),
    (200, b'{"choices": [{"message": {"role": "assistant", "content": 17}}]}'),
    (200, b'{"choices": {"message": "Yes."}}'),
    (200, b'{"object": "error", "message": "no such thing"}'),
    (400, b'{"error": {"message": "what?"}}'),
    (404, b"not here"),
    (418, b""),
)


class FailingServer(ThreadingHTTPServer):
    """The server.

    Attributes:
        talks_nonsense: Whether it talks nonsense now.
    """

    daemon_threads = True
    talks_nonsense = False

    @property
    def model(self) -> str:
        """The name under which Tertulia opens the model."""
        return f"http://127.0.0.1:{self.server_port}/v1#{MODEL}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that were killed."""


@contextmanager
def failing_server() -> Iterator[FailingServer]:
    """Serve while inside."""
    server = FailingServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def answer(request: dict[str, Any]) -> str:
    """Return the answer to a request: values for the form in its last message, now and then only a part of them."""
    asked = json.dumps([request["messages"], request.get("seed")])
    drawn = random.Random(hashlib.blake2b(asked.encode()).digest())
    form = json.loads(re.findall(r"\{.*\}", request["messages"][-1]["content"])[-1])
    text = json.dumps({name: _value(described, drawn) for name, described in form.items()})
    if drawn.random() < NO_JSON:
        return drawn.choice(("I would rather not answer in that form.", text[: len(text) // 3], ""))
    return text


def _value(described: str, drawn: random.Random) -> object:
    if numbers := re.match(r"a whole number from (-?\d+) to (-?\d+)", described):
        return drawn.randint(int(numbers[1]), int(numbers[2]))
    if described == "true or false":
        return drawn.random() < 0.3
    if described.startswith("one of: "):
        return drawn.choice(described.removeprefix("one of: ").split(", "))
    return f"I keep thinking of {drawn.choice(_WORDS)} and {drawn.choice(_WORDS)}."


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: FailingServer

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of single requests."""

    def do_POST(self) -> None:
        """Answer, or fail."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.talks_nonsense:
            self._send(*random.choice(_NONSENSE))
            return
        failure = random.choice(("429", "500", "cut")) if random.random() < ON_THE_WAY else None
        if failure in ("429", "500"):
            error = {"error": {"message": "not now", "type": "server_error", "code": failure}}
            self._send(int(failure), json.dumps(error).encode())
            return
        message = {"role": "assistant", "content": answer(request)}
        whole = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
        self._send(200, json.dumps(whole).encode(), cut=failure == "cut")

    def _send(self, status: int, body: bytes, cut: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.wfile.flush()
        self.close_connection = cut
