"""Runs that are interrupted or fail, and commands that are: how they say so, and what they leave."""

import contextlib
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import ENDLESS, Cli, utterances
from support.tiny import tiny_language_model

from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.state.language_model import GenerationRequest
from tertulia.state.records import Reply

Command = tuple[str, ...]

TERTULIA = (sys.executable, "-m", "tertulia.cli.main")
ROOT = Path(__file__).parents[2]
ON_DEMAND = ("--set", "backups=on_demand")


def start(folder: Path, *arguments: str, **streams: Any) -> "subprocess.Popen[str]":
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([*TERTULIA, *arguments], cwd=folder, env=environment, text=True, **streams)


# --- at a terminal ---------------------------------------------------------------------------------------------------


def test_a_terminal_sees_each_step(tmp_path: Path) -> None:
    reading, terminal = pty.openpty()
    process = start(tmp_path, "run", "tidewell", *ENDLESS, "--rounds", "3", "--json", stderr=terminal)
    os.close(terminal)
    seen = b""
    with contextlib.suppress(OSError):  # Linux: the other end is closed
        while chunk := os.read(reading, 4096):
            seen += chunk
    os.close(reading)
    out, _ = process.communicate(timeout=20)
    assert json.loads(out)["status"] == "finished"
    assert re.search(rb"run [a-z0-9]+\r\n", seen)
    assert re.search(rb"turn [0-9]+: [a-z]+", seen)


# --- a run that fails -----------------------------------------------------------------------------------------------


class Failing(RehearsalModel):
    """Fails in the third turn: raises its problem, or says nothing where it has none."""

    problem: BaseException | None = None

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        units = request.prompt.source.units if request.prompt.source else ()
        in_third_turn = [unit.block for unit in units if unit.kind == "item"].count("current_dialogue") == 2
        if in_third_turn and self.problem:
            raise self.problem
        if in_third_turn and len(request.generators) == 1:  # not those that are drawn to score attention
            return [Reply(text="{}", tokens=(1, 2), text_tokens=(1, 1), fields={})]
        return await super().generate(request)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (RuntimeError("CUDA\nerror"), ["RuntimeError: CUDA error", "test_stopped_runs.py"]),
        (MemoryError(), ["MemoryError"]),
        (None, ["empty reply"]),
    ],
)
def test_a_model_that_fails_in_mid_turn(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, problem: Exception | None, words: list[str]
) -> None:
    model = Failing()
    model.problem = problem
    with monkeypatch.context() as patched:
        patched.setattr("tertulia.models.loading.open_model", lambda *_, **__: model)
        result = cli("run", "tidewell", *ENDLESS, *ON_DEMAND, "--rounds", "3", "--json")
    result.complains(1, *words)
    ended = json.loads(result.out)
    assert (ended["status"], ended["turns"]) == ("failed", 2)
    assert f"to go on: tertulia resume {ended['run']}" in result.err
    (row,) = cli("runs", "--json").json["runs"]
    assert row["status"] == "failed"
    assert words[-1] in row["error"]
    assert words[-1] in cli("show", "@last").out
    assert cli("resume", "@last", "--json").json["turns"] == 3
    whole = cli("run", "tidewell", *ENDLESS, *ON_DEMAND, "--rounds", "3", "--json").json["run"]
    assert utterances(cli, ended["run"]) == utterances(cli, whole)
    assert cli("show", ended["run"]).out.count("stopped by") == 0


TALK = ("run", "tidewell", *ENDLESS, "--rounds", "3")
TOWN_GOES_ON = ("simulate", "--resume", "@last")


