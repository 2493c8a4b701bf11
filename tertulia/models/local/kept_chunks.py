"""Keys and values of the beginnings of prompts, kept in memory for the next prompts that begin so.

Prompts are read in chunks (`decoding_state.prefill`), and the numbers of a chunk depend on the tokens up to its
end and on the places of the cuts. That is its key here: a chunk that is found is the same, to the bit, as one read
again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

#: The place of an irregular cut of a prompt, 0 without one, and its tokens up to the end of the chunk.
ChunkKey = tuple[int, tuple[int, ...]]

#: Share of the budget for chunks that were found again; the rest is for those that may be.
_FOUND_SHARE = 0.75


@dataclass(frozen=True)
class Chunk:
    """The keys and values of consecutive tokens of a prompt, one tensor per layer, `(K, n, d)`."""

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(tensor.nbytes for tensor in (*self.keys, *self.values))


class KeptChunks:
    """Chunks within a budget of memory; those that were never found again go first, then those used longest ago.

    Of a prompt the beginning is kept longest, since more prompts share it; one larger than the budget keeps no more.
    """

    def __init__(self, budget: int) -> None:
        """Keep nothing yet, and at most `budget` bytes."""
        self.budget = budget
        self._new: dict[ChunkKey, Chunk] = {}
        self._found: dict[ChunkKey, Chunk] = {}

    def __iter__(self) -> Iterator[ChunkKey]:
        """Iterate over the keys of the kept chunks."""
        yield from self._new
        yield from self._found

    def get(self, key: ChunkKey) -> Chunk | None:
        """Return a chunk, `None` if it is not kept."""
        return self._found.get(key) or self._new.get(key)

    def keep(self, chunks: Mapping[ChunkKey, Chunk]) -> None:
        """Keep the chunks of a prompt, which come from first to last, as the ones used last."""
        for key, chunk in reversed(list(chunks.items())):
            is_known = self._found.pop(key, None) or self._new.pop(key, None)
            (self._found if is_known else self._new)[key] = chunk
        free = self.budget - _shrink(self._found, int(self.budget * _FOUND_SHARE))
        _shrink(self._new, free)

    def clear(self) -> None:
        """Drop everything."""
        self._new.clear()
        self._found.clear()


def _shrink(chunks: dict[ChunkKey, Chunk], budget: int) -> int:
    """Drop the chunks used longest ago until the rest is within the budget; return the bytes of the rest."""
    size = sum(chunk.size for chunk in chunks.values())
    while size > budget:
        size -= chunks.pop(next(iter(chunks))).size
    return size
