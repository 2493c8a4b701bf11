"""Runs that are interrupted, killed or fail: how they say so, and that they go on as if nothing had happened."""

import asyncio
import contextlib
import functools
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.commands import ENDLESS, Cli, rehearse, stop_between_writes, utterances
from support.tiny import tiny_language_model

from tertulia.cli.driving import LiveRun
from tertulia.driving.events import Event, StepStarted
from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.nodes.town.encounter import next_encounter
from tertulia.state.language_model import GenerationRequest
from tertulia.state.records import Reply

TERTULIA = (sys.executable, "-m", "tertulia.cli.main")
ROOT = Path(__file__).parents[2]
ON_DEMAND = ("--set", "backups=on_demand")


def start(folder: Path, *arguments: str, **streams: Any) -> "subprocess.Popen[str]":
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([*TERTULIA, *arguments], cwd=folder, env=environment, text=True, **streams)


def started(folder: Path, turns: int = 5) -> tuple["subprocess.Popen[str]", str]:
    """Start an endless run; return it, and its id, once it has some turns."""
    process = start(folder, "run", "tidewell", *ENDLESS, "--json")
    assert process.stderr
    word, run = process.stderr.readline().split()
    assert word == "run"
    with sqlite3.connect(folder / "tertulia.db") as store:
        while store.execute("SELECT count(*) FROM turns").fetchone()[0] < turns:
            assert process.poll() is None
            time.sleep(0.01)
    store.close()
    return process, run


# --- the same again -------------------------------------------------------------------------------------------------


def test_a_seed_is_a_conversation(cli: Cli) -> None:
    first, same, other = (utterances(cli, rehearse(cli, "--seed", seed)) for seed in ("4", "4", "5"))
    assert first == same != other
    assert utterances(cli, rehearse(cli, "--set", "seed=5")) == other


def test_ctrl_c_and_resume(cli: Cli, tmp_path: Path) -> None:
    process, run = started(tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert f"to go on: tertulia resume {run}" in err
    assert "Traceback" not in err
    ended = json.loads(out)
    assert (ended["run"], ended["status"]) == (run, "interrupted")
    assert 5 <= ended["turns"] < 60
    assert cli("show", run, "--json").json["status"] == "interrupted"
    _goes_on_as_if_nothing_had_happened(cli, run)


def test_kill_and_resume(cli: Cli, tmp_path: Path) -> None:
    process, run = started(tmp_path)
    process.kill()
    process.communicate(timeout=20)
    _goes_on_as_if_nothing_had_happened(cli, run)


def _goes_on_as_if_nothing_had_happened(cli: Cli, run: str) -> None:
    assert cli("resume", run, "--json").json == {"run": run, "status": "finished", "turns": 60}
    whole = cli("run", "tidewell", *ENDLESS, "--json").json["run"]
    for turn in ([], ["--turn", "6"], ["--turn", "60"]):
        resumed, undisturbed = (cli("show", name, *turn, "--json").json for name in (run, whole))
        assert resumed | {"run": ""} == undisturbed | {"run": ""}


def test_a_second_driver_is_refused_and_leaves_the_run_alone(cli: Cli, tmp_path: Path) -> None:
    process, run = started(tmp_path, turns=1)
    stop_between_writes(process.pid, tmp_path / "tertulia.db")
    try:
        cli("resume", run).complains(1, run, f"pid {process.pid}")
        assert cli("show", run, "--json").json["status"] == "running"
    finally:
        process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=30)
    assert json.loads(out) == {"run": run, "status": "finished", "turns": 60}


