"""Conversations that are begun as the page begins them."""

import sys

from support.requests_to_page import ask
from support.seats import TOKEN, post, until

#: What a server starts.
COMMAND = [sys.executable, "-m", "tertulia.cli.main"]


def person(name: str, who: str = "", memories: str = "") -> dict[str, str]:
    """Return a person as the page sends one who was typed."""
    return {"name": name, "who": who, "memories": memories}


def of_files(*files: str, **changes: object) -> dict[str, object]:
    """Return the people of files as the page sends them."""
    own = {"files": [*files], "typed": [], "situation": None, "place": None, "time": None, "visitor": "Visitor"}
    return own | changes


def asked(people: dict[str, object], **changes: object) -> dict[str, object]:
    """Return a conversation as the page asks for it: rehearsed, at λ = 0."""
    return {"people": people, "lambda": 0, "model": "rehearsal", "seed": "1", "rounds": ""} | changes


def begun(address: str, body: dict[str, object]) -> tuple[str, str | None]:
    """Begin a conversation; return its run, and the name of its scenario's file."""
    started = post(address, "api/new/begin", body)
    assert started.status == 200, started.body

    def known() -> str | None:
        commands = ask(address, "api/start", {"X-Tertulia-Token": TOKEN}).json["commands"]
        command = next(command for command in commands if command["number"] == started.json["number"])
        assert command["run"] or command["exit_code"] is None, command["lines"]
        return str(command["run"]) if command["run"] else None

    return until(known), started.json["scenario"]
