"""Forward passes of models of the Llama architecture on a processor, without transformers' modules on the way.

Thirty small layers cost more in modules and small operators than they need. Here a layer is four products (queries,
keys and values in one, gate and up in another) and the steps between them, in as few operators as torch has for it:

1. Queries and keys are rotated together.
2. The root mean square is a norm and a quotient; residuals are added in place.
3. Attention is that of `attention`, with its rows, masks and capture (`row_groups`). Rows of one prompt, as nearly all
   steps have, take it in one go: keys and values turned and stored together.
4. Of the last layer a prompt needs keys and values alone.
5. Tokens that are read for their attention alone end with the last layer's.
6. A chunk of a prompt attends to the tokens before it and to itself in two parts, so that the first needs no mask.

Other architectures go through transformers (`module_passes`). The parts of a model are those of a model that
transformers has opened (`lean_parts`), or of a bare one (`bare_opening`). The definition of Eq. 1, which is computed
with transformers' modules and the same weights, checks this way too (`attention_scores.require_exact_attention`).

Shapes: n new tokens, H query heads, K key-value heads, d head size, h hidden size, V tokens of the vocabulary.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tertulia.models.local.attention import (
    MAX_WEIGHTS,
    AttentionOptions,
    attend_in_two_parts,
    attend_rows,
)
from tertulia.models.local.bare_model import LayerParts, LlamaParts
from tertulia.models.local.decoding_state import DecodingState
from tertulia.models.local.prefix import Prefix
from tertulia.models.local.row_groups import Group

#: The attention of a layer's new tokens, `(1, H, n, d)`, from its number, queries, keys and values; options are given.
_Attend = Callable[[int, Tensor, Tensor, Tensor, AttentionOptions], Tensor]


class _Layer:
    """The parts of one layer, to be called as they are."""

    def __init__(self, parts: LayerParts) -> None:
        self.attention_norm, self.mlp_norm = parts.attention_norm, parts.mlp_norm
        self.in_attention, self.out_of_attention = parts.in_attention.forward, parts.out_of_attention.forward
        self.in_mlp, self.out_of_mlp = parts.in_mlp.forward, parts.out_of_mlp.forward
        self.options = AttentionOptions(parts.scaling, parts.window, None, None)


class LeanLlama:
    """The forward passes of a model that consists of these parts."""

    def __init__(self, parts: LlamaParts) -> None:
        self._layers = [_Layer(layer) for layer in parts.layers]
        self._embed, self._rotary, self._norm = parts.embed, parts.rotary, parts.norm
        self._head: Callable[[Tensor], Tensor] = parts.head.forward
        self._size, self._queries = parts.size, parts.heads
        self._rotated = self._queries + parts.key_heads
        self._heads = self._rotated + parts.key_heads

    def read(self, prefix: Prefix, end: int) -> None:
        """Read the next tokens of a prompt, up to `end`; its length stays as it is."""

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> Tensor:
            return attend_in_two_parts(query, *prefix.store(layer, key, value), options, None)

        hidden, turns = self._begin(prefix.tokens[prefix.length : end], range(prefix.length, end))
        for number, layer in enumerate(self._layers[:-1]):
            self._pass(number, layer, hidden, turns, attend)
        last = self._layers[-1]
        _, key, value = self._projected(last, hidden, turns)
        prefix.store(len(self._layers) - 1, key, value)

    def logits(
        self, state: DecodingState, tokens: Sequence[int], positions: Sequence[int], ends: Sequence[int] | None
    ) -> Tensor:
        """Read tokens of rows, and return the logits after the tokens at the places `ends`, or after all, `(n, V)`.

        Without any place, the last layer's output is not computed, and there are no logits.
        """

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> Tensor:
            state.store(layer, key, value)
            return attend_rows(state, layer, layer, query, options)

        hidden, turns = self._begin(tokens, positions)
        (first, *others), output_of = state.groups_with_tokens, len(self._layers) - (ends is not None and not ends)
        if others or not isinstance(first, Group) or not self._takes_one_go(first, hidden):
            for number, layer in enumerate(self._layers):
                self._pass(number, layer, hidden, turns, attend, has_output=number < output_of)
        else:
            turns = self._turns_of_all_heads(turns)
            for number, layer in enumerate(self._layers):
                self._pass_of_group(number, layer, hidden, turns, state, first, has_output=number < output_of)
        if output_of < len(self._layers):
            return hidden
        return self._head(self._norm(hidden if ends is None else hidden[ends]))

    def _takes_one_go(self, group: Group, hidden: Tensor) -> bool:
        """Return whether the attention of a group's new tokens is computed in one block, in float32."""
        return hidden.dtype == torch.float32 and self._queries * len(hidden) * group.columns <= MAX_WEIGHTS

    def _turns_of_all_heads(self, turns: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the rotations of queries, keys and values, `(n, H + 2 K, d)` each: values are not rotated."""
        cos, sin = turns
        shape = len(cos), self._heads, self._size
        all_cos, all_sin = cos.new_ones(shape), sin.new_zeros(shape)
        all_cos[:, : self._rotated], all_sin[:, : self._rotated] = cos, sin
        return all_cos, all_sin

    def _pass_of_group(
        self,
        number: int,
        layer: _Layer,
        hidden: Tensor,
        turns: tuple[Tensor, Tensor],
        state: DecodingState,
        group: Group,
        *,
        has_output: bool,
    ) -> None:
        """Add a layer's output to `hidden`, whose tokens are all of one group: `_pass` in fewer operators."""
        n, half = len(hidden), self._size // 2
        projected = layer.in_attention(layer.attention_norm(hidden)).view(n, self._heads, self._size)
        swapped = torch.cat([projected[..., half:], projected[..., :half]], dim=-1)
        turned = (projected * turns[0]).addcmul_(swapped, turns[1]).transpose(0, 1)
        state.windows[number] = layer.options.window
        captures = state.captures(number)
        attended = group.attend(number, turned, self._queries, layer.options, captures=captures)
        if not has_output:
            return
        hidden.add_(layer.out_of_attention(attended.transpose(0, 1).reshape(n, -1)))
        gate, up = layer.in_mlp(layer.mlp_norm(hidden)).chunk(2, dim=-1)
        hidden.add_(layer.out_of_mlp(nn.functional.silu(gate).mul_(up)))

    def _begin(self, tokens: Sequence[int], positions: Sequence[int]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the embeddings of tokens, `(n, h)`, and the rotations of queries and keys, `(n, 1, d)` each."""
        hidden = self._embed(torch.tensor(tokens))
        cos, sin = self._rotary(hidden, position_ids=torch.tensor([positions]))
        half = self._size // 2
        return hidden, (cos[0, :, None], torch.cat([-sin[0, :, :half], sin[0, :, half:]], dim=-1)[:, None])

    def _pass(
        self,
        number: int,
        layer: _Layer,
        hidden: Tensor,
        turns: tuple[Tensor, Tensor],
        attend: _Attend,
        *,
        has_output: bool = True,
    ) -> None:
        """Add a layer's output to `hidden`."""
        attended = attend(number, *self._projected(layer, hidden, turns), layer.options)
        if not has_output:
            return
        hidden.add_(layer.out_of_attention(attended[0].transpose(0, 1).reshape(len(hidden), -1)))
        gate, up = layer.in_mlp(layer.mlp_norm(hidden)).chunk(2, dim=-1)
        hidden.add_(layer.out_of_mlp(nn.functional.silu(gate).mul_(up)))

    def _projected(self, layer: _Layer, hidden: Tensor, turns: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of the new tokens, `(1, H or K, n, d)`."""
        projected = layer.in_attention(layer.attention_norm(hidden)).view(len(hidden), -1, self._size)
        plain, half = projected[:, : self._rotated], self._size // 2
        cos, sin = turns
        swapped = torch.cat([plain[..., half:], plain[..., :half]], dim=-1)
        rotated = (plain * cos).addcmul_(swapped, sin).transpose(0, 1)[None]
        return (
            rotated[:, : self._queries],
            rotated[:, self._queries :],
            projected[:, self._rotated :].transpose(0, 1)[None],
        )
