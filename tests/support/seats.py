"""Seats in the page, taken and used over HTTP as its script does."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from support.requests_to_page import Answer, ask

Found = TypeVar("Found")
TOKEN = "token"


def until(look: Callable[[], Found | None], within_s: float = 40.0) -> Found:
    """Return what a look finds, once it finds something."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


def post(address: str, path: str, body: object, headers: dict[str, str] | None = None) -> Answer:
    """Send JSON as the page does, with the host's token unless other headers are given."""
    sent = {"Origin": address.rstrip("/"), "Content-Type": "application/json"}
    return ask(address, path, sent | (headers or {"X-Tertulia-Token": TOKEN}), "POST", json.dumps(body).encode())


def driver_of(run: str, at: str = "") -> int:
    """Return the process that drives a run, or its fork at a turn; it outlives its server, so its command tells."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if {b"--in-page", run.encode(), at.encode()} <= {*words}:
            return int(process.name)
    raise AssertionError("nobody drives it")


def sit(address: str, run: str, *agents: str, at: int = 1) -> tuple[str, dict[str, str]]:
    """Fork a run with people in these seats; return the fork, and the token of each seat."""
    started = post(address, "api/start", {"action": "sit", "run": run, "at": at, "agents": list(agents)})
    assert started.status == 200, started.body
    number = started.json["number"]

    def made() -> str | None:
        (command,) = [c for c in ask(address, f"api/start?token={TOKEN}").json["commands"] if c["number"] == number]
        assert command["exit_code"] is None, command["lines"]
        return str(command["run"]) if command["run"] else None

    fork = until(made)
    tokens = {agent: invited(address, fork, agent) for agent in agents}
    return fork, tokens


def invited(address: str, run: str, agent: str) -> str:
    """Return the token of an invitation that the host makes."""
    answer = post(address, "api/seats", {"run": run, "agent": agent, "withdraw": False})
    assert answer.status == 200, answer.body
    return str(answer.json["token"])


def perceived(address: str, token: str) -> dict[str, Any]:
    """Return what the person in a seat perceives."""
    answer = ask(address, "api/seat", {"X-Tertulia-Seat": token})
    assert answer.status == 200, answer.body
    return dict(answer.json)


def question(address: str, token: str, turn: int | None = None) -> dict[str, Any]:
    """Return what the person is asked, in this turn if one is given, once they are."""

    def asked() -> dict[str, Any] | None:
        found = perceived(address, token)["asked"]
        return found if found and turn in (None, found["turn"]) else None

    return until(asked)


def send(address: str, token: str, turn: int, words: str, **more: object) -> Answer:
    """Send a line."""
    return post(
        address, "api/seat", {"turn": turn, "words": words, "seconds": None, **more}, {"X-Tertulia-Seat": token}
    )
