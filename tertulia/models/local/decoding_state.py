"""Keys and values of prompts and of the replies behind them, and the attention captured on the way.

A prompt is read once (`prefill`) and kept as a `Prefix`, without its last token; its beginning may have been
read before (`kept_chunks`). Replies are then rows of a `DecodingState`: those of one prompt stand behind one
copy of its prefix, and rows of several prompts are decoded together.

While a `Prefix` or a `DecodingState` is current (`current_state`), `attention` computes the attention of the
forward pass with it. This module knows nothing of units, prompts or sampling.

Shapes: B rows, H query heads, K key-value heads, n new tokens, d head size, P tokens of the longest prefix, T reply
tokens.
"""

import contextvars
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tertulia.models.local.architecture import Model, has_positions_by_length, layers_of
from tertulia.models.local.bare_model import BareModel
from tertulia.models.local.kept_chunks import Chunk, ChunkKey, KeptChunks
from tertulia.models.local.prefix import Prefix
from tertulia.models.local.row_groups import Group, Stack, alike

if TYPE_CHECKING:
    from tertulia.models.local.sight import PictureInputs

#: Tokens of a forward pass that reads a prompt, on a processor and on an accelerator: small enough for little to be
#: read again behind a common beginning, large enough for full matrix products.
CHUNK, ACCELERATOR_CHUNK = 128, 512

#: The most rows that share a tensor: the column of another row costs as much as one of the prefix.
MOST_ROWS = 16

current_state: contextvars.ContextVar["Prefix | DecodingState | None"] = contextvars.ContextVar(
    "current_state", default=None
)


class Passes(Protocol):
    """The forward passes of a model."""

    def read(self, prefix: Prefix, end: int) -> None:
        """Read the next tokens of a prompt, up to `end`; its length stays as it is."""

    def logits(
        self, state: "DecodingState", tokens: Sequence[int], positions: Sequence[int], ends: Sequence[int] | None
    ) -> Tensor:
        """Read tokens of rows, and return the logits after the tokens at the places `ends`, or after all, `(n, V)`.

        Without any place, they are read for their attention alone; what is returned means nothing.
        """


#: Those of the models that have some of their own (`lean_llama`).
lean_passes: WeakKeyDictionary[Model, Passes] = WeakKeyDictionary()


def prefill(
    model: Model,
    tokens: Sequence[int],
    shared_prefix: int = 0,
    kept: KeptChunks | None = None,
    pictures: "PictureInputs | None" = None,
) -> Prefix:
    """Return the keys and values of a prompt without its last token, which every row of a state reads first.

    They are read in chunks, cut at fixed distances from the beginning, and at the end of the shared prefix: the forward
    passes of a prompt are the same ones whether some of their results were kept or not, and so are the numbers.

    Args:
        shared_prefix: The number of tokens at its beginning that other prompts share, if that is known.
        kept: The chunks in memory; those of this prompt are added.
        pictures: The model's inputs for its pictures; such a prompt is read whole, and no chunk of it is kept.
    """
    prefix = Prefix(tokens, layers_of(model))
    if pictures is not None:
        _read_with_pictures(model, prefix, pictures)
        return prefix
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


def _read(model: Model, prefix: Prefix, end: int) -> None:
    """Read the next tokens of a prompt, up to `end`, in one forward pass."""
    with _as_current(prefix), torch.inference_mode():
        _passes_of(model).read(prefix, end)
    prefix.length = end


def _read_with_pictures(model: Model, prefix: Prefix, pictures: "PictureInputs") -> None:
    """Read a prompt in one forward pass, in which the model merges pictures and text, and numbers their positions."""
    from tertulia.models.local.module_passes import ModulePasses

    assert not isinstance(model, BareModel)
    count = len(prefix.tokens) - 1
    prefix.has_pictures = True
    with _as_current(prefix), torch.inference_mode():
        shift = ModulePasses(model).read_with_pictures(prefix, count, pictures)
    prefix.length, prefix.shift, prefix.has_pictures = count, shift, False


def _passes_of(model: Model) -> Passes:
    """Return the passes of a model: its own, or those of transformers' modules."""
    lean = lean_passes.get(model)
    if lean is not None or isinstance(model, BareModel):
        return cast(Passes, lean)
    from tertulia.models.local.module_passes import ModulePasses

    return ModulePasses(model)


def _chunk_length(model: Model) -> int | None:
    """Return the tokens of a forward pass that reads a prompt; `None` if all must be read in one."""
    if has_positions_by_length(model):
        return None
    return CHUNK if model.device.type == "cpu" else ACCELERATOR_CHUNK


