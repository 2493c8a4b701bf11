"""Signals that stop a program: one handler hears them all, and a second signal is no second stop.

Python tells a signal whose handler has become "ignore" or "default" since it came as an `OSError`, and a second
interrupt would end the tidying up after the first one. So the handler stays, and only its reaction changes.
"""

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

#: A signal that comes so many seconds after the last one that was reacted to, or sooner, asks for the same stop.
_SAME_STOP_S = 5.0

#: Receives the number of a signal.
Reaction = Callable[[int], object]

#: The reactions to the next signal, the current one last; empty while no handler is installed.
_reactions: list[Reaction] = []

#: When a signal was reacted to, by `time.monotonic`; `None` if none was.
_heard_at: float | None = None


def stop_signals() -> list[int]:
    """Return the signals that stop a program: no SIGHUP if it is ignored, as nohup asks for."""
    hangup = [signal.SIGHUP] * (signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)
    return [signal.SIGINT, signal.SIGTERM, *hangup]


def listen(react: Reaction, numbers: Iterable[int] | None = None) -> None:
    """Install the handler, by default for all stop signals, until this process ends; call it once, at its start."""
    _reactions.append(react)
    for number in stop_signals() if numbers is None else numbers:
        signal.signal(number, _hear)


def is_stopped() -> bool:
    """Return whether a signal was reacted to, in a program or inside the outermost `reacting`."""
    return _heard_at is not None


@contextmanager
def reacting(react: Reaction) -> Iterator[None]:
    """React to stop signals inside in another way; to be used in the main thread.

    Without `listen`, the handlers of before are put back at the end, and a signal that comes meanwhile is theirs.
    """
    global _heard_at
    before, missed = {}, list[int]()
    if not _reactions:
        _heard_at = None
        before = {number: signal.signal(number, _hear) for number in stop_signals()}
    _reactions.append(react)
    try:
        yield
    finally:
        if before:
            _reactions[-1] = missed.append
            for number, handler in before.items():
                signal.signal(number, handler)
        _reactions.pop()
        for number in missed:
            signal.raise_signal(number)


@contextmanager
def held_signals() -> Iterator[None]:
    """Hold stop signals back inside, for a few steps of which all or none are to be done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hear(number: int, frame: FrameType | None) -> None:
    global _heard_at
    now = time.monotonic()
    if _reactions and (_heard_at is None or now - _heard_at > _SAME_STOP_S):
        _heard_at = now
        _reactions[-1](number)
