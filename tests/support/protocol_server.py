"""A small server that speaks OpenAI's protocol, answers by the rehearsal, and fails on demand.

`python -m tests.support.protocol_server --port 8000 --failures 0.1 --latency 0.2` runs it by itself.
"""

import argparse
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

#: What a server may do instead of answering.
FAILURES = ("429", "500", "cut", "wrong_json", "half_json")

Answer = Callable[[dict[str, Any]], str]

#: Reads the prompt of a request: its tokens, each with its log-probability after those before; the first has none.
Reading = Callable[[dict[str, Any]], list[tuple[str, float | None]]]


def read_words(request: dict[str, Any]) -> list[tuple[str, float | None]]:
    """Words and what stands between them, as likely as their letters say."""
    prompt = request.get("prompt") or "\n".join(text_of(message["content"]) for message in request["messages"])
    tokens = re.findall(r"\w+|\W", prompt)
    return [(token, None if index == 0 else -(sum(map(ord, token)) % 97) / 10) for index, token in enumerate(tokens)]


@dataclass
class Served:
    """What a server was asked, and how it answers.

    Attributes:
        failures: What to do instead of answering, one after another; then every request is answered.
        failure_rate: Chance of a failure drawn from `drawn`, beside them.
        latency_s: Seconds until an answer.
        retry_after: The header of that name that a 429 carries.
        key: The key that is wanted; `None`: none.
        models: Who is served.
        knows_schemas: Whether `response_format` is known.
        refuses_pictures: Status and words with which a request with a picture is refused; `None`: it is answered.
        answer: The text of an answer; by default, values drawn for each field of the form in the last message.
        tells: How log-probabilities of prompts are told: by chat completions (vLLM), or by completions with `echo`;
            `None`: not at all.
        read: Reads a prompt, for them.
        instead: Returns status and body of an answer to a request of its choice; `None`: it is answered as others.
        altered: Changes the body of every answer before it is sent.
        hold_from: From so many answers on, requests are held until `release` is set: asked, and never answered.
        requests, answered: What came, and how often each whole answer was given, by the request's messages and seed.
    """

    failures: list[str] = field(default_factory=list)
    failure_rate: float = 0.0
    drawn: tuple[str, ...] = FAILURES
    latency_s: float = 0.0
    retry_after: str = "0.05"
    key: str | None = None
    models: tuple[str, ...] = ("parrot",)
    knows_schemas: bool = True
    refuses_pictures: tuple[int, str] | None = None
    answer: Answer | None = None
    tells: Literal["chat", "echo"] | None = None
    read: Reading = read_words
    instead: Callable[[dict[str, Any]], tuple[int, Any] | None] = lambda request: None
    altered: Callable[[bytes], bytes] = bytes
    hold_from: int | None = None
    release: threading.Event = field(default_factory=threading.Event)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    at_once: int = 0
    most_at_once: int = 0
    held: int = 0
    address: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _random: random.Random = field(default_factory=lambda: random.Random(7))

    @property
    def model(self) -> str:
        """The name under which Tertulia opens the first model."""
        return f"{self.address}#{self.models[0]}"

    def is_held(self, stored: int) -> bool:
        """Whether all that is being asked is held, and so many answers were given: then none is on its way."""
        with self._lock:
            return 0 < self.held == self.at_once and sum(self.answered.values()) == stored

    @property
    def paid_twice(self) -> int:
        """How many answers were given more than once to the same question."""
        return sum(times - 1 for times in self.answered.values())

    def next_failure(self) -> str | None:
        with self._lock:
            if self.failures:
                return self.failures.pop(0)
            return self._random.choice(self.drawn) if self._random.random() < self.failure_rate else None


