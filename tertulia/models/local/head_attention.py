"""The attention of a response to its prompt by layer and head, and the scores that tell heads apart.

It is captured on the way of Eq. 1 (`attention_scores.attention_to_prompt`), so its mean over heads and sum over layers
equals that. Rows are averaged as they are captured, so the memory is `(L, H, P)` in float32.

    learned         Σ_{l,h} w_{l,h} a_{l,h}(u)                  w: learned weights (`state/head_weights.py`)
    beyond-neutral  Σ_{l,h} max(0, a_{l,h}(u) − n_{l,h}(u)) / H   n: the same of `NEUTRAL_REPLY`, a reply to anything

a_{l,h}(u) is the attention of a head to the tokens of a unit, mean over the rows of the response. Some tokens collect
attention with any response (attention sinks, Xiao et al. 2024); the second takes that off without learning.

Shapes: L layers, H query heads, n tokens of the response, P tokens of the prompt, t reply tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import override

from tertulia.models.local.architecture import Model
from tertulia.models.local.decoding_state import DecodingState
from tertulia.models.local.prefix import Prefix
from tertulia.models.local.row_groups import Group
from tertulia.state.language_model import RenderedPrompt

#: A reply that could be given to anything. Its length matters: the attention of a short one is chance.
NEUTRAL_REPLY = "Yes, I see. Well, that may be so. Hm, I do not know. Let me think about it for a moment."


class _HeadGroup(Group):
    """The single row of a prompt, which sums the attention of every layer and head to that prompt over a span."""

    def __init__(self, prefix: Prefix, span: tuple[int, int]) -> None:
        super().__init__(prefix, [0])
        self._span = span
        self.sums: list[Tensor] = []

    @override
    def capture(self, weights: Tensor, first: int) -> None:
        """Add the attention weights `(1, H, n, P + t)` of a layer, of the new tokens from `first` on."""
        columns = self._length + 1  # a row's first column ends the prompt
        if first == 0:  # layers follow one another, each with its blocks of queries
            self.sums.append(torch.zeros(weights.shape[1], columns, device=weights.device))
        rows = slice(*(max(0, end - first) for end in self._span))
        self.sums[-1] += weights[0, :, rows, :columns].float().sum(1)


def attention_by_head(model: Model, prefix: Prefix, response: Sequence[int], span: tuple[int, int]) -> Tensor:
    """Return the attention of a response to its prompt, mean over a span of its tokens, `(L, H, P)` in float32."""
    read = response[: span[1]]
    state = DecodingState(model, prefix, 1, len(read), capture=True)
    group = _HeadGroup(prefix, span)
    state.groups = [group]
    state.captured_attention = torch.zeros(0, 0, prefix.length + 1)  # nothing is summed: the group writes none
    state.read_attention([[prefix.tokens[-1], *read[:-1]]])
    return torch.stack(group.sums) / (span[1] - span[0])


def unit_head_sums(attention: Tensor, prompt: RenderedPrompt) -> dict[str, Tensor]:
    """Return the attention `(L, H, P)` of a response to every unit, by layer and head: `(L, H)` in float64."""
    per_token = attention.cpu().double()
    return {unit: per_token[..., start:end].sum(-1) for unit, (start, end) in prompt.token_spans.items()}


def learned_scores(sums: dict[str, Tensor], weights: Sequence[Sequence[float]]) -> dict[str, float]:
    """Return the score of every unit by learned weights of heads, `L × H`."""
    weighing = torch.tensor(weights, dtype=torch.float64)
    return {unit: float((of_unit * weighing).sum()) for unit, of_unit in sums.items()}


def scores_beyond_neutral(
    sums: dict[str, Tensor], neutral: dict[str, Tensor], layers: Sequence[int] | None
) -> dict[str, float]:
    """Return the score of every unit by attention beyond that of the neutral reply, over some layers or all."""
    chosen = slice(None) if layers is None else list(layers)
    return {unit: float((of_unit - neutral[unit])[chosen].clamp(min=0).mean(1).sum()) for unit, of_unit in sums.items()}
