"""A model of the Llama architecture without transformers: its parts, and the properties that other modules use.

The forward passes of `lean_llama` take `LlamaParts` from either source: transformers' modules (`lean_parts`) or a
folder (`bare_opening`). A `BareModel` is such parts by themselves.

Shapes: n tokens, h hidden size, d head size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor, nn


class Norm:
    """A root mean square norm, `weight · x / sqrt(mean(x²) + ε)`."""

    def __init__(self, weight: Tensor, epsilon: float) -> None:
        size = weight.numel()
        self._weight = weight.detach().float() * size**0.5
        self._offset = torch.tensor([(epsilon * size) ** 0.5])

    def __call__(self, hidden: Tensor) -> Tensor:
        """Return `hidden`, `(n, h)`, normed: x / hypot(|x|, sqrt(h ε)), times the weight."""
        length = torch.linalg.vector_norm(hidden, dim=-1, keepdim=True, dtype=torch.float32)
        normed: Tensor = hidden / length.hypot_(self._offset)
        return normed.mul_(self._weight).to(hidden.dtype)


class Rotary(nn.Module):
    """Rotary positions (Su et al. 2021): pair i of a head's numbers is turned by position / base^(2 i / d)."""

    def __init__(self, size: int, base: float) -> None:
        """Compute the frequencies of heads of that size, d."""
        super().__init__()
        self._frequencies = 1.0 / (base ** (torch.arange(0, size, 2, dtype=torch.float) / size))

    def forward(self, hidden: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return cosines and sines for positions `(1, n)`, `(1, n, d)` each, as precise as `hidden`."""
        angles = position_ids[..., None].float() * self._frequencies
        both = torch.cat((angles, angles), dim=-1)
        return both.cos().to(hidden.dtype), both.sin().to(hidden.dtype)


@dataclass(frozen=True)
class LayerParts:
    """One layer: two norms, four packed products, the factor on the logits and the window of its attention.

    Attributes:
        in_attention: Queries, keys and values in one product.
        in_mlp: Gate and up in one product.
        window: Width of the sliding window in tokens; `None` if there is none.
    """

    attention_norm: Norm
    in_attention: nn.Module
    out_of_attention: nn.Module
    mlp_norm: Norm
    in_mlp: nn.Module
    out_of_mlp: nn.Module
    scaling: float
    window: int | None

    @property
    def products(self) -> tuple[nn.Module, ...]:
        """The packed products."""
        return self.in_attention, self.out_of_attention, self.in_mlp, self.out_of_mlp


@dataclass(frozen=True)
class LlamaParts:
    """The parts of a model of the Llama architecture.

    Attributes:
        embed: From tokens `(n,)` to their embeddings, `(n, h)`.
        rotary: From `(n, h)` and positions `(1, n)` to cosines and sines, as `Rotary`.
        heads, key_heads: H and K.
        size: d.
    """

    embed: nn.Module
    rotary: nn.Module
    layers: Sequence[LayerParts]
    norm: Norm
    head: nn.Module
    heads: int
    key_heads: int
    size: int


class BareModel(nn.Module):
    """Parts by themselves, on a processor; they are read by passes, never called.

    Attributes:
        parts: Its parts.
        vocabulary: How many tokens it knows.
    """

    device = torch.device("cpu")

    def __init__(self, parts: LlamaParts, vocabulary: int) -> None:
        super().__init__()
        self.parts, self.vocabulary = parts, vocabulary
        self.embed = parts.embed
        self.products = nn.ModuleList([*chain.from_iterable(layer.products for layer in parts.layers), parts.head])

    @property
    def dtype(self) -> torch.dtype:
        """The precision of its computation."""
        return next(self.parameters()).dtype
