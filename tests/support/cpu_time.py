"""Bounds on the time of a processor, for readers that must not take long with hostile input."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cpu_time_below(seconds: float, what: str = "") -> Iterator[None]:
    """Fail if the block takes this thread as many seconds of CPU.

    Nothing is collected meanwhile: a collection costs what all tests before have left, up to a second.
    """
    gc.disable()
    started = time.thread_time()
    try:
        yield
        took = time.thread_time() - started
    finally:
        gc.enable()
    assert took < seconds, f"{took:.2f} s {what}"
