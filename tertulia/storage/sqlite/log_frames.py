"""A write-ahead log as bytes, up to its last commit: the part of it that SQLite would apply.

Format: https://www.sqlite.org/fileformat2.html, section 4. The checksum of a frame continues that of the frame before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tertulia.storage.sqlite.generation import PAGE, Generation, generation_on

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAGIC, _BIG_ENDIAN, _VERSION = 0x377F0682, 1, 3_007_000
_HEADER_BYTES, _FRAME_BYTES = 32, 24

#: Frames that are read at once.
_CHUNK = 256


@dataclass
class LogFrames:
    """The frames of a log that are whole, up to its last commit.

    Attributes:
        is_log: Whether it begins like a log, or is empty or of zeros, as after a power cut.
        page_size: In bytes; 0 without a header.
        frames: By page, the numbers of its frames from 0, oldest first.
        generations: Those on frames of the generation's page, each with the number of its frame.
        first_page: The oldest bytes of the first page, `None` if no frame has it.
        size: The number of the store's pages at the last commit.
        is_cut: Whether it ends in the middle of a transaction, or of a frame.
    """

    path: Path
    is_log: bool = True
    page_size: int = 0
    frames: dict[int, list[int]] = field(default_factory=dict)
    generations: list[tuple[int, Generation]] = field(default_factory=list)
    first_page: bytes | None = None
    size: int = 0
    is_cut: bool = False

    def pages(self, numbers: list[int]) -> Iterator[bytes]:
        """Yield the bytes of the pages in some frames."""
        with open(self.path, "rb") as file:
            for number in numbers:
                file.seek(_HEADER_BYTES + number * (_FRAME_BYTES + self.page_size) + _FRAME_BYTES)
                yield file.read(self.page_size)


def read_log(path: Path) -> LogFrames:
    """Return the frames of a log; `OSError` if it can't be read."""
    log = LogFrames(path)
    with open(path, "rb") as file:
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES or not any(header):
            return log
        magic, version, page_size, *_ = words = _integers(header)
        log.is_log = magic & ~_BIG_ENDIAN == _MAGIC and version == _VERSION
        if not (log.is_log and 512 <= page_size <= 65_536 and page_size & (page_size - 1) == 0):
            log.is_log = False
            return log
        log.page_size = page_size
        order = ">" if magic & _BIG_ENDIAN else "<"
        if _summed(header[:24], order) != tuple(words[6:]):
            log.is_log = False
            return log
        _read_frames(log, file, order, words)
    return log


def _read_frames(log: LogFrames, file: BinaryIO, order: str, header: list[int]) -> None:
    """Read the frames behind the header that have its salts and the right checksums, to the last commit."""
    waiting: list[tuple[int, int, bytes]] = []  # frames since the last commit: number, page, its bytes if they matter
    salts, sums, number = header[4:6], (header[6], header[7]), 0
    while chunk := file.read(_CHUNK * (_FRAME_BYTES + log.page_size)):
        whole = len(chunk) // (_FRAME_BYTES + log.page_size)
        for place, added in enumerate(_sums_of_frames(chunk, whole, log.page_size, order)):
            at = place * (_FRAME_BYTES + log.page_size)
            page, size, *frame_salts, first, second = _integers(chunk[at : at + _FRAME_BYTES])
            sums = _continued(sums, added, log.page_size)
            if frame_salts != salts or (first, second) != sums or not page:
                log.is_cut = bool(waiting)
                return
            is_kept = page == PAGE or (page == 1 and log.first_page is None)
            content = chunk[at + _FRAME_BYTES : at + _FRAME_BYTES + log.page_size] if is_kept else b""
            waiting.append((number, page, content))
            number += 1
            if size:
                _commit(log, waiting)
                waiting, log.size = [], size
        log.is_cut = bool(waiting) or len(chunk) > whole * (_FRAME_BYTES + log.page_size)


def _commit(log: LogFrames, waiting: list[tuple[int, int, bytes]]) -> None:
    for number, page, content in waiting:
        log.frames.setdefault(page, []).append(number)
        if page == PAGE and (generation := generation_on(content)) is not None:
            log.generations.append((number, generation))
        if page == 1 and log.first_page is None:
            log.first_page = content


# --- checksums ------------------------------------------------------------------------------------------------------
# Of each pair of words (a, b): s += a + t; t += b + s; modulo 2³². So a frame multiplies (s, t) by a power of a matrix,
# and adds a sum over its pairs, each times a smaller power: for all frames at once.

_MODULO = 2**32


def _integers(content: bytes) -> list[int]:
    return [int.from_bytes(content[at : at + 4], "big") for at in range(0, len(content), 4)]


def _summed(content: bytes, order: str) -> tuple[int, int]:
    s = t = 0
    for at in range(0, len(content), 8):
        first, second = (
            int.from_bytes(content[word : word + 4], "big" if order == ">" else "little") for word in (at, at + 4)
        )
        s = (s + first + t) % _MODULO
        t = (t + second + s) % _MODULO
    return s, t


@cache
def _powers(page_size: int) -> tuple["NDArray[np.uint32]", tuple[int, int, int]]:
    """Return the weights of the pairs of a frame, `(3, pairs)`, and of the sums before it: of the matrix, symmetric."""
    import numpy as np

    power, found = (1, 0, 1), []
    for _ in range((8 + page_size) // 8):
        found.append(power)
        a, b, c = power
        power = (a + b) % _MODULO, (a + 2 * b) % _MODULO, (b + 2 * c) % _MODULO
    return np.array(found[::-1], dtype=np.uint32).T.copy(), power


def _sums_of_frames(chunk: bytes, whole: int, page_size: int, order: str) -> Iterator[tuple[int, int]]:
    """Return what each frame adds to the checksum."""
    import numpy as np

    frame = _FRAME_BYTES + page_size
    rows = np.frombuffer(chunk, dtype=np.uint8, count=whole * frame).reshape(whole, frame)
    summed = np.concatenate([rows[:, :8], rows[:, _FRAME_BYTES:]], axis=1)
    words = summed.view(f"{order}u4").astype(np.uint32)  # (frames, words)
    first, both = words[:, 0::2], words[:, 0::2] + words[:, 1::2]
    (one, shared, two), _ = _powers(page_size)
    s = (first * one + both * shared).sum(axis=1, dtype=np.uint32)
    t = (first * shared + both * two).sum(axis=1, dtype=np.uint32)
    return zip(s.tolist(), t.tolist(), strict=True)


def _continued(sums: tuple[int, int], added: tuple[int, int], page_size: int) -> tuple[int, int]:
    _, (one, shared, two) = _powers(page_size)
    return (
        (one * sums[0] + shared * sums[1] + added[0]) % _MODULO,
        (shared * sums[0] + two * sums[1] + added[1]) % _MODULO,
    )