@pytest.mark.full
@pytest.mark.parametrize(
    ("begins", "goes_on", "problem", "code"),
    [
        (TALK, ("resume", "@last"), RuntimeError("no"), 1),
        (TALK, ("resume", "@last"), KeyboardInterrupt(), 130),
        (("run", "team_building", "--rounds", "3"), ("resume", "@last"), RuntimeError("no"), 1),
        (("simulate", "tidewell", "--encounters-per-day", "2"), TOWN_GOES_ON, KeyboardInterrupt(), 130),
    ],
)
def test_a_stopped_turn_leaves_no_checkpoint_that_an_undisturbed_run_has_not(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, begins: Command, goes_on: Command, problem: BaseException, code: int
) -> None:
    model = Failing()
    model.problem = problem
    with monkeypatch.context() as patched:
        patched.setattr("tertulia.models.loading.open_model", lambda *_, **__: model)
        assert cli(*begins, *ON_DEMAND).code == code
        assert cli(*goes_on).code == code
    assert bool(checkpoints()["writes"]) == (code == 1)
    assert cli(*goes_on).code == 0
    _leave_the_same(cli, (*begins, *ON_DEMAND, "--rehearse"))


def _leave_the_same(cli: Cli, *undisturbed: Command) -> None:
    """Assert that commands that nobody stops leave, in a store of their own, the same checkpoints as there are."""
    stopped = checkpoints()
    Path("tertulia.db").unlink()
    assert all(cli(*each).code == 0 for each in undisturbed)
    assert stopped == checkpoints()


def checkpoints() -> dict[str, list[Any]]:
    """Return how many checkpoints each thread has in each namespace, in the order of threads, and what tasks wrote."""
    with contextlib.closing(sqlite3.connect("tertulia.db")) as connection:
        counted = "SELECT checkpoint_ns, count(*) FROM {} GROUP BY thread_id, checkpoint_ns ORDER BY min(rowid)"
        return {table: list(connection.execute(counted.format(table))) for table in ("checkpoints", "writes")}


#: Runs the command line, which gets a signal while it imports a module, or before it does anything.
SIGNALLED = """
import os, signal, sys
when, number, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
signal.signal(signal.SIGINT, signal.default_int_handler)
class Signalling:
    def find_spec(self, name, *_):
        if name == when:
            os.kill(os.getpid(), number)
sys.meta_path.insert(0, Signalling())
class Signalled:
    def reconfigure(self, **_):
        if when == "begin":
            os.kill(os.getpid(), number)
        if when == "changed":
            try:
                os.kill(os.getpid(), number)
            except KeyboardInterrupt:
                raise ValueError("as compiled code tells it") from None
    def __del__(self):
        if when == "lost":
            os.kill(os.getpid(), number)
if when in ("begin", "changed"):
    sys.stdout = Signalled()
if when == "lost":  # what is raised there is passed on to nobody
    Signalled.reconfigure = lambda *_, **__: setattr(sys, "stdout", sys.__stdout__)
    sys.stdout = Signalled()
sys.argv = ["tertulia", *arguments]
from tertulia.cli import program
program()
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("when", "number"),
    [
        ("typer", signal.SIGHUP),
        *((when, signal.SIGINT) for when in ("begin", "changed", "lost", "tertulia.storage.store")),
        ("tertulia.cli.commands.runs", signal.SIGTERM),
    ],
)
def test_a_command_that_is_stopped_while_it_is_imported_or_begins_says_nothing(
    tmp_path: Path, when: str, number: signal.Signals
) -> None:
    line = [sys.executable, "-c", SIGNALLED, when, str(int(number)), "runs", "--store", str(tmp_path / "s.db")]
    result = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (130, "")


@pytest.mark.full
def test_what_nohup_lets_live_is_not_stopped(tmp_path: Path) -> None:
    line = [sys.executable, "-c", f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n{SIGNALLED}"]
    arguments = ["typer", str(int(signal.SIGHUP)), "scenarios", "--json"]
    result = subprocess.run([*line, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_prompt_that_does_not_fit(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: tiny_language_model(context_window=300))
    monkeypatch.setattr("tertulia.models.loading.open_embedder", lambda *_: RehearsalEmbedder())
    cli("run", "tidewell", "--rounds", "1", "--set", "judge=off").complains(1, "tokens", "memory")


@pytest.mark.full
def test_output_that_can_not_be_written(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        process = start(tmp_path, "runs", "--json", stdout=full)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in errors
