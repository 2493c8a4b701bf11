"""The keys and values of a prompt, which the rows of its replies share.

Shapes: K key-value heads, n new tokens, d head size.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tertulia.models.local.kept_chunks import Chunk


class Prefix:
    """The keys and values of a prompt without its last token.

    Attributes:
        tokens: The prompt's tokens, all of them, the last one included.
        length: Number of tokens whose keys and values are stored.
        shift: The difference between the position and the number of a later token: with pictures, the tokens of
            one may share positions.
        keys, values: One tensor per layer, `(K, length, d)`.
        has_pictures: Whether the model's own mask is used, while they are read.
    """

    def __init__(self, tokens: Sequence[int], layers: int) -> None:
        self.tokens = tuple(tokens)
        self.length, self.shift, self.has_pictures = 0, 0, False
        self.keys: list[Tensor] = [torch.empty(0)] * layers
        self.values: list[Tensor] = [torch.empty(0)] * layers

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values `(1, K, n, d)` of one layer; return all of them."""
        if self.length:
            keys = torch.cat([self.keys[layer][None], keys], dim=2)
            values = torch.cat([self.values[layer][None], values], dim=2)
        self.keys[layer], self.values[layer] = keys[0].contiguous(), values[0].contiguous()
        return keys, values

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(tensor.nbytes for tensor in (*self.keys, *self.values))

    def chunk(self, start: int) -> Chunk:
        """Return a copy of the keys and values from token `start` on."""
        copies = [tuple(tensor[:, start:].clone() for tensor in tensors) for tensors in (self.keys, self.values)]
        return Chunk(*copies)

    def extend(self, chunks: Sequence[Chunk]) -> None:
        """Begin with the keys and values of these chunks."""
        self.keys = [torch.cat(parts, dim=1) for parts in zip(*(chunk.keys for chunk in chunks), strict=True)]
        self.values = [torch.cat(parts, dim=1) for parts in zip(*(chunk.values for chunk in chunks), strict=True)]
        self.length = self.keys[0].shape[1]
