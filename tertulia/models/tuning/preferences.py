"""Preferences: written lines before the model's own drafts in their place.

The *lead* of a line is how much likelier it is than its draft. Its loss is small where the lead has grown since the
drafts were drawn.

Source: Rafailov et al. 2023, arXiv 2305.18290 (DPO, Eq. 7); Chen et al. 2024, arXiv 2401.01335 (SPIN: what is rejected
are the model's own answers).
"""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel

from tertulia.models.tuning.likelihoods import line_log_probabilities
from tertulia.models.tuning.sequence import TrainingSequence

#: How much a difference of log-probabilities counts (DPO's β).
_STRENGTH = 0.1

#: Drafts are drawn at this temperature, from the likeliest tokens that have this probability together.
_TEMPERATURE, _TOP_P = 0.6, 0.9
#: The most tokens of a draft.
_LONGEST = 40


@torch.no_grad()
def with_drafts(model: PreTrainedModel, sequence: TrainingSequence, seed: int) -> TrainingSequence:
    """Return a sequence with a draft of the model for each learned span, and how much likelier the span is to it now.

    A draft ends with the token that ends the span, or after 40, which is more than written lines mostly have.
    """
    drafts = _drawn(model, sequence, torch.Generator().manual_seed(seed))
    drafted = replace(sequence, drafts=tuple(tuple(draft) for draft in drafts))
    lines, others = line_log_probabilities(model, drafted)
    return replace(drafted, leads=tuple((lines - others).tolist()))


def preference_loss(sequence: TrainingSequence, lines: Tensor, drafts: Tensor) -> Tensor:
    """Return the summed loss of the drafts of a sequence: small where the line's lead over its draft has grown.

    Args:
        lines, drafts: Log-probabilities now, `(K,)`, in nats.
    """
    grown = lines - drafts - torch.tensor(sequence.leads, device=lines.device)
    return -functional.logsigmoid(_STRENGTH * grown).sum()


def _drawn(model: PreTrainedModel, sequence: TrainingSequence, generator: torch.Generator) -> list[list[int]]:
    """Return a draft for each learned span, all drawn side by side behind one reading of the sequence."""
    device, read = model.device, len(sequence.tokens)
    starts = [first for first, _ in sequence.learned]
    ends = [sequence.tokens[past_last - 1] for _, past_last in sequence.learned]
    drafts: list[list[int]] = [[] for _ in starts]
    out = model.base_model(input_ids=torch.tensor(sequence.tokens, device=device)[None], use_cache=True)
    cache, hidden = out.past_key_values, out.last_hidden_state[0, torch.tensor(starts) - 1]  # (K, D)
    going, owners = list(range(len(starts))), []
    for place in range(_LONGEST):
        drawn = _draw(model.get_output_embeddings()(hidden).float().cpu(), generator)
        for number, token in zip(going, drawn, strict=True):
            drafts[number].append(token)
        going = [number for number, token in zip(going, drawn, strict=True) if token != ends[number]]
        if not going or place + 1 == _LONGEST:
            break
        owners += going
        mask = torch.full((len(going), read + len(owners)), torch.finfo(model.dtype).min, dtype=model.dtype)
        for row, number in enumerate(going):
            mask[row, : starts[number]] = 0
            mask[row, [read + column for column, owner in enumerate(owners) if owner == number]] = 0
        hidden = model.base_model(
            input_ids=torch.tensor([drafts[number][-1] for number in going], device=device)[None],
            position_ids=torch.tensor([starts[number] + place for number in going], device=device)[None],
            attention_mask=mask.to(device)[None, None],
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state[0]
    return drafts


def _draw(logits: Tensor, generator: torch.Generator) -> list[int]:
    """Return a token for each row of logits, `(K, V)`."""
    likely, tokens = (logits / _TEMPERATURE).softmax(-1).sort(-1, descending=True)
    likely = likely.masked_fill(likely.cumsum(-1) - likely >= _TOP_P, 0.0)
    return tokens.gather(1, torch.multinomial(likely, 1, generator=generator))[:, 0].tolist()
