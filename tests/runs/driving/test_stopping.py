"""Stopping from outside what another process drives: asked for in the store, heard at the next step."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.commands import ENDLESS, Cli, rehearse, stop_between_writes
from support.postgres_server import PostgresServer
from support.stored import a_case, a_run

from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.driving.events import Event, TurnFinished, ignore
from tertulia.runs.driving.stopping import stop, stop_all
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import begin, plan_run, reopen
from tertulia.state.errors import NotFoundError, SettingError, StoppedError, UsageError
from tertulia.state.seat import Answer, Invitation
from tertulia.storage.store import SqlStore
from tertulia.storage.watching import Watch
from tertulia.views.reading.comparing import compare

ROOT = Path(__file__).parents[3]
SETTINGS = {"ending": "continuation", "ending_threshold": 1, "max_turns": 60}


@contextmanager
def driven(folder: Path, *arguments: str, store: str = "tertulia.db") -> Iterator["subprocess.Popen[str]"]:
    """A command that another process executes, once its run has two turns."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERTULIA_STORE": store}
    command = [sys.executable, "-m", "tertulia.cli.main", *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, env=environment, text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


def turns_of_newest(address: Any) -> int:
    with SqlStore.open(address) as store:
        runs = store.runs(limit=1)
        return runs[0].turns if runs and store.drivers().is_driven(runs[0].run) else 0


def resumed_like_one_that_never_stopped(store: SqlStore, run: str) -> bool:
    """Go on with a stopped run, and compare it with one that nobody stops."""
    drive_run(store, reopen(store, store.run(run), ModelAccess()), ignore)
    plan = plan_run("tidewell", RunRequest(SETTINGS, model="rehearsal"))
    context = begin(store, plan, ModelAccess())
    drive_run(store, context, ignore)
    return compare(store, context.run, run).is_same


def test_a_run_of_another_process_stops_says_who_stopped_it_and_ends_the_same(cli: Cli, tmp_path: Path) -> None:
    with driven(tmp_path, "run", "tidewell", *ENDLESS) as process:
        wait_until(lambda: turns_of_newest(tmp_path / "tertulia.db") >= 2)
        result = cli("stop", "@last", "--json")
        _out, err = process.communicate(timeout=30)
    (found,) = result.json["stopped"]
    assert (found["kind"], found["state"]) == ("run", "stopped")
    run = found["name"]
    assert process.returncode == 130
    assert "(tertulia stop)" in err
    assert err.splitlines()[-2].startswith("stopped by ")
    assert err.splitlines()[-1] == f"to go on: tertulia resume {run}"
    shown = cli("show", run)
    assert err.splitlines()[-2] in shown.out
    with SqlStore.open(tmp_path / "tertulia.db") as store:
        assert store.run(run).status == "interrupted"
        assert f"has stopped after {store.run(run).turns} turns; to go on: tertulia resume {run}" in found["text"]
        assert resumed_like_one_that_never_stopped(store, run)
        assert (store.run(run).status, store.run(run).error) == ("finished", None)


def test_on_a_server_too(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.url("stopping")
    with driven(tmp_path, "run", "tidewell", *ENDLESS, store=address) as process:
        wait_until(lambda: turns_of_newest(address) >= 2)
        with SqlStore.open(address) as store:
            (found,) = stop_all(store, "tertulia stop", wait_s=20)
            process.communicate(timeout=30)
            assert (found.state, process.returncode) == ("stopped", 130)
            assert str(store.run(found.name).error).startswith("stopped by ")
            assert resumed_like_one_that_never_stopped(store, found.name)


def driven_here(path: Path, at: int, then: Callable[[SqlStore], None], **plan: Any) -> tuple[str, BaseException | None]:
    """Drive a run in a thread, and do something in this one at a turn; return its id, and what stopped it."""
    reached, goes_on = threading.Event(), threading.Event()
    ended: list[Any] = []

    def emit(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.turn.turn == at:
            reached.set()
            goes_on.wait(20)

    def drive() -> None:
        with SqlStore.open(path, create=True) as store:
            context = begin(store, plan_run("tidewell", RunRequest(SETTINGS, model="rehearsal", **plan)), ModelAccess())
            ended.append(context.run)
            try:
                drive_run(store, context, emit)
            except BaseException as error:
                ended.append(error)

    thread = threading.Thread(target=drive)
    thread.start()
    assert reached.wait(60)
    with SqlStore.open(path) as store:
        then(store)
        goes_on.set()
        thread.join(60)
    return ended[0], ended[1] if len(ended) > 1 else None


def test_it_is_asked_while_a_step_takes_long_and_stops_after_it(tmp_path: Path) -> None:
    became: list[Any] = []

    def ask(store: SqlStore) -> None:
        (found,) = stop(store, ["@last"], "a test", wait_s=0.2)
        became.append(found)
        (again,) = stop(store, ["@last"], "another test", wait_s=0)
        became.append(again)
        record = store.run(found.name)
        assert record.status == "running"  # what a page shows, and why it will end
        assert str(record.error).startswith("asked to stop by ")
        assert Watch(store).look().runs[found.name].is_driven

    run, error = driven_here(tmp_path / "tertulia.db", 3, ask)
    assert [found.state for found in became] == ["asked", "asked"]
    assert became[0].text == f"run {run} is asked to stop at its next step, and has not within 0.2 s"
    assert isinstance(error, StoppedError)
    assert "(another test)" in str(error)
    with SqlStore.open(tmp_path / "tertulia.db") as store:
        assert (store.run(run).status, store.run(run).error) == ("interrupted", str(error))
        assert store.run(run).turns < 60


def test_a_request_of_before_does_not_stop_who_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    with driven(tmp_path, "run", "tidewell", *ENDLESS) as process:
        wait_until(lambda: turns_of_newest(path) >= 2)
        stop_between_writes(process.pid, path)
        with SqlStore.open(path) as store:
            (found,) = stop(store, ["@last"], "a test", wait_s=0.1)
            assert found.state == "asked"
        process.send_signal(signal.SIGKILL)
        process.wait()
    with SqlStore.open(path) as store:
        assert stop(store, [found.name], "a test")[0].state == "stale"
        assert resumed_like_one_that_never_stopped(store, found.name)


def test_who_waits_for_an_answer_stops_at_once(tmp_path: Path) -> None:
    asked = threading.Event()
    ended: list[Any] = []

    async def ask(invitation: Invitation) -> Answer | None:
        import asyncio

        asked.set()
        await asyncio.sleep(120)
        return None

    def drive() -> None:
        with SqlStore.open(tmp_path / "tertulia.db", create=True) as store:
            plan = plan_run("tidewell", RunRequest({"max_turns": 4}, model="rehearsal", seat="Leila Haddad"))
            try:
                drive_run(store, begin(store, plan, ModelAccess()), ignore, ask)
            except BaseException as error:
                ended.append(error)

    thread = threading.Thread(target=drive)
    thread.start()
    assert asked.wait(60)
    began = time.monotonic()
    with SqlStore.open(tmp_path / "tertulia.db") as store:
        (found,) = stop(store, ["@last"], "a test")
    assert found.state == "stopped"
    assert "Leila Haddad has a seat in it" in found.text
    assert time.monotonic() - began < 5
    thread.join(20)
    assert isinstance(ended[0], StoppedError)


def test_a_simulation_stops_in_the_middle_of_a_conversation(cli: Cli, tmp_path: Path) -> None:
    with driven(tmp_path, "simulate", "tidewell", "--rehearse", "--days", "40") as process:
        wait_until(lambda: turns_of_newest(tmp_path / "tertulia.db") >= 1)
        (found,) = cli("stop", "--all", "--json").json["stopped"]
        _, err = process.communicate(timeout=30)
    assert (found["kind"], found["state"], process.returncode) == ("simulation", "stopped", 130)
    assert err.splitlines()[-1] == f"to go on: tertulia simulate --resume {found['name']}"
    assert err.splitlines()[-2].startswith("stopped by ")
    with SqlStore.open(tmp_path / "tertulia.db") as store:
        assert store.simulations.get(found["name"]).status == "interrupted"
        assert not store.runs(status="running")


def test_what_is_not_driven_is_told_apart(cli: Cli, tmp_path: Path) -> None:
    finished = rehearse(cli)
    with SqlStore.open(tmp_path / "tertulia.db") as store:
        store.create_run(a_run("k3f9"), a_case())
        store.create_run(
            a_run("x2wd", status="interrupted", error="stopped by its budget of 3 calls (3 made)"), a_case()
        )
        stale, ended, last = stop(store, ["k3f9", "x2wd", finished, "k3f9"], "a test")
        assert (stale.state, ended.state, last.state) == ("stale", "ended", "ended")
        assert stale.text == "run k3f9 is stored as running, but its process has ended; to go on: tertulia resume k3f9"
        assert ended.text == (
            "run x2wd is interrupted already: stopped by its budget of 3 calls (3 made); to go on: tertulia resume x2wd"
        )
        assert last.text == f"run {finished} is finished already"
        assert store.run("k3f9").error is None
        assert stop_all(store, "a test") == []
    assert cli("stop", "k3f9").out == f"{stale.text}\n"
    assert cli("stop", "--all").out == "nothing is driven in this store\n"


def test_wrong_names_and_times_are_told_in_a_sentence(cli: Cli, tmp_path: Path) -> None:
    cli("stop", "k3f9").complains(3, "no run 'k3f9'")
    finished = rehearse(cli)
    cli("stop", finished).complains(2, f"run {finished} is finished; there is nothing to stop")
    cli("stop", f"{finished}x").complains(3, "did you mean", finished)
    cli("stop").complains(2, "no run; name one, or give --all")
    cli("stop", "@last", "--all").complains(2, "--all stops @last too")
    for seconds in ("nan", "-1", "inf"):
        cli("stop", "@last", "--wait", seconds).complains(
            2, f"--wait {seconds}: a number of seconds from 0 is expected"
        )
    with SqlStore.open(tmp_path / "tertulia.db") as store:
        with pytest.raises(UsageError, match=f"run {finished} is finished; there is nothing to stop"):
            stop(store, [finished], "a test")
        with pytest.raises(NotFoundError, match="did you mean"):
            stop(store, [f"{finished}x"], "a test")
        with pytest.raises(SettingError, match=r"^wait=soon: a number of seconds from 0 is expected"):
            stop(store, [finished], "a test", wait_s="soon")  # type: ignore[arg-type]
