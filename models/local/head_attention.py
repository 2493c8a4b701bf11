"""The attention of a response to its prompt by layer and head: what Eq. 1 sums, before it is summed.

It is captured on the way of Eq. 1 (`attention_scores.attention_to_prompt`), so its mean over heads and sum over layers
equals that. It is kept whole, `(L, H, n, P)` in float32: for a long prompt to a large model that is much, so one
response is read at a time.

Shapes: L layers, H query heads, n tokens of the response, P tokens of the prompt, t reply tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tertulia.models.local.architecture import Model
from tertulia.models.local.decoding_state import DecodingState
from tertulia.models.local.prefix import Prefix
from tertulia.models.local.row_groups import Group
from tertulia.state.language_model import RenderedPrompt


class _HeadGroup(Group):
    """The single row of a prompt, which keeps the attention of every layer and head to that prompt."""

    def __init__(self, prefix: Prefix) -> None:
        super().__init__(prefix, [0])
        self.blocks: list[list[Tensor]] = []

    def capture(self, weights: Tensor, first: int) -> None:
        """Keep the attention weights `(1, H, n, P + t)` of a layer, of the new tokens from `first` on."""
        if first == 0:  # layers follow one another, each with its blocks of queries
            self.blocks.append([])
        self.blocks[-1].append(weights[0, :, :, : self._length + 1].float())  # a row's first column ends the prompt


def attention_by_head(model: Model, prefix: Prefix, response: Sequence[int]) -> Tensor:
    """Return the attention of a response to its prompt by layer and head, `(L, H, n, P)` in float32."""
    state = DecodingState(model, prefix, 1, len(response), capture=True)
    group = _HeadGroup(prefix)
    state.groups = [group]
    state.captured_attention = torch.zeros(0, 0, prefix.length + 1)  # nothing is summed: the group writes none
    state.forward([[prefix.tokens[-1], *response[:-1]]])
    return torch.stack([torch.cat(blocks, dim=1) for blocks in group.blocks])


def unit_head_sums(attention: Tensor, prompt: RenderedPrompt, span: tuple[int, int]) -> dict[str, list[list[float]]]:
    """Return the attention to every unit by layer and head, `L × H`: sum over its tokens, mean over those of a span.

    Args:
        attention: `(L, H, n, P)`.
        span: The tokens of the response that count, `(first, past_last)`.
    """
    per_token = attention[:, :, span[0] : span[1]].cpu().double().mean(2)  # (L, H, P)
    return {unit: per_token[..., start:end].sum(-1).tolist() for unit, (start, end) in prompt.token_spans.items()}
