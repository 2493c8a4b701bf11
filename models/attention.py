"""Attention with shared prefixes, and the rows of Eq. 1 caught on the way.

A prompt is read once (`read_prefix`) and kept without its last token; what it shares with other prompts may have been
read before (its shared prefix). Replies are then rows of a `Decoding`. Rows of one prompt attend to the same prefix
tensors, and each to keys and values of its own, so nothing is copied per row; rows of several prompts are read
together. Since the softmax over one-token steps is explicit, the attention weights are at hand; their mean over heads,
summed over layers, is added into one `(rows, reply tokens, prompt tokens)` buffer. All the reductions of Eq. 1 are
linear, so this equals the definition on the full attention tensors to rounding (`rows_by_definition` is that
definition).

This module knows nothing of units, prompts or sampling.

Shapes: B rows, H query heads, K key-value heads, G = H / K, n new tokens, d head size, P tokens of the longest prefix,
T reply tokens. Where attention has columns, all prefixes end at column P, whatever their length, and a row's own keys
follow: the columns in front of a shorter prefix are hidden, and differences of columns are differences of positions.
"""

import contextvars
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin
from transformers.masking_utils import AttentionMaskInterface
from transformers.modeling_utils import AttentionInterface

from state.errors import AttentionUnavailableError

IMPLEMENTATION = "tertulia"

#: Elements of one block of attention weights; longer replies are read in several blocks of queries.
MAX_WEIGHTS = 1 << 24

_reading: contextvars.ContextVar["Prefix | Decoding | None"] = contextvars.ContextVar("reading", default=None)


class _Layer(CacheLayerMixin):
    """One layer's keys and values: `store` decides where new ones go and what attention gets to see."""

    is_sliding = False

    def __init__(self, owner: "Prefix | Decoding", index: int) -> None:
        super().__init__()
        self.owner, self.index = owner, index

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self.owner.store(self.index, key_states, value_states)

    def get_seq_length(self) -> int:
        return self.owner.length

    def get_max_length(self) -> int:
        return -1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.owner.length + query_length, 0


