"""The spending of this machine's workers from one budget: counted in a small file, which each locks for a moment."""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tertulia.state.budget import Spent
from tertulia.state.errors import StorageError

#: Calls made, calls reserved, tokens, and money.
_FORM = struct.Struct("<qqqd")


@dataclass
class _Counts:
    made: int = 0
    reserved: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class FilePurse:
    """A budget's spending in a file; implements `state.budget.Purse` for all processes that know its path."""

    path: Path
    max_calls: int | None

    def begin(self) -> None:
        """Make the file with nothing spent, also if a killed command left one."""
        self.remove()
        with self._counts():
            pass

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def reserve(self, calls: int) -> int | None:
        """Reserve calls of the rest; if there are fewer, return how many were made or reserved before."""
        with self._counts() as counts:
            before = counts.made + counts.reserved
            if self.max_calls is not None and before + calls > self.max_calls:
                return before
            counts.reserved += calls
        return None

    def settle(self, reserved: int, made: Spent) -> Spent:
        """Give a reservation back, add the calls made of it, and return all that was spent so far."""
        with self._counts() as counts:
            counts.reserved -= reserved
            counts.made += made.calls
            counts.tokens += made.tokens
            counts.cost += made.cost
            return Spent(counts.made, counts.tokens, counts.cost)

    @contextmanager
    def _counts(self) -> Iterator[_Counts]:
        """Give the count, and write it again; the file is locked meanwhile."""
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"{self.path} can't be written ({error.strerror}); take --shards FOLDER") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            held = os.pread(file, _FORM.size, 0)
            counts = _Counts(*_FORM.unpack(held)) if len(held) == _FORM.size else _Counts()
            yield counts
            os.pwrite(file, _FORM.pack(counts.made, counts.reserved, counts.tokens, counts.cost), 0)
        finally:
            os.close(file)
