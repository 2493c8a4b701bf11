"""How likely the learned spans of a sequence are to a model, and its drafts in their place, in one pass.

The tokens of a draft stand behind the sequence. They have the positions of the span's, and attend to what is before the
span and to themselves.
"""

import torch
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel

from tertulia.models.tuning.sequence import TrainingSequence


def line_log_probabilities(model: PreTrainedModel, sequence: TrainingSequence) -> tuple[Tensor, Tensor]:
    """Return the summed log-probabilities of the learned spans, and of the drafts in their place: `(K,)` each, nats.

    Without drafts the second is 0.
    """
    tokens, positions = list(sequence.tokens), list(range(len(sequence.tokens)))
    # For each token to be measured: the place that predicts it, the token, and the number of its span or draft.
    predicted_at: list[int] = []
    measured: list[int] = []
    number: list[int] = []
    count = len(sequence.learned)
    for span, (first, past_last) in enumerate(sequence.learned):
        predicted_at += range(first - 1, past_last - 1)
        measured += sequence.tokens[first:past_last]
        number += [span] * (past_last - first)
    for span, draft in enumerate(sequence.drafts):
        first, begin = sequence.learned[span][0], len(tokens)
        predicted_at += [first - 1, *range(begin, begin + len(draft) - 1)]
        measured += draft
        number += [count + span] * len(draft)
        tokens += draft
        positions += range(first, first + len(draft))
    device = model.device
    hidden = model.base_model(
        input_ids=torch.tensor(tokens, device=device)[None],
        position_ids=torch.tensor(positions, device=device)[None],
        attention_mask=_mask(sequence, model.dtype).to(device)[None, None],
        use_cache=False,
    ).last_hidden_state[0]  # (T, D)
    logits = model.get_output_embeddings()(hidden[torch.tensor(predicted_at, device=device)]).float()  # (L, V)
    figures = -functional.cross_entropy(logits, torch.tensor(measured, device=device), reduction="none")
    summed = figures.new_zeros(2 * count).index_add(0, torch.tensor(number, device=device), figures)
    return summed[:count], summed[count:]


def _mask(sequence: TrainingSequence, dtype: torch.dtype) -> Tensor:
    """Return what each token attends to, `(T, T)`: 0, and the lowest number where it does not."""
    read = len(sequence.tokens)
    size = read + sum(map(len, sequence.drafts))
    mask = torch.full((size, size), torch.finfo(dtype).min, dtype=dtype)
    mask[:read, :read].triu_(1)
    begin = read
    for (first, _), draft in zip(sequence.learned, sequence.drafts, strict=False):
        own = slice(begin, begin + len(draft))
        mask[own, :first] = 0
        mask[own, own].triu_(1)
        begin += len(draft)
    return mask
