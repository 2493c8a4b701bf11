"""Ctrl-C: a computation stops soon, wherever it is, and nothing is left that waits for it."""

import asyncio
import ctypes
import inspect
import signal
import threading
import warnings
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar

from tertulia.runs.driving.stop_signals import is_stopped, reacting

Result = TypeVar("Result")

#: How long the event loop has to come to the end of a step, before it is interrupted in the middle of it.
_PATIENCE_S = 0.5

#: Seconds that interrupted tasks have to tidy up.
_TIDYING_S = 2.0

#: Signals that stop a run; an alarm follows behind a step that takes long.
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)

#: The event loops that run now, by thread.
_loops: dict[threading.Thread, asyncio.AbstractEventLoop] = {}


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM or a closed terminal raise `KeyboardInterrupt` soon; asyncio would wait for the model.

    In an event loop, it is raised between two steps. In the middle of a step only a long computation is
    interrupted: asyncio's own locks and queues would stay as they were, and be waited for without end. In another
    thread than the main one, which gets no signals, this does nothing (see `interrupt_thread`).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int) -> None:
        try:
            asyncio.get_running_loop().call_soon_threadsafe(end_waiting)
        except RuntimeError:  # none runs
            end_waiting()
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)

    def end_waiting(*_: object) -> NoReturn:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt

    alarm = signal.signal(signal.SIGALRM, end_waiting)
    try:
        with reacting(stop):
            yield
    except Exception:
        if is_stopped():  # compiled code tells an interrupt as an error of its own
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)


def interrupt_thread(thread: threading.Thread) -> None:
    """Raise `KeyboardInterrupt` soon in a thread that runs `run_or_abandon`, as `interruptible` does in the main one.

    It returns when the thread has ended or the exception is on its way; whoever waits for the end joins the thread.
    """
    raised = threading.Event()

    def stop() -> NoReturn:
        raised.set()
        raise KeyboardInterrupt

    if (loop := _loops.get(thread)) is not None:
        with suppress(RuntimeError):  # it is closed
            loop.call_soon_threadsafe(stop)
    thread.join(_PATIENCE_S)
    if thread.is_alive() and not raised.is_set() and thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))


def run_or_abandon(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine as `asyncio.run` does, but wait only briefly for interrupted tasks (see `interruptible`)."""
    runner, thread = asyncio.Runner(), threading.current_thread()
    try:
        with _held():
            _loops[thread] = runner.get_loop()
        result = runner.run(coroutine)
        with _held():
            runner.close()
    except (KeyboardInterrupt, SystemExit):
        if thread in _loops:
            _abandon(_loops[thread])
        raise
    except BaseException:
        runner.close()
        raise
    finally:
        _loops.pop(thread, None)
        coroutine.close()  # in case it was never begun
    return result


@contextmanager
def _held() -> Iterator[None]:
    """Hold signals back inside, as a loop half made or half closed would complain when it is deleted."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _abandon(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks under way, let them tidy up for a moment, and leave those that do not end."""
    if loop.is_closed():
        return
    loop.set_exception_handler(lambda *_: None)  # it would tell of everything that has failed or is left
    for task in asyncio.all_tasks(loop):
        task.cancel()
    until = loop.time() + _TIDYING_S
    while (left := asyncio.all_tasks(loop)) and (rest_s := until - loop.time()) > 0:
        stop = loop.call_later(rest_s, loop.stop)
        # A task hands an interrupt on to the tasks that await it; a loop that is stopped is a RuntimeError.
        with suppress(KeyboardInterrupt, SystemExit, RuntimeError):
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        stop.cancel()
    with suppress(KeyboardInterrupt, SystemExit, RuntimeError):
        loop.run_until_complete(asyncio.sleep(0))  # what follows the end of a task, such as that of AnyIO's threads
    _close(left)
    loop.close()


def _close(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Close tasks that did not end, without a word: Python would do so at its exit, and print the errors."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of coroutines that nobody awaits now
        for task in tasks:
            coroutine = task.get_coro()
            if inspect.iscoroutine(coroutine):
                with suppress(BaseException):
                    coroutine.close()
