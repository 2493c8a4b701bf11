"""Ctrl-C: it is heard between two steps of the event loop, stops a long computation, and nothing is waited for."""

import asyncio
import faulthandler
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.concurrency import run_in_threadpool
from support.commands import Cli

import tertulia.runs.driving.interrupting
from tertulia.runs.driving.interrupting import interruptible, run_or_abandon

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def hangs_for_a_minute_at_most() -> Iterator[None]:
    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


async def compute() -> None:
    """Be interrupted once the others have begun, and go on for ten seconds without a pause."""
    await asyncio.sleep(0)
    signal.raise_signal(signal.SIGINT)
    until = time.monotonic() + 10
    while time.monotonic() < until:
        pass


@pytest.mark.parametrize("number", SIGNALS)
def test_a_step_that_a_signal_comes_in_is_done_to_its_end(number: signal.Signals) -> None:
    done: list[str] = []

    async def hold() -> None:
        signal.raise_signal(number)
        done.append("this step")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done.append("a later one")

    before = signal.signal(number, signal.SIG_DFL)  # under nohup a hangup is ignored, as it must be
    try:
        with pytest.raises(KeyboardInterrupt), interruptible():
            run_or_abandon(hold())
    finally:
        signal.signal(number, before)
    assert done == ["this step"]


def test_an_interrupt_that_compiled_code_tells_as_an_error_is_one() -> None:
    def build_schema(*signals: signal.Signals) -> None:
        try:
            for number in signals:
                signal.raise_signal(number)
        except KeyboardInterrupt:
            pass
        raise ValueError("the schema can't be built")

    with pytest.raises(KeyboardInterrupt), interruptible():
        build_schema(signal.SIGINT)
    with pytest.raises(ValueError, match="can't be built"), interruptible():
        build_schema()


def test_a_long_computation_is_stopped_in_the_middle_and_all_who_waited_for_it_tidy_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tertulia.runs.driving.interrupting, "_PATIENCE_S", 0.02)
    tidied: list[str] = []

    async def wait_for(computing: asyncio.Task[None]) -> None:
        try:
            await asyncio.wait([computing])
        finally:
            await asyncio.sleep(0)
            tidied.append("up")
            computing.result()  # hands the interruption on

    async def hold() -> None:
        computing = asyncio.create_task(compute())
        await asyncio.wait([asyncio.create_task(wait_for(computing)) for _ in range(2)])

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interruptible():
        run_or_abandon(hold())
    assert time.monotonic() - begun < 5
    assert tidied == ["up", "up"]


def test_what_does_not_end_is_left(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(tertulia.runs.driving.interrupting, "_TIDYING_S", 0.02)
    tidied: list[str] = []

    async def stubborn() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(10)

    async def tidy() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0)
            tidied.append("up")

    async def hold() -> None:
        both = asyncio.create_task(stubborn()), asyncio.create_task(tidy())
        await asyncio.sleep(0)
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait(both)

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interruptible():
        run_or_abandon(hold())
    assert time.monotonic() - begun < 5
    assert tidied == ["up"]
    assert not caplog.records


HALF_MADE = """
import asyncio, signal, sys
from asyncio.selector_events import BaseSelectorEventLoop
from tertulia.runs.driving.interrupting import interruptible, run_or_abandon

def make(loop):
    signal.raise_signal(signal.SIGINT)
    makes(loop)

makes, BaseSelectorEventLoop._make_self_pipe = BaseSelectorEventLoop._make_self_pipe, make
try:
    with interruptible():
        run_or_abandon(asyncio.sleep(0))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_loop_that_is_not_yet_made_is_made_before_a_signal_is_heard() -> None:
    ended = subprocess.run([sys.executable, "-c", HALF_MADE], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")


def test_where_no_loop_runs_it_is_heard_at_once_and_only_the_first_time() -> None:
    def interrupt_twice() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGTERM)
            tidied.append("up")

    tidied: list[str] = []
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupt_twice()
    assert tidied == ["up"]


def test_signals_that_come_at_once_are_one_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: ignored.append(unraisable.exc_type))

    def interrupt_at_once() -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            for number in SIGNALS:
                signal.pthread_kill(threading.get_ident(), number)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupt_at_once()
    assert KeyboardInterrupt not in ignored


def test_afterwards_signals_mean_what_they_meant_and_no_alarm_is_left() -> None:
    watched = (*SIGNALS, signal.SIGALRM)
    before = [signal.getsignal(number) for number in watched]

    async def hold() -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), interruptible():
        run_or_abandon(hold())
    assert [signal.getsignal(number) for number in watched] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_no_step_of_a_conversation_is_lost_to_a_signal(cli: Cli) -> None:
    """It comes when a step has left the loop's queue and has not begun, after which a task was waited for forever."""
    run, begun, at = asyncio.Handle._run, 0, 0

    def run_after_signal(handle: Any) -> None:
        nonlocal begun
        begun += 1
        if begun == at:
            signal.raise_signal(signal.SIGINT)
        run(handle)

    settings = ("run", "tidewell", "--rehearse", "--rounds", "6", "--set", "ending=off")
    whole = cli(*settings, "--json").json["run"]
    for at in (120, 223):
        begun = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio.Handle, "_run", run_after_signal)
            stopped = cli(*settings)
        assert begun > at
        assert stopped.code == 130
        assert [line.split()[0] for line in stopped.err.splitlines()] == ["run", "to"]
        assert cli("runs", "--json").json["runs"][0]["status"] == "interrupted"
        assert cli("resume", "@last").code == 0
        assert cli("diff", whole, "@last", "--exit-code").code == 0


def test_threads_of_anyio_end_with_an_interrupted_loop_so_that_the_process_does() -> None:
    async def interrupted() -> None:
        await run_in_threadpool(int)
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        run_or_abandon(interrupted())
    for thread in set(threading.enumerate()) - before:
        if not thread.daemon:
            thread.join(timeout=10)
            assert not thread.is_alive(), thread.name
