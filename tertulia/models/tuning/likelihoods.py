"""How likely the learned spans of a sequence are to a model, and the drafts behind it, in one pass.

Drafts stand one behind another. Each has the positions that follow the sequence, and attends to the sequence and to
itself.
"""

import torch
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel

from tertulia.models.tuning.sequence import TrainingSequence


def token_log_probabilities(model: PreTrainedModel, sequence: TrainingSequence) -> tuple[list[Tensor], list[Tensor]]:
    """Return the log-probability of each token of every learned span, and of every draft, in nats."""
    read, tokens = len(sequence.tokens), list(sequence.tokens)
    positions = list(range(read))
    # For each token to be measured: the place that predicts it, and the token.
    predicted_at: list[int] = []
    measured: list[int] = []
    for first, past_last in sequence.learned:
        predicted_at += range(first - 1, past_last - 1)
        measured += sequence.tokens[first:past_last]
    for draft in sequence.drafts:
        predicted_at += [read - 1, *range(len(tokens), len(tokens) + len(draft.tokens) - 1)]
        measured += draft.tokens
        tokens += draft.tokens
        positions += range(read, read + len(draft.tokens))
    device = model.device
    # Without a mask the model takes its own, which needs no memory.
    mask = _mask(sequence, model.dtype).to(device)[None, None] if sequence.drafts else None
    hidden = model.base_model(
        input_ids=torch.tensor(tokens, device=device)[None],
        position_ids=torch.tensor(positions, device=device)[None],
        attention_mask=mask,
        use_cache=False,
    ).last_hidden_state[0]  # (T, D)
    logits = model.get_output_embeddings()(hidden[torch.tensor(predicted_at, device=device)]).float()  # (L, V)
    figures = -functional.cross_entropy(logits, torch.tensor(measured, device=device), reduction="none")
    lengths = [past_last - first for first, past_last in sequence.learned]
    parts = list(torch.split(figures, [*lengths, *(len(draft.tokens) for draft in sequence.drafts)]))
    return parts[: len(lengths)], parts[len(lengths) :]


def _mask(sequence: TrainingSequence, dtype: torch.dtype) -> Tensor:
    """Return what each token attends to, `(T, T)`: 0, and the lowest number where it does not."""
    read = len(sequence.tokens)
    size = read + sum(len(draft.tokens) for draft in sequence.drafts)
    mask = torch.full((size, size), torch.finfo(dtype).min, dtype=dtype)
    mask[:read, :read].triu_(1)
    begin = read
    for draft in sequence.drafts:
        own = slice(begin, begin + len(draft.tokens))
        mask[own, :read] = 0
        mask[own, own].triu_(1)
        begin += len(draft.tokens)
    return mask
