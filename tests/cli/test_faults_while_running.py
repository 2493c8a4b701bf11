"""What can go wrong while a run is driven: each time one line, how to go on, and no difference in the end."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import ENDLESS, Cli, Result, stop_between_writes
from support.forked import Forked
from support.store_checks import differences, faults

from tertulia.storage.store import SqlStore

pytestmark = pytest.mark.full

MEETING = ("run", "team_building", "--rehearse", "--json", "--rounds")
DIALOGUE = ("run", "tidewell", "--rehearse", "--json", "--rounds")
LONG_DIALOGUE = ("run", "tidewell", "--json", *ENDLESS[:-1])


def expect_the_same(cli: Cli, command: tuple[str, ...], rounds: int, run: str) -> None:
    """A finished run of this folder's store equals one of the same command that nobody disturbed."""
    whole = cli(*command, str(rounds), "--store", "whole.db").json
    with SqlStore.open("tertulia.db") as disturbed, SqlStore.open("whole.db") as undisturbed:
        assert faults(disturbed) == []
        assert differences((undisturbed, whole["run"]), (disturbed, run)) == []
    assert list(Path().glob("*.lock")) == []


def failed_run(result: Result, *words: str) -> str:
    """Return the id of a run that failed, in one line with these words, and with how to go on."""
    result.complains(1, *words)
    first, *_, way_on, _ = result.err.splitlines()
    run = first.removeprefix("run ")
    assert way_on == f"to go on: tertulia resume {run}"
    return run


# --- the disk -------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Set how many pages a store may have; `None`: as many as it likes."""
    connect, room = sqlite3.connect, [0]

    def connected(*place: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*place, **options)
        connection.execute(f"PRAGMA max_page_count = {room[0]}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", connected)
    return lambda pages: room.__setitem__(0, pages or 2**30)


@pytest.mark.parametrize(("command", "rounds"), [(MEETING, 3), (DIALOGUE, 5)])
def test_a_full_disk(cli: Cli, disk: Callable[[int | None], None], command: tuple[str, ...], rounds: int) -> None:
    disk(None)
    cli("run", "tidewell", "--rehearse", "--rounds", "1", "--store", "small.db")
    pages = Path("small.db").stat().st_size // 4096
    disk(pages)
    result, times = cli(*command, str(rounds)), 0
    while result.code and times < 100:
        run = failed_run(result, "the disk is full", "tertulia.db", "free some space, then try again")
        times += 1
        disk(pages + 3 * times)
        result = cli("resume", run, "--json")
    assert result.json["status"] == "finished"
    assert times >= 3
    disk(None)
    expect_the_same(cli, command, rounds, run)


# --- signals --------------------------------------------------------------------------------------------------------


def begun(folder: Path, *command: str, turns: int) -> tuple[Forked, str]:
    """Start a run; return it, and its id, once it has some turns."""
    said, store = folder / "said.txt", folder / "tertulia.db"
    (folder / "out.txt").touch()
    process = Forked([*command, "--store", str(store)], said, stdout=folder / "out.txt")
    while not said.exists() or not said.read_text().startswith("run ") or turns_in(store) < turns:
        assert process.poll() is None, said.read_text()
        time.sleep(0.005)
    return process, said.read_text().split()[1]


def turns_in(store: Path) -> int:
    with SqlStore.open(store) as opened:
        return opened.runs()[0].turns


@pytest.mark.parametrize(
    ("command", "rounds", "number"), [(MEETING, 6, signal.SIGTERM), (LONG_DIALOGUE, 32, signal.SIGINT)]
)
def test_a_run_that_is_asked_to_stop(
    cli: Cli, tmp_path: Path, command: tuple[str, ...], rounds: int, number: signal.Signals
) -> None:
    process, run = begun(tmp_path, *command, str(rounds), turns=2)
    os.kill(process.pid, number)
    assert process.wait() == 130
    told = (tmp_path / "said.txt").read_text()
    assert f"to go on: tertulia resume {run} --store " in told
    assert "Traceback" not in told
    ended = json.loads((tmp_path / "out.txt").read_text())
    assert (ended["run"], ended["status"]) == (run, "interrupted")
    assert 2 <= ended["turns"] < rounds
    assert cli("show", run, "--json").json["status"] == "interrupted"
    assert cli("resume", run, "--json").json.items() >= {"run": run, "status": "finished", "turns": rounds}.items()
    expect_the_same(cli, command, rounds, run)


def test_two_who_would_go_on_with_the_run_of_a_dead_one(cli: Cli, tmp_path: Path) -> None:
    dead, run = begun(tmp_path, *MEETING, "7", turns=2)
    dead.kill()
    dead.wait()
    assert [lock.read_text() for lock in tmp_path.glob("*.lock")] == [str(dead.pid)]
    going_on, _ = begun(tmp_path, "resume", run, "--json", turns=3)
    stop_between_writes(going_on.pid, tmp_path / "tertulia.db")
    try:
        cli("resume", run).complains(1, run, f"pid {going_on.pid}")
        assert cli("show", run, "--json").json["status"] == "running"
    finally:
        os.kill(going_on.pid, signal.SIGCONT)
    assert going_on.wait() == 0
    assert cli("show", run, "--json").json["status"] == "finished"
    expect_the_same(cli, MEETING, 7, run)
