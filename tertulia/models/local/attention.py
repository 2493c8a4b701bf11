"""Softmax attention that shows its weights to Eq. 1.

While a prompt is read it is plain attention. While replies are decoded (`decoding_state`) the softmax over the
few new tokens is explicit, so the weights are at hand: their mean over heads, summed over the scored layers, is
captured. All reductions of Eq. 1 are linear, so that equals the definition on the full attention tensors to rounding
(`attention_scores` has that definition, and checks a model against it).

Shapes: B rows, H query heads, K key-value heads, G = H / K, n new tokens, d head size, P tokens of the longest prefix,
t reply tokens so far.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn

from tertulia.models.local.decoding_state import DecodingState, causal_mask
from tertulia.models.local.row_groups import Stack

#: Elements of one block of attention weights; longer replies are read in several blocks of queries.
MAX_WEIGHTS = 1 << 24

#: Tokens before a chunk from which on its attention in bfloat16 is computed in two parts, where tiles are multiplied:
#: it takes two thirds of the time and errs less, with other digits, which shorter prompts are spared.
_LONG = 2048


@dataclass(frozen=True)
class AttentionOptions:
    """The options of a layer's attention.

    Attributes:
        scaling: Factor on the logits.
        window: Width of the sliding window in tokens, the query's own included; `None` if there is none.
        softcap: Bound of the logits (`softcap * tanh(logits / softcap)`); `None` if there is none.
        sinks: One logit per head that takes part in the softmax and is thrown away; `None` if there are none.
    """

    scaling: float
    window: int | None
    softcap: float | None
    sinks: Tensor | None

    def logits(self, query: Tensor, key: Tensor) -> Tensor:
        """Return the attention logits of queries and keys."""
        logits = _products(query * self.scaling, key)
        return logits if self.softcap is None else torch.tanh(logits / self.softcap) * self.softcap

    def softmax(self, logits: Tensor) -> Tensor:
        """Return the attention weights in float32."""
        if self.sinks is None:
            return logits.softmax(-1, dtype=torch.float32)
        column = self.sinks.reshape(1, -1, 1, 1).expand(*logits.shape[:-1], 1).to(logits.dtype)
        return torch.cat([logits, column], dim=-1).softmax(-1, dtype=torch.float32)[..., :-1]

    def rounded_softmax(self, logits: Tensor) -> Tensor:
        """Return the attention weights as precise as the logits: for weights that are not captured."""
        return logits.softmax(-1) if self.sinks is None else self.softmax(logits)


def attend_prompt(
    query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions, model_mask: Tensor | None
) -> Tensor:
    """Return the attention of a prompt's tokens to themselves and to the keys before them."""
    n, before = query.shape[2], key.shape[2] - query.shape[2]
    window_is_wide = options.window is None or options.window >= before + n
    if model_mask is None and options.softcap is None and options.sinks is None and window_is_wide:
        if query.device.type == "cpu" and query.dtype != torch.float32:
            return _plain_products(query, key, value, options.scaling)
        mask = None
        if before:
            mask = torch.ones(n, before + n, dtype=torch.bool, device=query.device).tril(before)
        return nn.functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=mask,
            is_causal=mask is None,
            scale=options.scaling,
            enable_gqa=key.shape[1] != query.shape[1],
        )
    columns = torch.arange(before + n, device=query.device)
    block = max(1, MAX_WEIGHTS // (query.shape[1] * (before + n)))
    outputs = []
    for first in range(0, n, block):
        queries = query[:, :, first : first + block]
        if model_mask is None:
            mask = causal_mask(columns[before + first : before + first + block, None], columns, options.window)
        else:
            mask = model_mask[:, :, first : first + block]
        logits = options.logits(queries, key).masked_fill(~mask, -torch.inf)
        outputs.append(weighted_values(options.softmax(logits), value))
    return torch.cat(outputs, dim=2)


def attend_in_two_parts(
    query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions, model_mask: Tensor | None
) -> Tensor:
    """Compute `attend_prompt` on a processor in two parts: the tokens before, and the new tokens themselves.

    The first needs no mask, and reads the keys once for all query heads that share them. Both come with the logarithms
    of their sums, which say how much of each is in the whole.
    """
    (_, heads, n, size), total = query.shape, key.shape[2]
    before, shared = total - n, heads // key.shape[1]
    flash = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)
    window_is_wide = options.window is None or options.window >= total
    is_plain = model_mask is None and options.softcap is None and options.sinks is None and window_is_wide
    is_quicker = query.dtype == torch.float32 or (before >= _LONG and _multiplies_tiles(query.dtype))
    if not before or flash is None or not is_plain or query.device.type != "cpu" or not is_quicker:
        return attend_prompt(query, key, value, options, model_mask)
    queries = query.reshape(1, key.shape[1], shared * n, size)
    earlier, earlier_sums = flash(queries, key[:, :, :before], value[:, :, :before], 0.0, False, scale=options.scaling)
    own = [part[:, :, before:].repeat_interleave(shared, dim=1) for part in (key, value)]
    latest, latest_sums = flash(query, *own, 0.0, True, scale=options.scaling)
    share = torch.sigmoid(latest_sums - earlier_sums.reshape(1, heads, n))
    whole = torch.lerp(earlier.reshape(1, heads, n, size).float(), latest.float(), share[..., None])
    return whole.to(query.dtype)


