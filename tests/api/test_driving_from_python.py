"""Driving from Python: in an event loop and outside one, interrupted, closed, and driven by two."""

import asyncio
import os
import signal
import threading
import time
from typing import Any

import pytest

import tertulia as tt
from tertulia.api.launching import RunLauncher
from tertulia.api.progress_bar import ProgressBar
from tertulia.models.rehearsal import RehearsalModel
from tertulia.runs.driving import interrupting
from tertulia.runs.driving.events import Event, RunEnded
from tertulia.runs.driving.session import events_of
from tertulia.runs.planning.request import RunRequest
from tertulia.state.records import TurnRecord
from tertulia.storage.store import SqlStore

#: A rehearsed conversation that nobody ends before its limit.
ENDLESS: dict[str, Any] = {"settings": {"ending": "continuation", "ending_threshold": 1}, "rehearse": True}


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to that in time"
        time.sleep(0.02)


def _opening() -> Any:
    from tertulia.runs.access.engines import ModelAccess
    from tertulia.runs.planning.starting import begin, plan_run

    plan = plan_run("tidewell", RunRequest({"removal_factor": 0.5}, model="rehearsal"))
    return lambda store: begin(store, plan, ModelAccess())


# --- event loops ------------------------------------------------------------------------------------------------------


async def test_inside_a_running_event_loop_a_run_is_driven_all_the_same() -> None:
    assert len(tt.run("tidewell", rounds=2, rehearse=True).turns) == 2


async def test_a_stream_gives_each_turn_and_leaves_the_loop_free() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    events = [event async for event in tt.stream("team_building", rounds=3, rehearse=True)]
    ticking.cancel()
    assert ticks > 5
    finished = [event.turn for event in events if isinstance(event, tt.TurnFinished)]
    assert [turn.turn for turn in finished] == [1, 2, 3]
    assert isinstance(events[0], tt.RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert tuple(finished) == tt.open_store("tertulia.db").run().turns


async def test_who_stops_reading_interrupts_the_run_and_it_resumes() -> None:
    whole = tt.run("tidewell", rounds=12, store="whole.db", **ENDLESS)
    async for event in (events := tt.stream("tidewell", rounds=12, **ENDLESS)):
        if isinstance(event, tt.TurnFinished) and event.turn.turn == 3:
            break
    await events.aclose()
    run = tt.open_store("tertulia.db").run()
    assert run.status == "interrupted"
    assert 3 <= len(run.turns) < 12
    assert tt.resume(run.id).status == "finished"
    assert run.turns == whole.turns


def test_a_loop_that_is_closed_in_mid_run_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    events = tt.stream("tidewell", rounds=20, **ENDLESS)

    async def first_turns() -> None:
        async for event in events:
            if isinstance(event, tt.TurnFinished) and event.turn.turn == 2:
                return

    loop.run_until_complete(first_turns())
    loop.close()
    wait_for(lambda: tt.open_store("tertulia.db").run().status != "running")
    run = tt.open_store("tertulia.db").run()
    assert run.status == "failed"
    assert "event loop was closed" in (run.record.error or "")
    assert len(run.resume().turns) == 20


# --- interrupts -------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_an_interrupt_stops_a_run_soon_and_it_resumes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save = SqlStore.save_turn

    def save_and_stop(store: SqlStore, run: str, record: TurnRecord, *parts: Any) -> None:
        save(store, run, record, *parts)
        if record.turn.turn == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores it
    with monkeypatch.context() as patched:
        patched.setattr(SqlStore, "save_turn", save_and_stop)
        with pytest.raises(KeyboardInterrupt) as interrupted:
            tt.run("tidewell", rounds=400, **ENDLESS)
    signal.signal(signal.SIGINT, before)
    run = tt.open_store("tertulia.db").run()
    assert (run.status, 3 <= len(run.turns) < 400) == ("interrupted", True)
    assert interrupted.value.__notes__[0].startswith(f"run {run.id} is kept")
    assert "tertulia.resume(" in capsys.readouterr().err
    shorter = run.fork(at=len(run.turns), rounds=len(run.turns) + 1)
    assert shorter.status == "finished"


@pytest.mark.full
def test_a_long_computation_of_the_thread_is_interrupted_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupting, "_PATIENCE_S", 0.02)
    entered = threading.Event()

    async def computes(self: RehearsalModel, *arguments: Any) -> Any:
        entered.set()
        while True:
            pass

    monkeypatch.setattr(RehearsalModel, "generate_scored", computes)
    events = events_of(RunLauncher(tt.Store("tertulia.db"), None, None, None).drive(_opening(), None))
    for event in events:
        if isinstance(event, tt.StepStarted) and event.step == "retrieve_memory" and entered.wait(10):
            break
    events.close()
    assert tt.open_store("tertulia.db").run().status == "interrupted"


@pytest.mark.full
def test_an_interrupt_while_the_thread_is_started_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        threading.Thread.start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr("tertulia.runs.driving.session._Driver.start", start)
    with pytest.raises(KeyboardInterrupt):
        tt.run("tidewell", rounds=400, **ENDLESS)
    assert all(thread.name != "tertulia run" for thread in threading.enumerate())


@pytest.mark.full
def test_an_interrupt_in_the_progress_bar_stops_the_run_though_its_traceback_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def show(bar: ProgressBar, event: Event) -> None:
        if isinstance(event, tt.TurnFinished):
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressBar, "show", show)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        tt.run("tidewell", rounds=400, **ENDLESS)
    assert tt.open_store("tertulia.db").run().status == "interrupted"
    assert interrupted.traceback


# --- other drivers ------------------------------------------------------------------------------------------------


def test_two_who_drive_a_run_are_told() -> None:
    run = tt.run("tidewell", rounds=2, rehearse=True)
    with run.store.opened() as store:
        store.set_status(run.id, "interrupted")
        with store.drive_lock(run.id), pytest.raises(tt.StorageError, match=r"driv|process"):
            run.resume()


async def test_a_store_closed_under_a_running_iteration_is_told_and_nothing_is_lost() -> None:
    store = tt.Store("tertulia.db")

    async def close_at_the_second_turn() -> None:
        async for event in tt.stream("tidewell", rounds=15, store=store, **ENDLESS):
            if isinstance(event, tt.TurnFinished) and event.turn.turn == 2:
                store.close()

    with pytest.raises(tt.StorageError, match="was closed; open it again"):
        await close_at_the_second_turn()
    run = tt.open_store("tertulia.db").run()
    assert run.status == "interrupted"
    assert len(run.resume().turns) == 15
    with pytest.raises(tt.StorageError, match="was closed"):
        store.runs()
