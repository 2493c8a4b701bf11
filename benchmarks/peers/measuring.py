"""Hold a conversation by a driver, and measure it from outside: calls, tokens, times, and what a kill costs."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from support.protocol_server import Served, serving, text_of

from benchmarks.peers.answers import answer
from benchmarks.peers.cases import conversation
from benchmarks.peers.drivers.conversation import Conversation, Report

ROOT = Path(__file__).parents[2]
LATENCY_S = 0.2

#: How long a whole conversation may take, and how long nothing may change before all that is asked is held.
_LIMIT_S, _STILL_S = 600, 1.5


@dataclass(frozen=True)
class System:
    """A system, or one of its ways.

    Attributes:
        name: As the table shows it.
        driver: A module of `benchmarks.peers.drivers`.
        options: For the driver.
        scenarios: What it can hold.
    """

    name: str
    driver: str
    scenarios: tuple[str, ...]
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A conversation held to its end.

    Attributes:
        report: What the driver measured; `None`: it failed.
        failure: Its last line on standard error where it failed.
        requests, answers: What came to the server, and what it answered with a text.
        prompt_tokens, answer_tokens: Of what was answered, by one tokenizer for all.
        seconds: The whole process.
        stored_bytes: What lies in its folder.
    """

    report: Report | None
    failure: str
    requests: int
    answers: int
    prompt_tokens: int
    answer_tokens: int
    seconds: float
    stored_bytes: int


@dataclass(frozen=True)
class Killed:
    """A conversation killed with `kill -9` in its middle, and started again.

    Attributes:
        before: Answers until the kill.
        after: Answers from then to the end; `None`: it could not end.
        files: What lay there after the kill, and the bytes of it.
        kept: Utterances that were there when the second process began.
    """

    before: int
    after: int | None
    files: tuple[tuple[str, int], ...]
    kept: int


def measure(system: System, python: Path, scenario: str, turns: int, failures: float, seed: int = 1) -> Measured:
    """Let a system hold a conversation of so many turns, with failures drawn by the seed."""
    with server(failures, seed) as (served, texts), a_folder() as folder:
        held = conversation(scenario, turns, served.address, served.models[0], folder)
        started = time.perf_counter()
        process = start(system, python, held)
        out, err = process.communicate(timeout=_LIMIT_S)
        seconds = time.perf_counter() - started
        stored = sum(size for _, size in files_in(folder))
        report = report_of(out) if process.returncode == 0 else None
        return Measured(
            report,
            "" if report else last_line(err),
            len(served.requests),
            len(texts),
            sum(tokens(prompt) for prompt, _ in texts),
            sum(tokens(text) for _, text in texts),
            seconds,
            stored,
        )


def kill(system: System, python: Path, scenario: str, turns: int, answers: int) -> Killed:
    """Kill a conversation that holds after so many answers, with everything it asks unanswered; then start it again."""
    with server() as (served, _), a_folder() as folder:
        held = conversation(scenario, turns, served.address, served.models[0], folder)
        served.hold_from = answers
        process = start(system, python, held)
        wait_until_held(served, process)
        before, left = sum(served.answered.values()), files_in(folder)
        process.kill()
        process.communicate()
        served.hold_from = None
        process = start(system, python, replace(held, resumes=True))
        out, _ = process.communicate(timeout=_LIMIT_S)
        report = report_of(out) if process.returncode == 0 else None
        after = sum(served.answered.values()) - before
        return Killed(before, after if report else None, left, report.kept if report else 0)


@contextmanager
def server(failures: float = 0, seed: int = 1) -> Iterator[tuple[Served, list[tuple[str, str]]]]:
    """Serve; yield the server, and the list to which prompt and text of every answer are added."""
    texts: list[tuple[str, str]] = []

    def recorded(request: dict[str, Any]) -> str:
        text = answer(request)
        texts.append(("\n".join(text_of(message["content"] or "") for message in request["messages"]), text))
        return text

    with serving(latency_s=LATENCY_S, failure_rate=failures, answer=recorded, _random=Random(seed)) as served:
        yield served, texts


@contextmanager
def a_folder() -> Iterator[Path]:
    """Make a folder for what a system keeps, in one for what it is given."""
    with TemporaryDirectory() as given:
        folder = Path(given) / "kept"
        folder.mkdir()
        yield folder


def start(system: System, python: Path, held: Conversation) -> subprocess.Popen[str]:
    """Start a driver; what its libraries do besides, it does with one thread and without looking for a network."""
    held = replace(held, options=system.options)
    file = held.path.parent / "conversation.json"
    file.write_text(held.dumps(), encoding="utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    command = [str(python), "-m", f"benchmarks.peers.drivers.{system.driver}", str(file)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def wait_until_held(served: Served, process: subprocess.Popen[str]) -> None:
    """Wait until nothing but held requests is under way, or the process has ended."""
    last, since = -1, time.monotonic()
    while process.poll() is None and time.monotonic() - since < _STILL_S:
        held = served.held if served.held == served.at_once else 0
        if held != last or not held:
            last, since = held, time.monotonic()
        time.sleep(0.05)


def files_in(folder: Path) -> tuple[tuple[str, int], ...]:
    """Return the files of a folder with their sizes."""
    return tuple(
        (str(file.relative_to(folder)), file.stat().st_size) for file in sorted(folder.rglob("*")) if file.is_file()
    )


def report_of(out: str) -> Report:
    """Return the report that is the last line of a driver's output."""
    fields = json.loads(out.strip().splitlines()[-1])
    return Report(**{**fields, "turns": tuple((speaker, text) for speaker, text in fields["turns"])})


def last_line(text: str) -> str:
    """Return the last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def tokens(text: str) -> int:
    """Return how many tokens of the embedded model a text has; without its weights, how many words and signs."""
    return len(_tokenizer()(text)["input_ids"])


@cache
def _tokenizer() -> Any:
    from transformers import AutoTokenizer

    from tertulia.models.local import embedded

    return AutoTokenizer.from_pretrained(embedded.folder(Path.home() / ".cache" / "tertulia"))
