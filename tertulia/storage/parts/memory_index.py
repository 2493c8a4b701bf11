"""An index over the memories of one stream: which of them are worth a closer look. Knows no SQL.

1. Short streams are looked at whole. In long ones the vectors lie in cells around centres, and only the cells nearest
   to a focal point are looked at, beside the memories recent or important enough to count without being near.
2. The answer of a stream of N memories depends on those N alone, not on later ones, nor on how often it was loaded:
   centres follow from a beginning of the stream whose length is a power of two, and cells are filled by whole blocks.
   So a conversation that starts over, or forks, recalls the same memories.

Source: Jégou, Douze and Schmid 2011, "Product Quantization for Nearest Neighbor Search" (inverted file; nothing is
quantized here but the choice of the cell).
"""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from tertulia.state.parameters import Parameters
from tertulia.state.recall import may_be_recalled, recency
from tertulia.state.records import Memory
from tertulia.state.store import Recollection

#: Streams up to this length are looked at whole.
SCANNED = 4096

#: Memories that are looked at: about so many near each focal point, far from it (for the scale), and by the other two.
_NEAR, _FAR, _NOTABLE = 1536, 128, 1024
#: Memories that get their cells together; those of a block that is not full are always looked at.
_BLOCK = 256
#: Centres are made of at most so many vectors, in so many rounds.
_SAMPLE, _ROUNDS = 8192, 5

Vectors = NDArray[np.float32]