class Prefix:
    """The keys and values of a prompt without its last token, read once.

    Attributes:
        tokens: The prompt's tokens, all of them, the last one included.
        length: How many have been read.
        keys, values: One tensor per layer, `(K, length, d)`.
    """

    def __init__(self, tokens: Sequence[int], layers: int) -> None:
        self.tokens = tuple(tokens)
        self.length = 0
        self.keys: list[Tensor] = [torch.empty(0)] * layers
        self.values: list[Tensor] = [torch.empty(0)] * layers

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep new keys and values `(1, K, n, d)` of one layer; return all so far."""
        if self.length:
            keys = torch.cat([self.keys[layer][None], keys], dim=2)
            values = torch.cat([self.values[layer][None], values], dim=2)
        self.keys[layer], self.values[layer] = keys[0].contiguous(), values[0].contiguous()
        return keys, values


class Decoding:
    """Rows that continue prefixes, each at its own length.

    Rows of one prefix look at the same tensors. Rows of several have theirs copied in front of their own keys, so that
    one matrix product serves all of them.

    Attributes:
        shared: The prefix that all rows continue; `None` if there are several.
        before: P.
        pads: By row, the hidden columns in front of its prefix.
        lengths: By row, the tokens already read, the prompt's last one included.
        rows: Attention of each row's tokens to the prompt, mean over heads and summed over layers,
            `(B, T, P + 1)` in float32, or `None` if it is not wanted.
    """

    def __init__(
        self, model: PreTrainedModel, prefixes: Prefix | Sequence[Prefix], rows: int, capacity: int, *, catch: bool
    ) -> None:
        """Make rows that have read nothing yet.

        Args:
            model: The model.
            prefixes: What the rows continue: one prefix, or several.
            rows: So many rows continue each of these.
            capacity: T, the tokens that a row may read.
            catch: Whether attention to the prompt is wanted.
        """
        self.model, self.capacity = model, capacity
        listed = [prefixes] if isinstance(prefixes, Prefix) else prefixes
        self._prefixes = [prefix for prefix in listed for _ in range(rows)]
        self.shared = listed[0] if all(prefix is listed[0] for prefix in listed) else None
        self.before = max(prefix.length for prefix in listed)
        self.pads = [self.before - prefix.length for prefix in self._prefixes]
        self.lengths = [0] * len(self._prefixes)
        layers = model.config.get_text_config().num_hidden_layers
        self.keys: list[Tensor | None] = [None] * layers
        self.values: list[Tensor | None] = [None] * layers
        shape = (len(self._prefixes), capacity, self.before + 1)
        self.rows = torch.zeros(shape, dtype=torch.float32, device=model.device) if catch else None
        self.line: _Line | None = None
        self._hidden: dict[tuple[int, int | None], Tensor | None] = {}

    @property
    def length(self) -> int:
        """Columns in front of the tokens being read."""
        return self.before + max(self.lengths)

    def read(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Read the next tokens of every row, at least one each, and return the logits after each `(B, n, V)`.

        A row with fewer tokens than others is padded; the logits behind its own tokens mean nothing.
        """
        n = max(map(len, tokens))
        padded = [[*row, *[row[-1]] * (n - len(row))] for row in tokens]
        logits = self._forward(padded, [range(start, start + n) for start in self._starts()])
        self._count(tokens)
        return logits

    def read_on(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Read the next tokens of the rows, and return the logits behind the last of each, `(B, V)`.

        A row may have none to read; its logits mean nothing. Rows of several prefixes read in one line, without
        padding.
        """
        if self.shared is not None:
            logits = self.read([row or [0] for row in tokens])
            for row in (row for row, read in enumerate(tokens) if not read):
                self.forget(row, 1)
            return logits[range(len(tokens)), [max(0, len(row) - 1) for row in tokens]]
        rows = [row for row, read in enumerate(tokens) for _ in read]
        offsets = [offset for read in tokens for offset in range(len(read))]
        starts = self._starts()
        positions = [starts[row] + offset for row, offset in zip(rows, offsets, strict=True)]
        columns = [self.pads[row] + position for row, position in zip(rows, positions, strict=True)]
        places = torch.tensor([rows, offsets, columns], device=self.model.device)
        self.line = _Line(places[0], places[1], places[2], max(map(len, tokens)))
        try:
            logits = self._forward([list(chain.from_iterable(tokens))], [positions])
        finally:
            self.line = None
        self._count(tokens)
        return logits[0, [max(0, end - 1) for end in accumulate(map(len, tokens))]]

    def _starts(self) -> list[int]:
        """Return the position of the next token of each row."""
        return [self.before - pad + length for pad, length in zip(self.pads, self.lengths, strict=True)]

    def _forward(self, tokens: Sequence[Sequence[int]], positions: Sequence[Sequence[int]]) -> Tensor:
        device = self.model.device
        self._hidden.clear()
        with _as_current(self), torch.inference_mode():
            logits = self.model(
                input_ids=torch.tensor(tokens, device=device),
                position_ids=torch.tensor([list(row) for row in positions], device=device),
                past_key_values=Cache(layers=[_Layer(self, i) for i in range(len(self.keys))]),
                use_cache=True,
            ).logits
        self._prefixes.clear()  # copied, where there are several
        return cast(Tensor, logits)

    def _count(self, tokens: Sequence[Sequence[int]]) -> None:
        for row, read in enumerate(tokens):
            self.forget(row, -len(read))

    def forget(self, row: int, tokens: int) -> None:
        """Take back the last tokens of a row, as if they had not been read (a negative number: count them as read)."""
        self.lengths[row] -= tokens
        if self.rows is not None:
            self.rows[row, self.lengths[row] :] = 0

    def caught(self, row: int, tokens: int) -> Tensor:
        """Return the rows of Eq. 1 of a row's first tokens, `(tokens, tokens of its prompt)`."""
        assert self.rows is not None
        return self.rows[row, :tokens, self.pads[row] :]

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put new keys and values behind each row's own.

        Args:
            layer: The layer.
            keys, values: `(B, K, n, d)`, or `(1, K, tokens, d)` of a line.

        Returns:
            What the rows look at besides a shared prefix, `(B, K, t, d)`; `(B, K, P + T, d)` if there is none.
        """
        kept_keys, kept_values = self.keys[layer], self.values[layer]
        if kept_keys is None or kept_values is None:
            kept_keys = self.keys[layer] = self._room(keys, [prefix.keys[layer] for prefix in self._prefixes])
            kept_values = self.values[layer] = self._room(values, [prefix.values[layer] for prefix in self._prefixes])
        front = self.before if self.shared is None else 0
        if self.line is not None:
            n = self.line.n
            kept_keys[self.line.rows, :, self.line.columns] = keys[0].transpose(0, 1)
            kept_values[self.line.rows, :, self.line.columns] = values[0].transpose(0, 1)
        else:
            n = keys.shape[2]
            for row, length in enumerate(self.lengths):
                start, fits = front + length, min(n, self.capacity - length)  # only padding can lie behind it
                kept_keys[row, :, start : start + fits] = keys[row, :, :fits]
                kept_values[row, :, start : start + fits] = values[row, :, :fits]
        if self.shared is None:
            return kept_keys, kept_values  # all of it: a part in bfloat16 would be copied for the matrix product
        end = min(max(self.lengths) + n, self.capacity)
        return kept_keys[:, :, :end], kept_values[:, :, :end]

    def _room(self, new: Tensor, prefixes: Sequence[Tensor]) -> Tensor:
        """Return room for one layer's keys or values, several prefixes in front."""
        front = self.before if self.shared is None else 0
        room = new.new_zeros((len(self.pads), new.shape[1], front + self.capacity, new.shape[3]))
        for row, prefix in enumerate(prefixes):
            if self.shared is None and prefix.dim() == 3:
                room[row, :, self.pads[row] : front] = prefix
        return room

    def hidden(self, first: int, n: int, columns: int, window: int | None) -> Tensor | None:
        """Return what `n` new tokens from `first` on don't see, `(B, 1, n, columns)`; `None` if they see everything.

        It is made once for all layers.
        """
        if window is None and not any(self.pads) and self.before + min(self.lengths) + first + 1 >= columns:
            return None
        if (first, window) not in self._hidden:
            device = self.model.device
            starts = torch.tensor([self.before + first + length for length in self.lengths], device=device)
            query_at = starts[:, None, None] + torch.arange(n, device=device)[:, None]
            key_at = torch.arange(columns, device=device)
            hidden = _hidden(query_at, key_at, window)
            if any(self.pads):
                hidden |= key_at < torch.tensor(self.pads, device=device)[:, None, None]
            self._hidden[first, window] = hidden[:, None]
        return self._hidden[first, window]

    def catch(self, weights: Tensor, first: int) -> None:
        """Add the weights of one layer, `(B, H, n, P + t)`, for the new tokens from `first` on."""
        if self.rows is None:
            return
        seen = weights[..., : self.rows.shape[2]].mean(1)  # (B, n, P + 1): the first reply column is the prompt's last
        for row, start in enumerate(self.lengths):
            at = start + first
            fits = max(0, min(seen.shape[1], self.capacity - at))
            self.rows[row, at : at + fits] += seen[row, :fits]


@dataclass(frozen=True)
class _Line:
    """New tokens of all rows in one line: a batch of one.

    Attributes:
        rows, offsets, columns: By token, its row, its number among the row's new tokens, and its column.
        n: New tokens of the row that has most.
    """

    rows: Tensor
    offsets: Tensor
    columns: Tensor
    n: int

    def apart(self, line: Tensor, rows: int) -> Tensor:
        """`(1, H, tokens, d)` to `(B, H, n, d)`, with zeros where a row has fewer tokens."""
        apart = line.new_zeros((rows, line.shape[1], self.n, line.shape[3]))
        apart[self.rows, :, self.offsets] = line[0].transpose(0, 1)
        return apart

    def together(self, apart: Tensor) -> Tensor:
        """`(B, H, n, d)` to `(1, tokens, H, d)`."""
        return apart[self.rows, :, self.offsets][None]


@contextmanager
def _as_current(reading: "Prefix | Decoding") -> Iterator[None]:
    token = _reading.set(reading)
    try:
        yield
    finally:
        _reading.reset(token)


def read_prefix(model: PreTrainedModel, tokens: Sequence[int], shared_prefix: Prefix | None = None) -> Prefix:
    """Read all of a prompt but its last token, which every row of a `Decoding` reads as its first.

    Args:
        model: The model.
        tokens: The prompt.
        shared_prefix: What has been read of its beginning already; only what follows is read then.
    """
    prefix = Prefix(tokens, model.config.get_text_config().num_hidden_layers)
    if shared_prefix is not None:
        prefix.length, prefix.keys, prefix.values = shared_prefix.length, [*shared_prefix.keys], [*shared_prefix.values]
    rest = prefix.tokens[prefix.length : -1]
    if rest:
        with _as_current(prefix), torch.inference_mode():
            model.base_model(
                input_ids=torch.tensor([rest], device=model.device),
                position_ids=torch.arange(prefix.length, len(tokens) - 1, device=model.device)[None],
                past_key_values=Cache(layers=[_Layer(prefix, i) for i in range(len(prefix.keys))]),
                use_cache=True,
            )
        prefix.length += len(rest)
    return prefix


def attention_forward(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Softmax attention as transformers asks for it; masks are made here, from positions.

    Args:
        query: `(B, H, n, d)`.
        key, value: `(B, K, n, d)` while a prefix is read, `(B, K, t, d)` of the reply so far while decoding.
        attention_mask: Always `None`: the mask function registered beside this one makes none.
        scaling: Factor on the logits; `d ** -0.5` if not given.
        sliding_window: Width of the window in tokens, the query's own included.
        softcap: Bound of the logits (`softcap * tanh(logits / softcap)`).
        s_aux: One logit per head that takes part in the softmax and is thrown away.
    """
    reading = _reading.get()
    if others.get("position_bias") is not None:
        raise AttentionUnavailableError("its attention adds a position bias that the scores would miss")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    if not isinstance(reading, Decoding):
        output = _prefill(query, key, value, scaling, sliding_window, softcap, s_aux)
        return output.transpose(1, 2).contiguous(), None
    layer, line = getattr(module, "layer_idx", 0), reading.line
    if line is not None:
        query = line.apart(query, key.shape[0])
    output = _decode(reading, layer, query, key, value, scaling, sliding_window, softcap, s_aux)
    return (output.transpose(1, 2).contiguous() if line is None else line.together(output)), None


def _prefill(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scaling: float,
    window: int | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    n, before = query.shape[2], key.shape[2] - query.shape[2]
    if softcap is None and sinks is None and (window is None or window >= before + n):
        mask = None
        if before:
            mask = torch.ones(n, before + n, dtype=torch.bool, device=query.device).tril(before)
        return nn.functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=mask,
            is_causal=mask is None,
            scale=scaling,
            enable_gqa=key.shape[1] != query.shape[1],
        )
    positions = torch.arange(before + n, device=query.device)
    step = max(1, MAX_WEIGHTS // (query.shape[1] * (before + n)))
    outputs = []
    for first in range(0, n, step):
        part = query[:, :, first : first + step]
        at = positions[before + first : before + first + step, None]
        logits = _logits(part, key, scaling, softcap).masked_fill(_hidden(at, positions, window), -torch.inf)
        outputs.append(_mix(_softmax(logits, sinks), value))
    return torch.cat(outputs, dim=2)


def _decode(
    decoding: Decoding,
    layer: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scaling: float,
    window: int | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    rows, heads, n, _ = query.shape
    shared = decoding.shared if decoding.before else None
    before = decoding.before if shared is not None else 0
    columns = before + key.shape[2]
    step = max(1, MAX_WEIGHTS // (rows * heads * columns))
    outputs = []
    for first in range(0, n, step):
        part = query[:, :, first : first + step]
        logits = _logits(part, key, scaling, softcap)
        if shared is not None:
            # One matrix product for all rows: they look at the same keys.
            flat = _by_kv_head(part, key.shape[1])  # (K, B * G * n, d)
            flat = _cap(flat @ shared.keys[layer].transpose(1, 2) * scaling, softcap)
            flat = flat.view(key.shape[1], rows, -1, part.shape[2], before).transpose(0, 1)
            logits = torch.cat([flat.reshape(rows, heads, part.shape[2], before), logits], dim=-1)
        hidden = decoding.hidden(first, part.shape[2], columns, window)
        if hidden is not None:
            logits.masked_fill_(hidden, -torch.inf)
        weights = _softmax(logits, sinks)
        decoding.catch(weights, first)
        output = _mix(weights[..., before:], value)
        if shared is not None:
            flat = _by_kv_head(weights[..., :before].to(value.dtype), key.shape[1]) @ shared.values[layer]
            flat = flat.view(key.shape[1], rows, -1, part.shape[2], value.shape[3]).transpose(0, 1)
            output = output + flat.reshape(output.shape)
        outputs.append(output)
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=2)


def _by_kv_head(tensor: Tensor, kv_heads: int) -> Tensor:
    """`(B, H, n, x)` to `(K, B * G * n, x)`: heads of one group are neighbours, keys are never repeated."""
    rows, _, _, size = tensor.shape
    return tensor.reshape(rows, kv_heads, -1, size).transpose(0, 1).reshape(kv_heads, -1, size)


def _logits(query: Tensor, key: Tensor, scaling: float, softcap: float | None) -> Tensor:
    rows, heads, n, size = query.shape
    grouped = query.reshape(rows, key.shape[1], -1, size)  # (B, K, G * n, d)
    return _cap(grouped @ key.transpose(2, 3) * scaling, softcap).view(rows, heads, n, key.shape[2])


def _cap(logits: Tensor, softcap: float | None) -> Tensor:
    return logits if softcap is None else torch.tanh(logits / softcap) * softcap


def _hidden(query_at: Tensor, key_at: Tensor, window: int | None) -> Tensor:
    hidden = key_at > query_at
    return hidden if window is None else hidden | (query_at - key_at >= window)


def _softmax(logits: Tensor, sinks: Tensor | None) -> Tensor:
    """Softmax in float32, over a sink logit per head too where the model has them."""
    if sinks is None:
        return logits.softmax(-1, dtype=torch.float32)
    column = sinks.reshape(1, -1, 1, 1).expand(*logits.shape[:-1], 1).to(logits.dtype)
    return torch.cat([logits, column], dim=-1).softmax(-1, dtype=torch.float32)[..., :-1]


def _mix(weights: Tensor, value: Tensor) -> Tensor:
    """`(B, H, n, t)` weights times `(B, K, t, d)` values to `(B, H, n, d)`."""
    rows, heads, n, t = weights.shape
    mixed = weights.to(value.dtype).reshape(rows, value.shape[1], -1, t) @ value
    return mixed.view(rows, heads, n, value.shape[3])


def _no_mask(*_: Any, **__: Any) -> None:
    """`attention_forward` makes its masks from positions; transformers is told that none is needed."""


AttentionInterface.register(IMPLEMENTATION, attention_forward)
AttentionMaskInterface.register(IMPLEMENTATION, _no_mask)


# --- the definition, and whether a model keeps to it ----------------------------------------------------------------


def rows_by_definition(model: PreTrainedModel, prompt: Sequence[int], response: Sequence[int]) -> Tensor:
    """Return the rows of Eq. 1 from the full attention tensors, `(n, P)` in float32: the slow, plain way.

    Eager attention over prompt and response with `output_attentions`, mean over heads, sum over layers; rows are
    those of the last prompt token and of response tokens 1 … n−1. Memory grows with L · H · (P + n)².

    Raises:
        AttentionUnavailableError: The model returns no attention for some of its layers.
    """
    used = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        tokens = torch.tensor([[*prompt, *response[:-1]]], device=model.device)
        with torch.inference_mode():
            attentions = model(input_ids=tokens, output_attentions=True, use_cache=False).attentions
    finally:
        model.set_attn_implementation(used)
    layers = model.config.get_text_config().num_hidden_layers
    had = [a for a in attentions or () if a is not None]
    if len(had) != layers:
        raise AttentionUnavailableError(f"it shows softmax attention for {len(had)} of its {layers} layers")
    total = torch.stack([a[0].float().mean(0) for a in had]).sum(0)  # (P + n - 1, P + n - 1)
    return total[len(prompt) - 1 :, : len(prompt)]


def rows_of(model: PreTrainedModel, prefix: Prefix, responses: Sequence[Sequence[int]]) -> list[Tensor]:
    """Return the rows of Eq. 1, `(n, P)` in float32, for each response written elsewhere: the fast way."""
    rows = []
    for response in responses:
        decoding = Decoding(model, prefix, 1, len(response), catch=True)
        decoding.read([[prefix.tokens[-1], *response[:-1]]])
        assert decoding.rows is not None
        rows.append(decoding.rows[0])
    return rows


def require_exact_attention(model: PreTrainedModel) -> None:
    """Refuse a model whose attention can't be had exactly, with the reason.

    Its structure is checked first, then the fast way is held against the definition on a few tokens.

    Raises:
        AttentionUnavailableError: Says what stands in the way.
    """
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}
    if kinds:
        raise AttentionUnavailableError(f"some of its layers are not softmax attention ({', '.join(sorted(kinds))})")
    if not getattr(model, "_supports_attention_backend", False) and not getattr(model, "_supports_sdpa", False):
        raise AttentionUnavailableError("it does not route its attention through transformers' attention interface")
    vocabulary = config.vocab_size
    prompt = [(7 * i + 3) % vocabulary for i in range(24)]
    response = [(11 * i + 5) % vocabulary for i in range(6)]
    expected = rows_by_definition(model, prompt, response)
    try:
        model.set_attn_implementation(IMPLEMENTATION)
        found = rows_of(model, read_prefix(model, prompt), [response])[0]
    except AttentionUnavailableError:
        raise
    except (ValueError, RuntimeError, TypeError, AttributeError, IndexError) as error:
        raise AttentionUnavailableError(f"its attention can't be caught ({error})") from error
    tolerance = 1e-4 if model.dtype == torch.float32 else 3e-2
    share = ((found - expected).abs().sum() / expected.sum()).item()
    if not share <= tolerance:
        raise AttentionUnavailableError(f"the attention that can be caught is off by {share:.1e} of what it reports")
