"""Preferences: of graded drafts of one line, the better ones shall be likelier than the worse ones.

Source: Meng et al. 2024, arXiv 2405.14734 (SimPO, Eq. 6 without its margin): likelihoods are means over tokens, so
that no reference model is read and longer drafts are not disliked.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from tertulia.models.tuning.sequence import Draft

#: How much a difference of likelihoods counts (SimPO's β), and the preferences beside the loss of learned tokens.
_STRENGTH, _WEIGHT = 2.0, 2.0


def preference_loss(drafts: Sequence[Draft], log_probabilities: Sequence[Tensor]) -> Tensor:
    """Return the mean loss over all pairs of drafts of different grades; 0 without any.

    Args:
        log_probabilities: Of each token of each draft, in nats.
    """
    grades = torch.tensor([draft.grade for draft in drafts])
    likelihood = torch.stack([logs[: draft.text].mean() for draft, logs in zip(drafts, log_probabilities, strict=True)])
    better = (grades[:, None] > grades[None]).to(likelihood.device)
    if not better.any():
        return likelihood.new_zeros(())
    leads = likelihood[:, None] - likelihood[None]
    return -_WEIGHT * functional.logsigmoid(_STRENGTH * leads[better]).mean()