class MemoryIndex:
    """The memories of a stream that can come to mind: no chats, nothing idle."""

    def __init__(self) -> None:
        self._size = 0
        self._numbers = np.empty(0, np.int64)
        self._created_s = np.empty(0)
        self._importance = np.empty(0)
        self._again = np.empty(0, np.int64)  # the number of the next memory with the same text
        self._vectors = np.empty((0, 0), np.float16)
        self._last: dict[str, int] = {}  # by text, the place of the last memory with it
        self._ids: dict[str, int] = {}  # by id, its place
        self._cells: dict[int, tuple[Vectors, NDArray[np.int16]]] = {}  # by length of the beginning: centres, cells
        self.length = 0

    def add(self, number: int, memory: Memory, vector: NDArray[np.float16]) -> None:
        """Add the next memory of the stream.

        Args:
            number: Its number in the stream, from 1.
            vector: Its embedding, of unit length.
        """
        self.length = number
        if not may_be_recalled(memory):
            return
        index = self._size
        if index == len(self._numbers):
            self._grow(max(64, 2 * index), len(vector))
        if (same := self._last.get(memory.text)) is not None:
            self._again[same] = number
        self._last[memory.text] = self._ids[memory.id] = index
        self._numbers[index], self._again[index] = number, np.iinfo(np.int64).max
        self._created_s[index] = _seconds(memory.created)
        self._importance[index], self._vectors[index] = memory.importance, vector
        self._size += 1

    def recollect(
        self, length: int, without: Sequence[str], points: Sequence[Sequence[float]], parameters: Parameters
    ) -> Recollection:
        """Return the memories worth a closer look among the first memories of the stream.

        Args:
            length: How many of them, chats and the idle ones included.
            points: Focal points, `P` vectors of unit length.
        """
        size = int(np.searchsorted(self._numbers[: self._size], length, side="right"))
        eligible = self._again[:size] > length
        eligible[[index for id in without if (index := self._ids.get(id, size)) < size]] = False
        if not eligible.any():
            return Recollection((), (), (), (), (), (0.0, 0.0), (0.0, 0.0))
        created, importance = self._created_s[:size], self._importance[:size]
        spans = [(float(values[eligible].min()), float(values[eligible].max())) for values in (created, importance)]
        focal_points = np.asarray(points, np.float32)  # (P, D)
        looked_at = eligible
        if size > SCANNED:
            looked_at = np.zeros(size, bool)
            looked_at[self._notable(eligible, spans, parameters)] = True
            looked_at[self._near(size, focal_points)] = True
            looked_at &= eligible
        places = np.flatnonzero(looked_at)
        relevance = focal_points @ self._vectors[places].astype(np.float32).T  # (P, C)
        return Recollection(
            numbers=self._numbers[places].tolist(),
            created_s=created[places].tolist(),
            importance=importance[places].tolist(),
            relevance=relevance.tolist(),
            relevance_spans=[(float(row.min()), float(row.max())) for row in relevance],
            created_span_s=spans[0],
            importance_span=spans[1],
        )

    def _notable(
        self, eligible: NDArray[np.bool_], spans: Sequence[tuple[float, float]], parameters: Parameters
    ) -> NDArray[np.int64]:
        """Return the places of the memories that score highest by recency and importance alone."""
        (oldest, newest), (lowest, highest) = spans
        size = len(eligible)
        # Scaled to [0, 1], recency does not depend on the moment from which one looks back.
        kept = recency(newest - self._created_s[:size])
        least = recency(newest - oldest)
        score = parameters.retrieval_recency * (kept - least) / ((1 - least) or 1)
        score += parameters.retrieval_importance * (self._importance[:size] - lowest) / ((highest - lowest) or 1)
        score[~eligible] = -np.inf
        return np.argpartition(-score, _NOTABLE)[:_NOTABLE]

    def _near(self, size: int, focal_points: Vectors) -> NDArray[np.int64]:
        """Return the places of the memories in the cells nearest to each point, and in some far from it."""
        level = 1 << (size.bit_length() - 1)
        filed = size // _BLOCK * _BLOCK
        centres, cells = self._filed(level, filed)
        counts = np.bincount(cells[:filed], minlength=len(centres))
        opened = np.zeros(len(centres), bool)
        for order in np.argsort(-(focal_points @ centres.T), axis=1, kind="stable"):
            nearest = np.searchsorted(np.cumsum(counts[order]), _NEAR) + 1
            farthest = np.searchsorted(np.cumsum(counts[order[::-1]]), _FAR) + 1
            opened[order[:nearest]] = opened[order[::-1][:farthest]] = True
        return np.concatenate([np.flatnonzero(opened[cells[:filed]]), np.arange(filed, size)])

    def _filed(self, level: int, filed: int) -> tuple[Vectors, NDArray[np.int16]]:
        """Return the centres of a beginning of the stream, and the cell of each memory in whole blocks."""
        centres, cells = self._cells.get(level) or (self._centres(level), np.empty(0, np.int16))
        if len(cells) < filed:
            # Block by block: rounding depends on the shape of a product, and a cell may hang on it.
            new = [self._nearest(start, centres) for start in range(len(cells), filed, _BLOCK)]
            cells = np.concatenate([cells, *new])
        self._cells[level] = centres, cells
        return centres, cells

    def _nearest(self, start: int, centres: Vectors) -> NDArray[np.int16]:
        block = self._vectors[start : start + _BLOCK].astype(np.float32)
        nearest: NDArray[np.int16] = np.argmax(block @ centres.T, axis=1).astype(np.int16)
        return nearest

    def _centres(self, level: int) -> Vectors:
        """Return about as many centres as the square root of the length, by k-means on the sphere."""
        sample = self._vectors[: level : max(1, level // _SAMPLE)].astype(np.float32)  # (S, D)
        count = 1 << (level.bit_length() // 2)
        centres = sample[:: len(sample) // count][:count].copy()
        for _ in range(_ROUNDS):
            cells = np.argmax(sample @ centres.T, axis=1)
            for cell in range(count):
                if (members := cells == cell).any():
                    mean = sample[members].sum(axis=0)
                    centres[cell] = mean / (np.linalg.norm(mean) or 1)
        return centres

    def _grow(self, capacity: int, width: int) -> None:
        for name in ("_numbers", "_created_s", "_importance", "_again", "_vectors"):
            old = getattr(self, name)
            shape = (capacity, width) if name == "_vectors" else (capacity,)
            new = np.zeros(shape, old.dtype)
            new[: self._size] = old.reshape(-1, *shape[1:])[: self._size]
            setattr(self, name, new)


def _seconds(moment: datetime) -> float:
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
