"""Attention with a shared prefix, and the rows of Eq. 1 caught on the way.

A prompt is read once (`read_prefix`) and kept without its last token. Replies are then rows of a `Decoding` that all
attend to the same prefix tensors and to keys and values of their own, so nothing is copied per row. Since the softmax
over one-token steps is explicit, the attention weights are at hand; their mean over heads, summed over layers, is
added into one `(rows, reply tokens, prompt tokens)` buffer. All the reductions of Eq. 1 are linear, so this equals
the definition on the full attention tensors to rounding (`rows_by_definition` is that definition).

This module knows nothing of units, prompts or sampling.

Shapes: B rows, H query heads, K key-value heads, G = H / K, n new tokens, d head size, P prefix tokens, T reply tokens.
"""

import contextvars
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin
from transformers.masking_utils import AttentionMaskInterface
from transformers.modeling_utils import AttentionInterface

from state.errors import AttentionUnavailableError

IMPLEMENTATION = "polylogue"

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
        keys, values: One tensor per layer, `(K, P, d)`.
    """

    length = 0

    def __init__(self, tokens: Sequence[int], layers: int) -> None:
        self.tokens = tuple(tokens)
        self.keys: list[Tensor] = [torch.empty(0)] * layers
        self.values: list[Tensor] = [torch.empty(0)] * layers

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the keys and values `(1, K, P, d)` of one layer."""
        self.keys[layer], self.values[layer] = keys[0].contiguous(), values[0].contiguous()
        return keys, values