def test_a_terminal_sees_each_step(tmp_path: Path) -> None:
    reading, terminal = pty.openpty()
    process = start(tmp_path, "run", "tidewell", *ENDLESS, "--json", stderr=terminal)
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
        result = cli("run", "tidewell", *ENDLESS, *ON_DEMAND, "--rounds", "4", "--json")
    result.complains(1, *words)
    ended = json.loads(result.out)
    assert (ended["status"], ended["turns"]) == ("failed", 2)
    assert f"to go on: tertulia resume {ended['run']}" in result.err
    (row,) = cli("runs", "--json").json["runs"]
    assert row["status"] == "failed"
    assert words[-1] in row["error"]
    assert words[-1] in cli("show", "@last").out
    assert cli("resume", "@last", "--json").json["turns"] == 4
    whole = cli("run", "tidewell", *ENDLESS, *ON_DEMAND, "--rounds", "4", "--json").json["run"]
    assert utterances(cli, ended["run"]) == utterances(cli, whole)
    assert cli("show", ended["run"]).out.count("stopped by") == 0


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [
        (("run", "tidewell", *ENDLESS, "--rounds", "4"), ("resume", "@last")),
        (("run", "team_building", "--rounds", "4"), ("resume", "@last")),
        (("simulate", "tidewell", "--encounters-per-day", "2"), ("simulate", "--resume", "@last")),
    ],
)
@pytest.mark.parametrize(("problem", "code"), [(RuntimeError("no"), 1), (KeyboardInterrupt(), 130)])
def test_a_stopped_turn_leaves_no_checkpoint_that_an_undisturbed_run_has_not(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    begins: tuple[str, ...],
    goes_on: tuple[str, ...],
    problem: BaseException,
    code: int,
) -> None:
    model = Failing()
    model.problem = problem
    with monkeypatch.context() as patched:
        patched.setattr("tertulia.models.loading.open_model", lambda *_, **__: model)
        assert cli(*begins, *ON_DEMAND).code == code
        assert cli(*goes_on).code == code
    assert bool(checkpoints(tmp_path)["writes"]) == (code == 1)
    assert cli(*goes_on).code == 0
    stopped = checkpoints(tmp_path)
    (tmp_path / "tertulia.db").unlink()
    assert cli(*begins, *ON_DEMAND, "--rehearse").code == 0
    assert stopped == checkpoints(tmp_path)


TALK = ("run", "tidewell", *ENDLESS, "--rehearse", "--rounds", "4")
MEETING = ("run", "mothers_house", "--rehearse", "--rounds", "3")
ALBUM = ("run", "villagers", "--agents", "4", "--rehearse", "--rounds", "2")


@pytest.mark.parametrize(
    ("before", "begins", "turn"),
    [
        ((), TALK, 1),
        ((), TALK, 2),
        ((), MEETING, 1),
        ((), MEETING, 2),
        ((), ALBUM, 1),
        ((), ALBUM, 3),
        ((TALK,), ("fork", "@last", "--at", "3", "--lambda", "0.9"), 3),
        ((TALK,), ("fork", "@last", "--at", "3", "--say", "Well."), 4),
    ],
)
def test_nor_does_a_turn_that_is_stopped_again_in_its_first_step(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: tuple[tuple[str, ...], ...],
    begins: tuple[str, ...],
    turn: int,
) -> None:
    assert all(cli(*command).code == 0 for command in before)

    def stop(event: Event) -> None:
        if isinstance(event, StepStarted) and event.turn == turn:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(LiveRun, "event", lambda _, event: stop(event))
        assert [cli(*command).code for command in (begins, ("resume", "@last"), ("resume", "@last"))] == [130] * 3
    assert cli("resume", "@last").code == 0
    stopped = checkpoints(tmp_path)
    (tmp_path / "tertulia.db").unlink()
    assert all(cli(*command).code == 0 for command in (*before, begins))
    assert stopped == checkpoints(tmp_path)


@pytest.mark.parametrize("stopped_at", [1, 2])
def test_nor_does_a_town_that_is_stopped_again_as_an_encounter_begins(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_at: int
) -> None:
    begins = ("simulate", "tidewell", "--rehearse", "--encounters-per-day", "2")
    goes_on = ("simulate", "--resume", "@last")
    begun: list[int] = []

    @functools.wraps(next_encounter)
    async def stopping(state: Any, runtime: Any) -> Any:
        begun.append(1)
        if len(begun) >= stopped_at:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0)
        return await next_encounter(state, runtime)

    with monkeypatch.context() as patched:
        patched.setattr("tertulia.graphs.town.next_encounter", stopping)
        assert [cli(*command).code for command in (begins, goes_on, goes_on)] == [130] * 3
    assert cli(*goes_on).code == 0
    stopped = checkpoints(tmp_path)
    (tmp_path / "tertulia.db").unlink()
    assert cli(*begins).code == 0
    assert stopped == checkpoints(tmp_path)


