"""Keys and values of prompts and of the replies behind them, and the attention captured on the way.

A prompt is read once (`prefill`) and kept as a `Prefix`, without its last token; what it begins with may have been
read before (`models.kept_chunks`). Replies are then rows of a `DecodingState`. Rows of one prompt attend to the same
prefix tensors, and each to keys and values of its own, so nothing is copied per row; rows of several prompts are
decoded together.

While a `Prefix` or a `DecodingState` is current (`current_state`), `models.attention` computes the attention of the
forward pass with it. This module knows nothing of units, prompts or sampling.

Shapes: B rows, H query heads, K key-value heads, G = H / K, n new tokens, d head size, P tokens of the longest prefix,
T reply tokens, t reply tokens so far. Where attention has columns, all prefixes end at column P, whatever their length,
and a row's reply follows: shorter prefixes are padded on the left, and differences of columns are differences of
positions.
"""

import contextvars
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

from models.kept_chunks import Chunk, ChunkKey, KeptChunks

#: Tokens of a forward pass that reads a prompt, on a processor and on an accelerator: small enough for little to be
#: read again behind a common beginning, large enough for full matrix products.
CHUNK, ACCELERATOR_CHUNK = 128, 512

current_state: contextvars.ContextVar["Prefix | DecodingState | None"] = contextvars.ContextVar(
    "current_state", default=None
)


