"""Standard error of a command, which is no reason to end its work."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def dispensable_errors() -> Iterator[None]:
    """Discard standard error inside as soon as it can't be written: nobody could be told, and the work goes on."""
    stream = sys.stderr
    if stream is None:  # closed by the parent process
        yield
        return

    def dispensable(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*values: Any) -> Any:
            try:
                return call(*values)
            except OSError:
                # Its buffer keeps the text, which is flushed once more when the interpreter ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
                return len("".join(values))

        return called

    write, flush = stream.write, stream.flush
    stream.write, stream.flush = dispensable(write), dispensable(flush)  # type: ignore[method-assign]
    try:
        yield
    finally:
        stream.write, stream.flush = write, flush  # type: ignore[method-assign]
