"""A command of Tertulia and its output, for tests of the command line; and what many of them begin with."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import typer

from tertulia.cli.main import build_app


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        (line,) = self.out.splitlines()
        document: dict[str, Any] = json.loads(line)
        return document

    def complains(self, code: int, *words: str) -> None:
        """Assert that it failed with this code and a single line that holds these words."""
        complaints = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert (self.code, len(complaints)) == (code, 1), self
        assert "Traceback" not in self.err
        assert self.err.splitlines()[-1] == complaints[0]
        for word in words:
            assert word in complaints[0]


Cli = Callable[..., Result]

#: A rehearsed conversation that nobody ends before its limit, long enough to be stopped in the middle.
ENDLESS = ("--rehearse", "--set", "ending=continuation", "--set", "ending_threshold=1", "--rounds", "60")


def stop_between_writes(pid: int, store: Path) -> None:
    """Stop a process while it writes nothing: in the middle of that, others would wait for the store itself."""
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.01)
        with closing(sqlite3.connect(store, timeout=0, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError:
                os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)


def rehearse(cli: Cli, *arguments: str) -> str:
    """Run a short rehearsed conversation; return its id."""
    result = cli("run", "tidewell", "--rehearse", "--rounds", "3", *arguments, "--json")
    return str(result.json["run"])


def utterances(cli: Cli, run: str) -> list[str]:
    """Return the texts of a run's turns."""
    return [turn["text"] for turn in cli("show", run, "--json").json["turns"]]


def write_prompt(at: Path, *ids: Any) -> Path:
    """Write a prompt file for `score` with a unit for each id; return its path."""
    units = [{"id": id, "block": "memory", "kind": "item", "text": f"Memory {id}.\n", "removable": True} for id in ids]
    at.write_text(json.dumps({"units": units}), encoding="utf-8")
    return at


def all_commands() -> list[str]:
    """Return every command of the command line, those of groups by both names."""

    def named(command: Any, path: str) -> Iterator[str]:
        inner = getattr(command, "commands", {})
        if path and (not inner or path == "runs"):
            yield path
        for name in inner:
            yield from named(inner[name], f"{path} {name}".strip())

    return list(named(typer.main.get_command(build_app()), ""))