class Decoding:
    """Rows that continue one prefix, each at its own length.

    Attributes:
        lengths: Tokens already read by each row, the prompt's last one included.
        rows: Attention of each row's tokens to the prompt, mean over heads and summed over layers,
            `(B, T, P + 1)` in float32, or `None` if it is not wanted.
    """

    def __init__(self, model: PreTrainedModel, prefix: Prefix, rows: int, capacity: int, *, catch: bool) -> None:
        self.model, self.prefix, self.capacity = model, prefix, capacity
        self.lengths = [0] * rows
        self.keys: list[Tensor | None] = [None] * len(prefix.keys)
        self.values: list[Tensor | None] = [None] * len(prefix.keys)
        shape = (rows, capacity, len(prefix.tokens))
        self.rows = torch.zeros(shape, dtype=torch.float32, device=model.device) if catch else None

    @property
    def length(self) -> int:
        """Tokens in front of the ones being read."""
        return len(self.prefix.tokens) - 1 + max(self.lengths)

    def read(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Read the next tokens of every row, at least one each, and return the logits after each `(B, n, V)`.

        A row with fewer tokens than others is padded; the logits behind its own tokens mean nothing.
        """
        n = max(map(len, tokens))
        device = self.model.device
        padded = [[*row, *[row[-1]] * (n - len(row))] for row in tokens]
        starts = torch.tensor(self.lengths, device=device)[:, None] + len(self.prefix.tokens) - 1
        with _as_current(self), torch.inference_mode():
            logits = self.model(
                input_ids=torch.tensor(padded, device=device),
                position_ids=starts + torch.arange(n, device=device),
                past_key_values=Cache(layers=[_Layer(self, i) for i in range(len(self.keys))]),
                use_cache=True,
            ).logits
        for row, read in enumerate(tokens):
            self.forget(row, -len(read))
        return cast(Tensor, logits)

    def forget(self, row: int, tokens: int) -> None:
        """Take back the last tokens of a row, as if they had not been read (a negative number: count them as read)."""
        self.lengths[row] -= tokens
        if self.rows is not None:
            self.rows[row, self.lengths[row] :] = 0

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put new keys and values `(B, K, n, d)` behind each row's own; return the reply's so far, `(B, K, t, d)`."""
        kept_keys, kept_values = self.keys[layer], self.values[layer]
        if kept_keys is None or kept_values is None:
            kept_keys = self.keys[layer] = keys.new_zeros((*keys.shape[:2], self.capacity, keys.shape[3]))
            kept_values = self.values[layer] = values.new_zeros((*values.shape[:2], self.capacity, values.shape[3]))
        n = keys.shape[2]
        for row, start in enumerate(self.lengths):
            fits = min(n, self.capacity - start)  # only padding can lie behind the capacity
            kept_keys[row, :, start : start + fits] = keys[row, :, :fits]
            kept_values[row, :, start : start + fits] = values[row, :, :fits]
        t = min(max(self.lengths) + n, self.capacity)
        return kept_keys[:, :, :t], kept_values[:, :, :t]

    def catch(self, weights: Tensor, first: int) -> None:
        """Add the weights of one layer, `(B, H, n, P + t)`, for the new tokens from `first` on."""
        if self.rows is None:
            return
        seen = weights[..., : self.rows.shape[2]].mean(1)  # (B, n, P + 1): the first reply column is the prompt's last
        for row, start in enumerate(self.lengths):
            at = start + first
            fits = max(0, min(seen.shape[1], self.capacity - at))
            self.rows[row, at : at + fits] += seen[row, :fits]


@contextmanager
def _as_current(reading: "Prefix | Decoding") -> Iterator[None]:
    token = _reading.set(reading)
    try:
        yield
    finally:
        _reading.reset(token)


def read_prefix(model: PreTrainedModel, tokens: Sequence[int]) -> Prefix:
    """Read all of a prompt but its last token, which every row of a `Decoding` reads as its first."""
    prefix = Prefix(tokens, model.config.get_text_config().num_hidden_layers)
    if len(tokens) > 1:
        with _as_current(prefix), torch.inference_mode():
            model.base_model(
                input_ids=torch.tensor([tokens[:-1]], device=model.device),
                past_key_values=Cache(layers=[_Layer(prefix, i) for i in range(len(prefix.keys))]),
                use_cache=True,
            )
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
    if isinstance(reading, Decoding):
        output = _decode(
            reading, getattr(module, "layer_idx", 0), query, key, value, scaling, sliding_window, softcap, s_aux
        )
    else:
        output = _prefill(query, key, value, scaling, sliding_window, softcap, s_aux)
    return output.transpose(1, 2).contiguous(), None


def _prefill(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scaling: float,
    window: int | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    n = query.shape[2]
    if softcap is None and sinks is None and (window is None or window >= n):
        return nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, scale=scaling, enable_gqa=key.shape[1] != query.shape[1]
        )
    positions = torch.arange(n, device=query.device)
    step = max(1, MAX_WEIGHTS // (query.shape[1] * n))
    outputs = []
    for first in range(0, n, step):
        part = query[:, :, first : first + step]
        hidden = _hidden(positions[first : first + step, None], positions[None, :], window)
        logits = _logits(part, key, scaling, softcap).masked_fill(hidden, -torch.inf)
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
    prefix_key, prefix_value = decoding.prefix.keys[layer], decoding.prefix.values[layer]
    rows, heads, n, _ = query.shape
    before, t = prefix_key.shape[1] if prefix_key.dim() == 3 else 0, key.shape[2]
    lengths = torch.tensor(decoding.lengths, device=query.device)
    masked = n > 1 or window is not None or min(decoding.lengths) != max(decoding.lengths)
    step = max(1, MAX_WEIGHTS // (rows * heads * (before + t)))
    outputs = []
    for first in range(0, n, step):
        part = query[:, :, first : first + step]
        own = _logits(part, key, scaling, softcap)  # (B, H, n, t)
        if before:
            # One matrix product for all rows: they look at the same keys.
            flat = _by_kv_head(part, prefix_key.shape[0])  # (K, B * G * n, d)
            shared = _cap(flat @ prefix_key.transpose(1, 2) * scaling, softcap)
            shared = shared.view(prefix_key.shape[0], rows, -1, part.shape[2], before).transpose(0, 1)
            logits = torch.cat([shared.reshape(rows, heads, part.shape[2], before), own], dim=-1)
        else:
            logits = own
        if masked:
            at = (
                before
                + lengths[:, None, None]
                + torch.arange(first, first + part.shape[2], device=query.device)[:, None]
            )
            hidden = _hidden(at, torch.arange(before + t, device=query.device), window)
            logits = logits.masked_fill(hidden[:, None], -torch.inf)
        weights = _softmax(logits, sinks)
        decoding.catch(weights, first)
        output = _mix(weights[..., before:], value)
        if before:
            flat = _by_kv_head(weights[..., :before].to(prefix_value.dtype), prefix_key.shape[0]) @ prefix_value
            flat = flat.view(prefix_key.shape[0], rows, -1, part.shape[2], prefix_value.shape[2]).transpose(0, 1)
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
