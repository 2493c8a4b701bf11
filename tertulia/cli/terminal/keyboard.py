"""Read the keyboard while a conversation goes on; all lines of a paste are one answer."""

import asyncio
import os
import select
import threading
import time
from contextlib import suppress
from typing import Any, TextIO

#: Bytes of an answer that are kept while the rest is read and dropped.
_KEPT = 65_536

#: A paste is over when a terminal is quiet for so long.
_QUIET_S = 0.05


class Keyboard:
    """Standard input, read in a thread: the conversation goes on meanwhile, and Ctrl-C works."""

    def __init__(self, file: TextIO | None) -> None:
        """Note the file; `None` (no standard input) counts as its end."""
        self._file = file
        self._ahead = b""
        self._before: tuple[int, list[Any]] | None = None  # while a paste is read: the terminal, and how it was
        self.is_terminal = file is not None and file.isatty()

    async def line(self) -> tuple[str | None, float]:
        """Return the next line, or `None` at the end of the input, and the seconds that it took."""
        loop = asyncio.get_running_loop()
        come: asyncio.Future[tuple[str | None, float]] = loop.create_future()

        def deliver(line: str | None, seconds: float) -> None:
            if not come.done():
                come.set_result((line, seconds))

        def read() -> None:
            started = time.perf_counter()
            try:
                line = self._line()
            except OSError:  # the terminal is gone
                line = None
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(deliver, line, time.perf_counter() - started)

        # Not the loop's executor: it would be waited for when the run is interrupted. A daemon that reads the
        # descriptor itself holds no lock of Python's files when the process ends.
        threading.Thread(target=read, daemon=True).start()
        return await come

    def restore(self) -> None:
        """Leave the terminal as it was, though a paste may still be read from it."""
        import termios

        before, self._before = self._before, None
        if before is not None:
            terminal, attributes = before
            with suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(terminal, termios.TCSANOW, attributes)

    def _line(self) -> str | None:
        if self._file is None:
            return None
        descriptor, line = self._file.fileno(), bytearray()
        while True:
            read, newline, self._ahead = self._ahead.partition(b"\n")
            line += (read + newline)[: _KEPT - len(line)]
            if newline:
                break
            self._ahead = os.read(descriptor, _KEPT)
            if not self._ahead:
                if not line:
                    return None
                break
        if self.is_terminal:
            line += self._pasted(descriptor)
        return line.decode(errors="replace")

    def _pasted(self, terminal: int) -> bytes:
        """Return the rest that the terminal holds: further lines of a pasted text, the last one perhaps unfinished."""
        import termios

        pasted, read = bytearray(), b""
        unbuffered = termios.tcgetattr(terminal)
        self._before = terminal, termios.tcgetattr(terminal)
        unbuffered[3] &= ~termios.ICANON
        unbuffered[6][termios.VMIN], unbuffered[6][termios.VTIME] = 1, 0
        termios.tcsetattr(terminal, termios.TCSANOW, unbuffered)
        try:
            while select.select([terminal], [], [], _QUIET_S)[0]:
                read = os.read(terminal, _KEPT)
                if not read:
                    break
                pasted += read[: _KEPT - len(pasted)]
        finally:
            self.restore()
        return bytes(pasted) + (b"\n" if read.endswith(b"\n") else b"")
