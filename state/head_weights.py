"""Weights of a model's attention heads, learned from what its lines depended on.

A unit's score is Σ_{l,h} w_{l,h} a_{l,h}: a_{l,h} is the attention of head h in layer l from a response to the tokens
of the unit, mean over the tokens of the response. That is Eq. 1 (APP §3.1) with w in the place of 1/H, in nats a token:
what the response is estimated to lose without the unit.

Source: Cohen-Wang et al. 2025, arXiv 2504.13752 (AT2); weights of 0 or more, so that Algorithm 1 can walk on.
"""

import hashlib
from functools import cached_property
from typing import Any

from pydantic import Field, model_validator

from tertulia.state.records import Record


class HeadWeights(Record):
    """Learned weights of heads.

    Attributes:
        model: The name of the model whose heads they weigh.
        fingerprint: Of that model: its weights, its adapters and its chat markup (`models/local/head_weights.py`).
        weights: By layer and head, `L × H`, each ≥ 0.
        floor: What a unit scores that a line does not lean on, in nats a token; a line's loss is estimated beyond it.
        about: Their card: lines, cases, ablations, figures on cases that were left out, the processor.
    """

    model: str
    fingerprint: str
    weights: tuple[tuple[float, ...], ...] = Field(min_length=1)
    floor: float = Field(ge=0, allow_inf_nan=False)
    about: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> "HeadWeights":
        if len({len(of_layer) for of_layer in self.weights}) != 1 or not self.weights[0]:
            raise ValueError("the layers have different numbers of heads")
        every = [weight for of_layer in self.weights for weight in of_layer]
        if not all(0 <= weight < float("inf") for weight in every):
            raise ValueError("a weight is below 0, or no number")
        if not any(every):
            raise ValueError("all weights are 0")
        return self

    @cached_property
    def hash(self) -> str:
        """Of weights and floor: blake2b, 4 bytes, in hexadecimal; runs record it."""
        return hashlib.blake2b(repr((self.weights, self.floor)).encode(), digest_size=4).hexdigest()
