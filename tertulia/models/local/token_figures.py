"""The next-token distribution of a model along responses, in figures: log-probabilities, entropy, KL divergence.

1. The responses are rows behind one prompt, or behind two; all are read a few tokens at a time, so that no tensor over
   the vocabulary is larger than `_TENSOR_BYTES`, however many responses there are and however long.
2. Figures are those of `log_softmax` in float32 over the whole vocabulary, at temperature 1.
3. Expectations of drawn tokens weigh the same figures by the distribution that the tokens are drawn from.

Shapes: N tokens of several rows, V tokens of the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from tertulia.models.local.architecture import Model, vocabulary_of
from tertulia.models.local.decoding_state import DecodingState
from tertulia.models.local.prefix import Prefix
from tertulia.state.questions import Sampling, TokenFigures

#: The most bytes of a tensor with a float32 for each of some tokens and each token of the vocabulary.
_TENSOR_BYTES = 64 << 20


def token_figures(
    model: Model,
    prefix: Prefix,
    responses: Sequence[Sequence[int]],
    other: Prefix | None = None,
    sampling: Sampling | None = None,
) -> list[TokenFigures]:
    """Return the figures of every token of each response after a prompt, and after another prompt if there is one.

    If both prompts are one, it is read once: every divergence is 0.
    """
    is_same = other is prefix
    prefixes = [prefix] if other is None or is_same else [prefix, other]
    at_once = max(1, _TENSOR_BYTES // (4 * vocabulary_of(model)))
    most_rows = max(1, at_once // len(prefixes))
    found: list[TokenFigures] = []
    for first in range(0, len(responses), most_rows):
        found += _of_rows(model, prefixes, responses[first : first + most_rows], at_once, sampling)
    if not is_same:
        return found
    return [_beside_itself(each, sampling is not None) for each in found]


def _beside_itself(figures: TokenFigures, is_sampled: bool) -> TokenFigures:
    """Return the figures of a response after a prompt and after the same prompt: they don't differ."""
    none = (0.0,) * len(figures.entropies)
    return replace(
        figures,
        other_log_likelihoods=figures.log_likelihoods,
        divergences=none,
        expected=none if is_sampled else (),
    )


def _of_rows(
    model: Model,
    prefixes: Sequence[Prefix],
    responses: Sequence[Sequence[int]],
    at_once: int,
    sampling: Sampling | None,
) -> list[TokenFigures]:
    rows, longest = len(responses), max(map(len, responses), default=0)
    # By kind of figure, its values by row: the fields of `TokenFigures` in their order.
    kinds = 2 * len(prefixes) + (sampling is not None and len(prefixes) > 1)
    values: list[list[list[float]]] = [[[] for _ in responses] for _ in range(kinds)]
    if longest == 0:
        return [TokenFigures((), ()) for _ in responses]
    state = DecodingState(model, prefixes, rows, longest, capture=False)
    step = max(1, at_once // (rows * len(prefixes)))
    read = [[prefix.tokens[-1], *response[:-1]] if response else [] for prefix in prefixes for response in responses]
    for first in range(0, longest, step):
        parts = [response[first : first + step] for response in responses]
        logits = state.read([tokens[first : first + step] for tokens in read])
        lengths = [len(part) for part in parts]
        tokens = torch.tensor([token for part in parts for token in part], device=model.device)
        after_each = [torch.cat(logits[at : at + rows]) for at in range(0, len(logits), rows)]  # (N, V) by prompt
        for of_kind, figures in zip(values, _figures(after_each, tokens, sampling), strict=True):
            for of_row, new in zip(of_kind, torch.split(figures, lengths), strict=True):
                of_row += new.tolist()
    return [TokenFigures(*(tuple(of_kind[row]) for of_kind in values)) for row in range(rows)]


def _figures(logits: Sequence[Tensor], tokens: Tensor, sampling: Sampling | None = None) -> list[Tensor]:
    """Return the kinds of figures of some tokens, `(N,)` each, from logits `(N, V)` by prompt."""
    logs, *others = [each.float().log_softmax(-1) for each in logits]
    probabilities = logs.exp()
    found = [logs.gather(1, tokens[:, None])[:, 0], torch.special.entr(probabilities).sum(-1)]
    for other in others:
        # Impossible tokens are left out (a model may forbid tokens: 0 · −∞); rounding alone would make it negative.
        gains = torch.where(probabilities > 0, logs - other, 0.0)
        found += [other.gather(1, tokens[:, None])[:, 0], (probabilities * gains).sum(-1).clamp_min(0)]
        if sampling is not None:
            found.append((drawn_from(logs, sampling) * gains).sum(-1))
    return found


def drawn_from(logs: Tensor, sampling: Sampling) -> Tensor:
    """Return the distributions that tokens are drawn from, `(N, V)`: tempered, nothing outside nucleus and min-p."""
    probabilities = (logs / sampling.temperature).softmax(-1)
    ranked, order = probabilities.sort(descending=True)
    before = ranked.double().cumsum(-1) - ranked
    is_kept = before < sampling.top_p
    if sampling.min_p:
        is_kept &= ranked >= sampling.min_p * ranked[:, :1]
    kept = torch.where(is_kept, ranked, 0.0)
    nucleus = torch.zeros_like(probabilities).scatter(1, order, kept)
    return nucleus / nucleus.sum(-1, keepdim=True)