def text_of(content: str | list[dict[str, Any]]) -> str:
    """The text of a message, without pictures."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def values_for(request: dict[str, Any]) -> dict[str, Any]:
    """Values for the form that the last message shows; the same for the same request."""
    content = text_of(request["messages"][-1]["content"])
    generator = random.Random(json.dumps(request["messages"]) + str(request.get("seed")))
    form = json.loads(re.findall(r"\{.*\}", content)[-1])
    values: dict[str, Any] = {}
    for name, described in form.items():
        if numbers := re.match(r"a whole number from (-?\d+) to (-?\d+)", described):
            values[name] = generator.randint(int(numbers[1]), int(numbers[2]))
        elif described == "true or false":
            values[name] = generator.random() < 0.3
        elif described.startswith("one of: "):
            values[name] = generator.choice(described.removeprefix("one of: ").split(", "))
        else:
            words = ("the ferry", "the baker", "the harbour", "a long walk", "the timetable", "supper")
            values[name] = f"I keep thinking of {generator.choice(words)} and {generator.choice(words)}."
    return values


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or a client waits 40 ms for the body
    served: Served

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        served = self.served
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with served._lock:
            served.requests.append(request)
            served.headers.append({name.lower(): value for name, value in self.headers.items()})
            served.at_once += 1
            served.most_at_once = max(served.most_at_once, served.at_once)
            holds = served.hold_from is not None and sum(served.answered.values()) >= served.hold_from
            served.held += holds
        try:
            if holds:
                served.release.wait(600)
                self.close_connection = True
                return
            time.sleep(served.latency_s)
            if (instead := served.instead(request)) is None:
                self._answer(request)
            else:
                status, told = instead
                self._send(status, told if isinstance(told, bytes) else json.dumps(told).encode())
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with served._lock:
                served.at_once -= 1
                served.held -= holds

    def _answer(self, request: dict[str, Any]) -> None:
        served = self.served
        echoes = served.tells == "echo" and self.path == "/v1/completions"
        if not self.path.endswith("/chat/completions") and not echoes:
            return self._refuse(404, "not_found", f"no such path: {self.path}")
        if served.key and self.headers.get("Authorization") != f"Bearer {served.key}":
            given = self.headers.get("Authorization", "")
            return self._refuse(401, "invalid_api_key", f"Incorrect API key provided: {given}")
        if request["model"] not in served.models:
            return self._refuse(404, "model_not_found", f"The model {request['model']} does not exist")
        if "response_format" in request and not served.knows_schemas:
            return self._refuse(400, "unsupported", "response_format is not supported")
        if served.refuses_pictures and "image_url" in json.dumps(request["messages"]):
            return self._refuse(served.refuses_pictures[0], "unsupported", served.refuses_pictures[1])
        failure = served.next_failure()
        if failure == "429":
            return self._refuse(429, "rate_limit_exceeded", "Too many requests", {"Retry-After": served.retry_after})
        if failure == "quota":
            return self._refuse(429, "insufficient_quota", "You exceeded your current quota")
        if failure == "500":
            return self._refuse(500, "server_error", "The server had an error")
        if failure == "too_long":
            return self._refuse(400, "context_length_exceeded", "This model's maximum context length is 2048 tokens")
        if failure == "400":
            return self._refuse(400, "invalid_request", "Contact your admin for more information.")
        if echoes or request.get("continue_final_message"):
            return self._tell(request)
        text = served.answer(request) if served.answer else json.dumps(values_for(request))
        if failure == "wrong_json":
            text = "I'd rather not answer in that form."
        if failure == "half_json":
            text = text[: len(text) // 3]
        if failure is None:
            with served._lock:
                served.answered[json.dumps([request["messages"], request.get("seed")])] += 1
        body = json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": request["model"],
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}},
                ],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            }
        ).encode()
        self._send(200, body, cut=failure == "cut")

    def _tell(self, request: dict[str, Any]) -> None:
        """Answer with the log-probabilities of the prompt, if they are asked for and told."""
        knows = self.served.tells == ("echo" if "prompt" in request else "chat")
        tokens = self.served.read(request) if knows else read_words(request)
        choice: dict[str, Any] = {"index": 0, "finish_reason": "length", "text": "", "message": {"content": "a"}}
        answer: dict[str, Any] = {"choices": [choice], "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1}}
        if request.get("echo"):
            choice["logprobs"] = {"tokens": [t for t, _ in tokens], "token_logprobs": [*(x for _, x in tokens), -1.0]}
        elif knows and "prompt_logprobs" in request:
            answer["prompt_logprobs"] = [
                None if log is None else {str(number): {"logprob": log, "rank": 1, "decoded_token": token}}
                for number, (token, log) in enumerate(tokens)
            ]
        self._send(200, json.dumps(answer).encode())

    def _refuse(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        body = json.dumps({"error": {"message": message, "type": code, "code": code, "param": None}}).encode()
        self._send(status, body, headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: bool = False) -> None:
        body = self.served.altered(body) if status == 200 else body
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.wfile.flush()
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # hundreds of clients connect at the same moment

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that were killed."""


@contextmanager
def serving(port: int = 0, **settings: Any) -> Iterator[Served]:
    """Serve on this machine while inside."""
    served = Served(**settings)
    handler = type("Handler", (_Handler,), {"served": served})
    server = _Server(("127.0.0.1", port), handler)
    served.address = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.release.set()
        server.shutdown()
        server.server_close()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--failures", type=float, default=0.0)
    parser.add_argument("--latency", type=float, default=0.0)
    chosen = parser.parse_args()
    with serving(chosen.port, failure_rate=chosen.failures, latency_s=chosen.latency) as served:
        print(f"--model {served.model}")
        threading.Event().wait()


if __name__ == "__main__":
    main()