def checkpoints(folder: Path) -> dict[str, list[Any]]:
    """Return how many checkpoints each thread has in each namespace, in the order of threads, and what tasks wrote."""
    with contextlib.closing(sqlite3.connect(folder / "tertulia.db")) as connection:
        counted = "SELECT checkpoint_ns, count(*) FROM {} GROUP BY thread_id, checkpoint_ns ORDER BY min(rowid)"
        return {table: list(connection.execute(counted.format(table))) for table in ("checkpoints", "writes")}


SWEEP = ("sweep", "tidewell", "--rehearse", "--lambda", "0,1", "--trials", "1", "--rounds", "1", "--name", "grid")
PILOT = ("run", "tidewell", "--rehearse", "--rounds", "2", "--diversity", "medium", "--pilot", "3")


@pytest.mark.parametrize(
    ("before", "command", "code"),
    [
        ([("run", "tidewell", "--rehearse", "--rounds", "1")], ("runs", "rm", "@last", "--yes"), 0),
        ([("runs", "rm", "k3f9", "--yes")], ("runs", "rm", "k3f9", "--yes"), 3),
        ([], SWEEP, 0),
        ([SWEEP], SWEEP, 0),
        ([SWEEP], ("lab", "resume", "grid"), 0),
        ([], PILOT, 0),
        ([PILOT], PILOT, 0),
    ],
    ids=str,
)
def test_a_lock_that_a_killed_command_has_left_goes_with_the_next(
    cli: Cli, tmp_path: Path, before: list[tuple[str, ...]], command: tuple[str, ...], code: int
) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "1")
    for command_before in before:
        cli(*command_before)
    for name in ("k3f9", "grid", "pilot-0f"):
        (tmp_path / f"tertulia.db.{name}.lock").write_text("4194304")  # no process has this number
    assert cli(*command).code == code
    assert not list(tmp_path.glob("*.lock"))


#: Runs the command line, which gets a signal while it imports a module, before it does anything, or when all is done.
SIGNALLED = """
import atexit, os, signal, sys
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
if when == "end":
    atexit.register(os.kill, os.getpid(), number)
sys.argv = ["tertulia", *arguments]
from tertulia.cli import program
program()
"""


@pytest.mark.parametrize(
    "when", ["typer", "begin", "changed", "lost", "tertulia.cli.commands.runs", "tertulia.storage.store", "end"]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_stopped_while_it_is_imported_or_ends_says_nothing(
    tmp_path: Path, when: str, number: signal.Signals
) -> None:
    command = [sys.executable, "-c", SIGNALLED, when, str(int(number)), "runs", "--store", str(tmp_path / "s.db")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (130, "")


def test_what_nohup_lets_live_is_not_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n{SIGNALLED}"]
    arguments = ["typer", str(int(signal.SIGHUP)), "scenarios", "--json"]
    result = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_full_disk(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from tertulia.storage.sqlite.database import StoreFile

    connect = StoreFile._connect

    def connect_small(file: StoreFile, create: bool) -> None:
        connect(file, create)
        (pages,) = file.rows("PRAGMA page_count")
        file.database.execute(f"PRAGMA max_page_count = {pages['page_count'] + 150}")

    with monkeypatch.context() as patched:
        patched.setattr(StoreFile, "_connect", connect_small)
        result = cli("run", "tidewell", *ENDLESS, "--json")
    result.complains(1, "disk is full", "tertulia.db", "resume")
    ended = json.loads(result.out)
    assert (ended["status"], ended["turns"] < 60) == ("failed", True)
    assert cli("resume", "@last", "--json").json["turns"] == 60


def test_a_prompt_that_does_not_fit(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: tiny_language_model(context_window=300))
    monkeypatch.setattr("tertulia.models.loading.open_embedder", lambda *_: RehearsalEmbedder())
    cli("run", "tidewell", "--rounds", "1", "--set", "judge=off").complains(1, "tokens", "memory")


def test_output_that_can_not_be_written(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [*TERTULIA, "runs", "--json"],
            cwd=tmp_path,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
