"""A round, and two of them, in words: figures beside their threshold, and beside each other."""

from typing import Any

import pytest

from tertulia.state.cognition import Bid, Perception
from tertulia.state.meeting import WillingnessWeights
from tertulia.state.parameters import Parameters
from tertulia.views.reading.rounds import AgentRound
from tertulia.views.wording.comparison_phrases import what_differs
from tertulia.views.wording.round_phrases import perception_phrase, willingness_phrase


@pytest.mark.parametrize(
    ("willingness", "phrase"),
    [
        (0.25, "0.25 < threshold 0.5"),
        (0.4951, "0.495 < threshold 0.5"),
        (0.49996, "0.49996 < threshold 0.5"),
        (0.5, "0.50 ≥ threshold 0.5"),
        (0.504, "0.504 ≥ threshold 0.5"),
    ],
)
def test_rounding_brings_willingness_across_no_threshold(willingness: float, phrase: str) -> None:
    parameters = Parameters(willingness_threshold=0.5)
    latency = {"latency_scale_s": 3.0, "latency_spread_s": 2.0, "persistence": 1.0, "latency_s": None, "won": False}
    thought = {"parts": None, "similarity": 0.0, "similarity_max": None}
    bid = Bid(willingness=willingness, willing=willingness >= 0.5, **thought, **latency)  # type: ignore[arg-type]
    assert willingness_phrase(bid, parameters) == phrase


def test_what_is_not_noticed_is_below_the_threshold_as_it_is_shown() -> None:
    seen = Perception(turn=3, similarities={}, relevance=0.3996, named=False, noticed=False, importance=1.0)
    empty = dict.fromkeys(("need", "assessment", "ratings", "bid", "typed"))
    agent = AgentRound("Ann", WillingnessWeights(), seen, findings={}, **empty)  # type: ignore[arg-type]
    assert perception_phrase(agent, Parameters(perception_threshold=0.4)) == "not turn 3: relevance 0.3996, below 0.4"


def test_figures_that_differ_are_told_apart() -> None:
    def turn(waited_s: float, willingness: float, inconsistency: float) -> dict[str, Any]:
        return {
            "speaker": "Ann",
            "prompt": "x",
            "candidates": {},
            "floor": {"waited_s": waited_s},
            "willingness": {"Ann": {"willingness": willingness}},
            "latency": {"Ann": {"latency_s": waited_s}},
            "mechanisms": {},
            "judgement": {"chosen": 0, "rollbacks": 0, "0": {"inconsistency": inconsistency}},
        }

    a, b = turn(0.8212, 0.3812, 5.0), turn(0.8241, 0.3841, 5.0002)
    told = dict(what_differs(a, b, ["floor", "willingness", "latency", "judgement"]))
    assert told["floor"] == "Ann after 0.821 s | Ann after 0.824 s"
    assert told[""] == "Ann: W 0.381 | 0.384; seconds 0.821 | 0.824"
    assert told["judge"] == "5.0000 (0 rolled back) | 5.0002 (0 rolled back)"
