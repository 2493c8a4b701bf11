"""How often the interpreter looks for garbage while conversations are driven."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: After so many new objects garbage is looked for, not after 700.
NEW_OBJECTS = 50_000

_lock = threading.Lock()
_inside, _before = 0, gc.get_threshold()


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Look for garbage seldom inside, and as before when the last thread that is inside has left.

    Runs side by side make hundreds of thousands of objects that stay; walking through them took a tenth of a turn.
    """
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = gc.get_threshold()
            if 0 < _before[0] < NEW_OBJECTS:
                gc.set_threshold(NEW_OBJECTS, *_before[1:])
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                gc.set_threshold(*_before)
