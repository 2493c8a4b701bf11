"""Driving from Python: in an event loop and outside one, interrupted, closed, and driven by two."""

import asyncio
import time
from typing import Any

import pytest

import tertulia as tt
from tertulia.runs.driving.events import RunEnded

#: A rehearsed conversation that nobody ends before its limit.
ENDLESS: dict[str, Any] = {"settings": {"ending": "continuation", "ending_threshold": 1}, "rehearse": True}


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to that in time"
        time.sleep(0.02)


# --- event loops ------------------------------------------------------------------------------------------------------


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
    run = tt.open_store("tertulia.db").run()
    assert tuple(finished) == run.turns
    assert {event.run for event in events} == {run.id}  # type: ignore[union-attr]  # none is of a town


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


# --- other drivers ------------------------------------------------------------------------------------------------


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
