"""Who got the floor, in a sentence, in rounds that a rehearsal seldom has."""

from typing import Any

import pytest

from tertulia.state.cognition import Bid, Floor, Perception, WillingnessParts
from tertulia.state.meeting import WillingnessWeights
from tertulia.state.parameters import Parameters
from tertulia.views.reading.rounds import AgentRound, Round
from tertulia.views.reading.why_round import floor_sentence


def a_bid(latency_s: float | None, won: bool = False, **changes: Any) -> Bid:
    parts = WillingnessParts(topic=0.9, goal=0.2, emotion=0.4, personality=0.5)
    known: dict[str, Any] = {"parts": parts, "willingness": 0.6, "willing": latency_s is not None, "won": won}
    known |= {"similarity": 0.0, "similarity_max": None, "latency_scale_s": 2.0, "latency_spread_s": 1.0}
    return Bid(**known | {"persistence": 1.0, "latency_s": latency_s} | changes)


def a_round(floor: Floor | None, **bids: Bid | None) -> Round:
    perception = Perception(turn=0, similarities={}, relevance=0.5, named=False, noticed=True, importance=1.0)
    empty: dict[str, Any] = {"need": None, "findings": {}, "assessment": None, "ratings": None, "typed": None}
    agents = [AgentRound(name, WillingnessWeights(), perception, bid=bid, **empty) for name, bid in bids.items()]
    return Round(1, tuple(agents), floor)


@pytest.mark.parametrize(
    ("floor", "bids", "told"),
    [
        (
            Floor(order="self_driven", waited_s=1.0, tied=("Ann", "Bob")),
            {"Ann": a_bid(0.95), "Bob": a_bid(1.0, True)},
            "Bob was first, by a draw among those who tied (Ann and Bob): moved most by",
        ),
        (
            Floor(order="self_driven", waited_s=4.0, looks=3, gone=("Ann",)),
            {"Ann": a_bid(0.5), "Bob": a_bid(1.0, True, address=1.0), "Cy": a_bid(1.5)},
            "Bob was first, 0.50 s before Cy, as Ann had to leave: moved most by",
        ),
        (
            Floor(order="self_driven", waited_s=None),
            {"Ann": a_bid(12.5), "Bob": a_bid(13.0)},
            "Ann and Bob wanted to speak (2 of 2), but Ann, the fastest, would have begun after 12.50 s only: 10 s",
        ),
        (
            Floor(order="self_driven", waited_s=None, gone=("Ann",)),
            {"Ann": a_bid(2.0), "Bob": a_bid(None)},
            "Ann wanted to speak (1 of 2), but Ann had to leave: 10 s of silence followed.",
        ),
        (
            Floor(order="rule_based", waited_s=None, gone=("Ann", "Bob")),
            {"Ann": a_bid(None), "Bob": a_bid(None)},
            "Nobody got the floor, as Ann and Bob had to leave: 10 s of silence followed.",
        ),
        (
            Floor(order="designated", waited_s=1.25, reason="named by Ann"),
            {"Ann": a_bid(None), "Bob": a_bid(1.25, True)},
            "Bob was designated to speak (“named by Ann”), and began after 1.25 s.",
        ),
        (None, {"Ann": None}, "The floor was not given: the round was interrupted."),
    ],
)
def test_rounds_that_are_rare(floor: Floor | None, bids: dict[str, Bid | None], told: str) -> None:
    assert told in floor_sentence(a_round(floor, **bids), Parameters())
