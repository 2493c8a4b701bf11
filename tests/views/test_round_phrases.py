"""A round in words: figures beside their threshold."""

import pytest

from tertulia.state.cognition import Bid
from tertulia.state.parameters import Parameters
from tertulia.views.wording.round_phrases import willingness_phrase


@pytest.mark.parametrize(
    ("willingness", "phrase"),
    [
        (0.25, "0.25 < threshold 0.5"),
        (0.4951, "0.495 < threshold 0.5"),
        (0.49996, "0.49996 < threshold 0.5"),
        (0.5, "0.50 ≥ threshold 0.5"),
        (0.504, "0.50 ≥ threshold 0.5"),
    ],
)
def test_rounding_brings_willingness_across_no_threshold(willingness: float, phrase: str) -> None:
    parameters = Parameters(willingness_threshold=0.5)
    latency = {"latency_scale_s": 3.0, "latency_spread_s": 2.0, "persistence": 1.0, "latency_s": None, "won": False}
    thought = {"parts": None, "similarity": 0.0, "similarity_max": None}
    bid = Bid(willingness=willingness, willing=willingness >= 0.5, **thought, **latency)  # type: ignore[arg-type]
    assert willingness_phrase(bid, parameters) == phrase