class _Layer(CacheLayerMixin):
    """One layer of transformers' cache; the state decides where new keys go and which keys attention gets."""

    is_sliding = False

    def __init__(self, state: "Prefix | DecodingState", index: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.state, self.index = state, index

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self.state.store(self.index, key_states, value_states)

    def get_seq_length(self) -> int:
        return self.state.length

    def get_max_length(self) -> int:
        return -1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.state.length + query_length, 0


class Prefix:
    """The keys and values of a prompt without its last token.

    Attributes:
        tokens: The prompt's tokens, all of them, the last one included.
        length: Number of tokens whose keys and values are stored.
        keys, values: One tensor per layer, `(K, length, d)`.
    """

    def __init__(self, tokens: Sequence[int], layers: int) -> None:
        self.tokens = tuple(tokens)
        self.length = 0
        self.keys: list[Tensor] = [torch.empty(0)] * layers
        self.values: list[Tensor] = [torch.empty(0)] * layers

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values `(1, K, n, d)` of one layer; return all of them."""
        if self.length:
            keys = torch.cat([self.keys[layer][None], keys], dim=2)
            values = torch.cat([self.values[layer][None], values], dim=2)
        self.keys[layer], self.values[layer] = keys[0].contiguous(), values[0].contiguous()
        return keys, values

    def chunk(self, start: int) -> Chunk:
        """Return a copy of the keys and values from token `start` on."""
        copies = [tuple(tensor[:, start:].clone() for tensor in tensors) for tensors in (self.keys, self.values)]
        return Chunk(*copies)

    def extend(self, chunks: Sequence[Chunk]) -> None:
        """Begin with the keys and values of these chunks."""
        self.keys = [torch.cat(parts, dim=1) for parts in zip(*(chunk.keys for chunk in chunks), strict=True)]
        self.values = [torch.cat(parts, dim=1) for parts in zip(*(chunk.values for chunk in chunks), strict=True)]
        self.length = self.keys[0].shape[1]


def prefill(
    model: PreTrainedModel, tokens: Sequence[int], shared_prefix: int = 0, kept: KeptChunks | None = None
) -> Prefix:
    """Return the keys and values of a prompt without its last token, which every row of a state reads first.

    They are read in chunks, cut at fixed distances from the beginning, and at the end of the shared prefix: the forward
    passes of a prompt are the same ones whether some of their results were kept or not, and so are the numbers.

    Args:
        model: The model.
        tokens: The prompt.
        shared_prefix: The number of tokens at its beginning that other prompts share, if that is known.
        kept: The chunks in memory; those of this prompt are added.
    """
    prefix = Prefix(tokens, _layers(model))
    whole, length = len(prefix.tokens) - 1, _chunk_length(model)
    shared = 0 if length is None else min(shared_prefix, whole)
    length = length or max(1, whole)
    ends = sorted({*range(length, shared, length), shared, *range(shared + length, whole, length), whole} - {0})
    known: dict[ChunkKey, Chunk] = {}
    while kept is not None and ends and (found := kept.get(_chunk_key(prefix, ends[0], shared))):
        known[_chunk_key(prefix, ends.pop(0), shared)] = found
    if known:
        prefix.extend(list(known.values()))
    for end in ends:
        start = prefix.length
        _read(model, prefix, end)
        if kept is not None and (end == shared or end - start == length):
            known[_chunk_key(prefix, end, shared)] = prefix.chunk(start)
    if kept is not None:
        kept.keep(known)
    return prefix


def _chunk_key(prefix: Prefix, end: int, shared: int) -> ChunkKey:
    return shared if end >= shared else 0, prefix.tokens[:end]


def _read(model: PreTrainedModel, prefix: Prefix, end: int) -> None:
    """Read the next tokens of a prompt, up to `end`, in one forward pass."""
    with _as_current(prefix), torch.inference_mode():
        model.base_model(
            input_ids=torch.tensor([prefix.tokens[prefix.length : end]], device=model.device),
            position_ids=torch.arange(prefix.length, end, device=model.device)[None],
            past_key_values=Cache(layers=[_Layer(prefix, i) for i in range(len(prefix.keys))]),
            use_cache=True,
        )
    prefix.length = end


def _chunk_length(model: PreTrainedModel) -> int | None:
    """Return the tokens of a forward pass that reads a prompt; `None` where all must be read in one.

    That is where a token's position is encoded by how long its prompt is.
    """
    rope = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    kinds = {part.get("rope_type") for part in (rope, *rope.values()) if isinstance(part, dict)}
    if kinds & {"dynamic", "longrope"}:
        return None
    return CHUNK if model.device.type == "cpu" else ACCELERATOR_CHUNK


class DecodingState:
    """Rows that continue prefixes, each at its own length.

    Rows of one prefix attend to the same tensors. Rows of several have theirs copied in front of their replies' keys,
    so that one matrix product serves all of them.

    Attributes:
        common_prefix: The prefix that all rows continue; `None` if there are several.
        prefix_length: P.
        left_padding: By row, the number of masked columns in front of its prefix.
        lengths: By row, the number of tokens read, the prompt's last one included.
        captured_attention: Attention of each row's tokens to the prompt, mean over heads and summed over layers,
            `(B, T, P + 1)` in float32; `None` if it is not captured.
        packed: How the tokens of the current forward pass are packed; `None` if they are padded.
    """

    def __init__(
        self, model: PreTrainedModel, prefixes: Prefix | Sequence[Prefix], rows: int, capacity: int, *, capture: bool
    ) -> None:
        """Make rows that have read nothing yet.

        Args:
            model: The model.
            prefixes: What the rows continue: one prefix, or several.
            rows: Number of rows that continue each of these.
            capacity: T, the tokens that a row may read.
            capture: Whether to capture attention to the prompt.
        """
        self.model, self.capacity = model, capacity
        listed = [prefixes] if isinstance(prefixes, Prefix) else prefixes
        self._prefixes = [prefix for prefix in listed for _ in range(rows)]
        self.common_prefix = listed[0] if all(prefix is listed[0] for prefix in listed) else None
        self.prefix_length = max(prefix.length for prefix in listed)
        self.left_padding = [self.prefix_length - prefix.length for prefix in self._prefixes]
        self.lengths = [0] * len(self._prefixes)
        layers = _layers(model)
        self.keys: list[Tensor | None] = [None] * layers
        self.values: list[Tensor | None] = [None] * layers
        shape = (len(self._prefixes), capacity, self.prefix_length + 1)
        self.captured_attention = torch.zeros(shape, dtype=torch.float32, device=model.device) if capture else None
        self.packed: PackedBatch | None = None
        self._masks: dict[tuple[int, int | None], Tensor] = {}

    @property
    def length(self) -> int:
        """Number of columns in front of the tokens being read."""
        return self.prefix_length + max(self.lengths)

    def forward(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Read the next tokens of every row, at least one each, and return the logits after each `(B, n, V)`.

        A row with fewer tokens than others is padded; the logits after its padding mean nothing.
        """
        n = max(map(len, tokens))
        padded = [[*row, *[row[-1]] * (n - len(row))] for row in tokens]
        logits = self._forward(padded, [range(start, start + n) for start in self._next_positions()])
        for row, new in enumerate(tokens):
            self.advance(row, len(new))
        return logits

    def next_logits(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Read the next tokens of the rows, and return the logits after the last token of each, `(B, V)`.

        A row may have no tokens; its logits mean nothing. Rows of several prefixes are packed, without padding.
        """
        if self.common_prefix is not None:
            logits = self.forward([row or [0] for row in tokens])
            for row, new in enumerate(tokens):
                if not new:
                    self.truncate(row, 1)
            return logits[range(len(tokens)), [max(0, len(row) - 1) for row in tokens]]
        rows = [row for row, new in enumerate(tokens) for _ in new]
        offsets = [offset for new in tokens for offset in range(len(new))]
        starts = self._next_positions()
        positions = [starts[row] + offset for row, offset in zip(rows, offsets, strict=True)]
        columns = [self.left_padding[row] + position for row, position in zip(rows, positions, strict=True)]
        places = torch.tensor([rows, offsets, columns], device=self.model.device)
        self.packed = PackedBatch(places[0], places[1], places[2], max(map(len, tokens)))
        try:
            logits = self._forward([list(chain.from_iterable(tokens))], [positions])
        finally:
            self.packed = None
        for row, new in enumerate(tokens):
            self.advance(row, len(new))
        return logits[0, [max(0, end - 1) for end in accumulate(map(len, tokens))]]

    def advance(self, row: int, tokens: int) -> None:
        """Count the next tokens of a row as read, and drop what was captured behind them (of padding)."""
        self._set_length(row, self.lengths[row] + tokens)

    def truncate(self, row: int, tokens: int) -> None:
        """Drop the last tokens of a row, as if they had not been read."""
        self._set_length(row, self.lengths[row] - tokens)

    def _set_length(self, row: int, length: int) -> None:
        self.lengths[row] = length
        if self.captured_attention is not None:
            self.captured_attention[row, length:] = 0

    def attention_of_row(self, row: int, tokens: int) -> Tensor:
        """Return the captured attention of a row's first tokens, `(tokens, tokens of its prompt)` (Eq. 1)."""
        assert self.captured_attention is not None
        return self.captured_attention[row, :tokens, self.left_padding[row] :]

    def _next_positions(self) -> list[int]:
        """Return the position of the next token of each row."""
        return [
            self.prefix_length - padding + length
            for padding, length in zip(self.left_padding, self.lengths, strict=True)
        ]

    def _forward(self, tokens: Sequence[Sequence[int]], positions: Sequence[Sequence[int]]) -> Tensor:
        device = self.model.device
        self._masks.clear()
        with _as_current(self), torch.inference_mode():
            logits = self.model(
                input_ids=torch.tensor(tokens, device=device),
                position_ids=torch.tensor([list(row) for row in positions], device=device),
                past_key_values=Cache(layers=[_Layer(self, i) for i in range(len(self.keys))]),
                use_cache=True,
            ).logits
        self._prefixes.clear()  # copied, where there are several
        return cast(Tensor, logits)

    # --- for models.attention, once per layer -------------------------------------------------------------------------

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values to those of each row.

        Args:
            layer: The layer.
            keys, values: `(B, K, n, d)`, or `(1, K, tokens, d)` where they are packed.

        Returns:
            What the rows attend to besides a common prefix, `(B, K, t, d)`; `(B, K, P + T, d)` if there is none.
        """
        all_keys, all_values = self.keys[layer], self.values[layer]
        if all_keys is None or all_values is None:
            all_keys = self.keys[layer] = self._allocate(keys, [prefix.keys[layer] for prefix in self._prefixes])
            all_values = self.values[layer] = self._allocate(
                values, [prefix.values[layer] for prefix in self._prefixes]
            )
        front = self.prefix_length if self.common_prefix is None else 0
        if self.packed is not None:
            n = self.packed.n
            all_keys[self.packed.rows, :, self.packed.columns] = keys[0].transpose(0, 1)
            all_values[self.packed.rows, :, self.packed.columns] = values[0].transpose(0, 1)
        else:
            n = keys.shape[2]
            for row, length in enumerate(self.lengths):
                start, fits = front + length, min(n, self.capacity - length)  # only padding can lie behind it
                all_keys[row, :, start : start + fits] = keys[row, :, :fits]
                all_values[row, :, start : start + fits] = values[row, :, :fits]
        if self.common_prefix is None:
            return all_keys, all_values  # all of it: a part in bfloat16 would be copied for the matrix product
        end = min(max(self.lengths) + n, self.capacity)
        return all_keys[:, :, :end], all_values[:, :, :end]

    def _allocate(self, new: Tensor, prefixes: Sequence[Tensor]) -> Tensor:
        """Return zeros for one layer's keys or values, several prefixes copied in front."""
        front = self.prefix_length if self.common_prefix is None else 0
        tensor = new.new_zeros((len(self.left_padding), new.shape[1], front + self.capacity, new.shape[3]))
        for row, prefix in enumerate(prefixes):
            if self.common_prefix is None and prefix.dim() == 3:
                tensor[row, :, self.left_padding[row] : front] = prefix
        return tensor

    def attention_mask(self, first: int, n: int, columns: int, window: int | None) -> Tensor | None:
        """Return which columns the `n` new tokens from `first` on attend to, `(B, 1, n, columns)`; `None` for all.

        It is made once for all layers with the same window.
        """
        if window is None and not any(self.left_padding):
            shortest = self.prefix_length + min(self.lengths)
            if shortest + first + 1 >= columns:
                return None
        if (first, window) not in self._masks:
            device = self.model.device
            starts = torch.tensor([self.prefix_length + first + length for length in self.lengths], device=device)
            query_columns = starts[:, None, None] + torch.arange(n, device=device)[:, None]
            key_columns = torch.arange(columns, device=device)
            mask = causal_mask(query_columns, key_columns, window)
            if any(self.left_padding):
                mask &= key_columns >= torch.tensor(self.left_padding, device=device)[:, None, None]
            self._masks[first, window] = mask[:, None]
        return self._masks[first, window]

    def capture(self, weights: Tensor, first: int) -> None:
        """Add the attention weights of one layer, `(B, H, n, P + t)`, of the new tokens from `first` on."""
        if self.captured_attention is None:
            return
        # (B, n, P + 1): the first reply column is the prompt's last token
        to_prompt = weights[..., : self.captured_attention.shape[2]].mean(1)
        for row, length in enumerate(self.lengths):
            start = length + first
            fits = max(0, min(to_prompt.shape[1], self.capacity - start))
            self.captured_attention[row, start : start + fits] += to_prompt[row, :fits]


@dataclass(frozen=True)
class PackedBatch:
    """The layout of several rows' new tokens, one after another, in a batch of one.

    Attributes:
        rows, offsets, columns: By token, its row, its number among the row's new tokens, and its column.
        n: New tokens of the row that has most.
    """

    rows: Tensor
    offsets: Tensor
    columns: Tensor
    n: int

    def unpack(self, packed: Tensor, rows: int) -> Tensor:
        """`(1, H, tokens, d)` to `(B, H, n, d)`, with zeros where a row has fewer tokens."""
        unpacked = packed.new_zeros((rows, packed.shape[1], self.n, packed.shape[3]))
        unpacked[self.rows, :, self.offsets] = packed[0].transpose(0, 1)
        return unpacked

    def pack(self, unpacked: Tensor) -> Tensor:
        """`(B, H, n, d)` to `(1, tokens, H, d)`."""
        return unpacked[self.rows, :, self.offsets][None]


def causal_mask(query_columns: Tensor, key_columns: Tensor, window: int | None) -> Tensor:
    """Return which keys a query attends to: those up to itself, the last `window` of them if there is a window."""
    mask = key_columns <= query_columns
    return mask if window is None else mask & (query_columns - key_columns < window)


@contextmanager
def _as_current(state: Prefix | DecodingState) -> Iterator[None]:
    token = current_state.set(state)
    try:
        yield
    finally:
        current_state.reset(token)


def _layers(model: PreTrainedModel) -> int:
    return int(model.config.get_text_config().num_hidden_layers)
