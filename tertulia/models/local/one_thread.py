"""numpy's products of matrices by one thread.

Their digits then depend on no number of threads. The products of a sentence are small, and threads that wait for each
other actively, as OpenBLAS's do, take ten times their own time from other programs on the machine.
"""

import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

#: The number of threads is the process's, so one at a time sets it and sets it back.
_LOCK = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Multiply matrices with one thread inside; another caller waits meanwhile."""
    with _LOCK, _libraries().limit(limits=1):
        yield


@cache
def products() -> str:
    """Return the name of the library that multiplies matrices, as far as digits depend on it: version, processor."""
    library = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    kinds = {str(info.get("architecture", "")) for info in _libraries().info()}
    return " ".join(["numpy", np.__version__, library["name"], library["version"], *sorted(kinds), instructions()])


@cache
def instructions() -> str:
    """Return the greatest set of a processor's instructions that numpy uses here, as it calls it."""
    return str([platform.machine(), *np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])][-1])


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
