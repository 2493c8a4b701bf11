"""Runs that are awaited: the loop stays free, and a task that is cancelled interrupts its run as Ctrl-C does."""

import asyncio
import inspect
from typing import Any

import pytest

import tertulia as tt
from tertulia.storage.store import SqlStore

#: A rehearsed conversation that nobody ends before its limit.
ENDLESS: dict[str, Any] = {"settings": {"ending": "continuation", "ending_threshold": 1}, "rehearse": True}


class Turns:
    """Tells in an event loop when a turn was stored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._save, self._loop, self._stored = SqlStore.save_turn, asyncio.get_running_loop(), asyncio.Event()
        monkeypatch.setattr(SqlStore, "save_turn", lambda *args: self._tell(*args))

    def _tell(self, *args: Any) -> None:
        self._save(*args)
        self._loop.call_soon_threadsafe(self._stored.set)

    async def next(self) -> None:
        self._stored.clear()
        await asyncio.wait_for(self._stored.wait(), 60)


async def test_an_awaited_run_is_the_run_and_leaves_the_loop_free() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    run, other = await asyncio.gather(
        tt.arun("tidewell", removal_factor=0.5, rounds=3, rehearse=True),
        tt.arun("tidewell", removal_factor=0.5, rounds=3, rehearse=True, store="other.db"),
    )
    ticking.cancel()
    assert ticks > 5
    assert run.turns == other.turns == tt.run("tidewell", removal_factor=0.5, rounds=3, rehearse=True).turns
    fork = await run.afork(2, removal_factor=0.9)
    assert (fork.status, fork.parent) == ("finished", (run.id, 2))


async def test_a_cancelled_run_is_interrupted_and_goes_on_to_the_same_conversation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = await tt.arun("tidewell", rounds=12, store="whole.db", **ENDLESS)
    turns = Turns(monkeypatch)
    task = asyncio.create_task(tt.arun("tidewell", rounds=12, **ENDLESS))
    await turns.next()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run = tt.open_store("tertulia.db").run()
    assert (run.status, 1 <= len(run.turns) < 12) == ("interrupted", True)
    assert f"run {run.id} is kept; to go on: tertulia.resume('{run.id}'" in capsys.readouterr().err
    going_on = asyncio.create_task(run.aresume())
    await turns.next()
    going_on.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going_on
    assert (await run.aresume()).turns == whole.turns


def test_they_are_called_like_what_they_await() -> None:
    for name, function in (("arun", tt.run), ("asweep", tt.sweep)):
        awaited = getattr(tt, name)
        assert inspect.iscoroutinefunction(awaited)
        assert awaited.__name__ == name
        assert inspect.signature(awaited) == inspect.signature(function)
        assert "without blocking" in awaited.__doc__