class DecodingState:
    """Rows that continue prefixes, each at its own length.

    The new tokens of all rows are read in one sequence, one row behind another, so that a row that reads many costs
    the others nothing. Rows of one prefix are a group, and attend to it in one matrix product (`row_groups`).

    Attributes:
        groups: The rows by prefix, or by several.
        lengths: By row, the number of tokens read, the prompt's last one included.
        captured_attention: Attention of each row's tokens to the prompt, mean over heads and summed over the scored
            layers, `(B, T, P + 1)` in float32; `None` if it is not captured.
        scored_layers: These layers; `None` for all.
        windows: By layer, as it was read last, how many tokens its attention reaches back; `None`: all of them.
    """

    def __init__(
        self,
        model: Model,
        prefixes: Prefix | Sequence[Prefix],
        rows: int,
        capacity: int,
        *,
        capture: bool,
        layers: Sequence[int] | None = None,
        stacks: bool = False,
    ) -> None:
        """Make rows that have read nothing yet.

        Args:
            prefixes: The prefixes that the rows continue: one, or several.
            rows: Number of rows that continue each of these.
            capacity: T, the tokens that a row may read.
            layers: Over which captured attention is summed; `None`: over all.
            stacks: Whether prefixes of about the same length share a tensor: several prompts take less time then, and
                their digits are others.
        """
        self.model = model
        self._passes = _passes_of(model)
        listed = [prefixes] if isinstance(prefixes, Prefix) else prefixes
        of_row = [prefix for prefix in listed for _ in range(rows)]
        self.lengths = [0] * len(of_row)
        self.scored_layers = None if layers is None else frozenset(layers)
        self.windows: dict[int, int | None] = {}
        members: list[tuple[Prefix, list[int]]] = []
        for prefix in {id(prefix): prefix for prefix in listed}.values():
            continuing = [row for row, continued in enumerate(of_row) if continued is prefix]
            members += [(prefix, continuing[i : i + MOST_ROWS]) for i in range(0, len(continuing), MOST_ROWS)]
        parts = alike(members) if stacks else [[member] for member in members]
        self.groups = [Stack(part) if len(part) > 1 else Group(*part[0]) for part in parts]
        self._prefix_lengths = [prefix.length for prefix in of_row]
        self._first_positions = [prefix.length + prefix.shift for prefix in of_row]
        shape = (len(of_row), capacity, max(self._prefix_lengths) + 1)
        self.captured_attention = torch.zeros(shape, dtype=torch.float32, device=model.device) if capture else None

    @property
    def length(self) -> int:
        """Number of tokens in front of those being read, of the longest row."""
        return max(prefix + length for prefix, length in zip(self._prefix_lengths, self.lengths, strict=True))

    @property
    def groups_with_tokens(self) -> list[Group | Stack]:
        """The groups with new tokens in the forward pass under way."""
        return [group for group in self.groups if group.tokens.start < group.tokens.stop]

    def captures(self, layer: int) -> bool:
        """Return whether the attention of a layer is captured."""
        return self.captured_attention is not None and (self.scored_layers is None or layer in self.scored_layers)

    def forward(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Read the next tokens of the rows, and return the logits after each `(B, n, V)`, zeros behind shorter rows."""
        return pad_sequence(self.read(tokens), batch_first=True)

    def read(self, tokens: Sequence[Sequence[int]]) -> list[Tensor]:
        """Read the next tokens of the rows, and return the logits after each, `(n, V)` by row."""
        order, logits = self._forward(tokens, None)
        parts = dict(zip(order, torch.split(logits, [len(tokens[row]) for row in order]), strict=True))
        none = logits.new_zeros(0, logits.shape[1])
        return [parts.get(row, none) for row in range(len(tokens))]

    def next_logits(self, tokens: Sequence[Sequence[int]]) -> list[Tensor]:
        """Read the next tokens of the rows, and return the logits after the last token of each, `(V,)` by row.

        They are in float32 and on the processor, which draws tokens; those of all rows come there in one copy. A
        row may have no tokens; its logits mean nothing.
        """
        order, logits = self._forward(tokens, 1)
        logits = logits.float().cpu()
        places = {row: place for place, row in enumerate(order)}
        return [logits[places.get(row, 0)] for row in range(len(tokens))]

    def read_attention(self, tokens: Sequence[Sequence[int]]) -> None:
        """Read the next tokens of the rows for their captured attention alone, in less time: no logits are computed."""
        self._forward(tokens, 0)

    def truncate(self, row: int, tokens: int) -> None:
        """Drop the last tokens of a row, as if they had not been read."""
        self.lengths[row] -= tokens

    def attention_of_row(self, row: int, tokens: int) -> Tensor:
        """Return the captured attention of a row's first tokens, `(tokens, tokens of its prompt)` (Eq. 1)."""
        assert self.captured_attention is not None
        return self.captured_attention[row, :tokens, : self._prefix_lengths[row] + 1]

    def _forward(self, tokens: Sequence[Sequence[int]], last: int | None) -> tuple[list[int], Tensor]:
        """Return the rows with new tokens in the order in which these were read, and logits `(tokens, V)`.

        They are those after each token, or after the `last` 1 or 0 tokens of each row.
        """
        order = [row for group in self.groups for row in group.rows if tokens[row]]
        new = [token for row in order for token in tokens[row]]
        positions = [
            self._first_positions[row] + self.lengths[row] + i for row in order for i in range(len(tokens[row]))
        ]
        start = 0
        for group in self.groups:
            start = group.begin(start, [len(tokens[row]) for row in group.rows], self.lengths, self.model.device)
        ends = None if last is None else [end - 1 for end in accumulate(len(tokens[row]) for row in order) if last]
        with _as_current(self), torch.inference_mode():
            logits = self._passes.logits(self, new, positions, ends)
        if self.captured_attention is not None:
            for group in self.groups:
                group.write_attention(self.captured_attention)
        for row in order:
            self.lengths[row] += len(tokens[row])
        return order, logits

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values `(1, K, tokens, d)` of one layer to those of their rows, and return them."""
        for group in self.groups:
            group.store(layer, keys[0], values[0])
        return keys, values


def longest_rows(rows: Iterable[tuple[int, ...]]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return the rows with which no other begins, and by row the number of one of these that begins with it."""
    listed, longest, number = list(rows), list[tuple[int, ...]](), dict[tuple[int, ...], int]()
    for row in sorted(set(listed), reverse=True):  # rows that go on with a row come right before it
        if not longest or longest[-1][: len(row)] != row:
            longest.append(row)
        number[row] = len(longest) - 1
    return longest, [number[row] for row in listed]


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