def _multiplies_tiles(dtype: torch.dtype) -> bool:
    """Return whether this processor has instructions that multiply tiles of numbers of a type (AMX)."""
    has_tiles = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return dtype == torch.bfloat16 and has_tiles is not None and bool(has_tiles())


def _plain_products(query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
    """Return causal attention as two matrix products: in half the time of the library's in bfloat16, on a processor.

    The softmax of bfloat16 is computed in float32 and rounded once.
    """
    heads, n = query.shape[1:3]
    before = key.shape[2] - n
    future = _future(n, query.dtype)
    block = min(n, max(1, MAX_WEIGHTS // (heads * key.shape[2])))
    outputs = []
    for first in range(0, n, block):
        logits = _products(query[:, :, first : first + block] * scaling, key)
        logits[..., before:].add_(future[first : first + block])
        outputs.append(weighted_values(logits.softmax(-1), value))
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=2)


@lru_cache(maxsize=1)
def _future(n: int, dtype: torch.dtype) -> Tensor:
    """Return what masks the tokens after each of n tokens, `(n, n)`, to be added: in a fourth of the time of a fill."""
    return torch.full((n, n), -torch.inf, dtype=dtype).triu_(1)


def attend_rows(state: DecodingState, layer: int, of_keys: int, query: Tensor, options: AttentionOptions) -> Tensor:
    """Return the attention of the rows' new tokens to their prefixes and replies, and capture its weights."""
    outputs = []
    state.windows[layer] = options.window
    captures = state.captured_attention is not None
    is_scored = state.scored_layers is None or layer in state.scored_layers
    for group in state.groups_with_tokens:
        if isinstance(group, Stack):
            outputs.append(_decode_stack(group, of_keys, query, options, captures=captures, is_scored=is_scored))
            continue
        queries, keys, values = query[:, :, group.tokens], group.keys[of_keys][None], group.values[of_keys][None]
        n = queries.shape[2]
        block = max(1, MAX_WEIGHTS // (query.shape[1] * keys.shape[2])) if n else 1
        for first in range(0, n, block):
            part = queries[:, :, first : first + block]
            if options.softcap is None:
                logits = group.masked_logits(part, keys[0], options.scaling, first, options.window)
            else:
                logits = options.logits(part, keys)
                group.mask(logits, first, options.window)
            weights = options.softmax(logits)
            if captures and is_scored:
                group.capture(weights, first)
            outputs.append(weighted_values(weights, values))
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=2)


def _decode_stack(
    stack: Stack, of_keys: int, query: Tensor, options: AttentionOptions, *, captures: bool, is_scored: bool
) -> Tensor:
    """Return the attention of new tokens to prefixes and replies that share a tensor, `(1, H, n, d)`.

    If any layer is captured all are as precise: so the choice of scored layers does not change the replies.
    """
    new, found = query[0, :, stack.tokens], []
    for number, run in enumerate(stack.runs):
        keys, values = stack.keys[of_keys][run.members], stack.values[of_keys][run.members]
        queries = run.arranged(new)
        block = max(1, MAX_WEIGHTS // (new.shape[0] * len(keys) * keys.shape[2]))
        outputs = []
        for first in range(0, run.width, block):
            logits = options.logits(queries[:, :, first : first + block], keys)
            stack.mask(logits, number, first, options.window)
            weights = options.softmax(logits) if captures else options.rounded_softmax(logits)
            if captures and is_scored:
                stack.capture(weights, number, first)
            outputs.append(weighted_values(weights, values))
        found.append(run.in_order(outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=2)))
    return (found[0] if len(found) == 1 else torch.cat([new[:, :0], *found], dim=1))[None]


def _products(query: Tensor, key: Tensor) -> Tensor:
    """`(B, H, n, d)` queries times `(B, K, t, d)` keys to `(B, H, n, t)`."""
    rows, heads, n, size = query.shape
    grouped = query.reshape(rows, key.shape[1], -1, size)  # (B, K, G * n, d)
    return (grouped @ key.transpose(2, 3)).view(rows, heads, n, key.shape[2])


def weighted_values(weights: Tensor, value: Tensor) -> Tensor:
    """`(B, H, n, t)` weights times `(B, K, t, d)` values to `(B, H, n, d)`."""
    rows, heads, n, t = weights.shape
    grouped = weights.to(value.dtype).reshape(rows * value.shape[1], -1, t)  # (B * K, G * n, t)
    return torch.bmm(grouped, value.flatten(0, 1)).view(rows, heads, n, value.shape[3])
