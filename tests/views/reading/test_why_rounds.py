"""Who got the floor, in a sentence: rounds of every kind, by figures that are given here."""

from typing import Any

import pytest

from tertulia.state.cognition import Assessment, Bid, Floor, Perception, WillingnessParts
from tertulia.state.meeting import WillingnessWeights
from tertulia.state.parameters import Parameters
from tertulia.views.reading.rounds import AgentRound, Round
from tertulia.views.reading.why_round import floor_sentence
from tertulia.views.wording.round_phrases import floor_phrase, race_phrase


def a_bid(latency_s: float | None, won: bool = False, **changes: Any) -> Bid:
    parts = WillingnessParts(topic=0.9, goal=0.2, emotion=0.4, personality=0.5)
    known: dict[str, Any] = {"parts": parts, "willingness": 0.6, "willing": latency_s is not None, "won": won}
    known |= {"similarity": 0.0, "similarity_max": None, "latency_scale_s": 2.0, "latency_spread_s": 1.0}
    return Bid(**known | {"persistence": 1.0, "latency_s": latency_s} | changes)


def a_round(floor: Floor | None, **bids: Bid | None) -> Round:
    perception = Perception(turn=0, similarities={}, relevance=0.5, named=False, noticed=True, importance=1.0)
    empty: dict[str, Any] = {"need": None, "findings": {}, "ratings": None, "typed": None}
    thought = Assessment(situation="", thought="It rains.", emotion="calm", emotion_strength=0, done=())
    agents = [
        AgentRound(
            name, WillingnessWeights(), perception, bid=bid, assessment=thought if bid and bid.parts else None, **empty
        )
        for name, bid in bids.items()
    ]
    return Round(1, tuple(agents), floor)


@pytest.mark.parametrize(
    ("floor", "bids", "told"),
    [
        (
            Floor(order="self_driven", waited_s=1.0),
            {"Ann": a_bid(1.0, True), "Bob": a_bid(None)},
            "Only Ann of 2 wanted to speak, and began after 1.00 s: the bid's largest part was the topic "
            "(37.5%), thinking “It rains”.",
        ),
        (
            Floor(order="self_driven", waited_s=1.0),
            {"Ann": a_bid(1.75), "Bob": a_bid(1.0, True)},
            "Ann and Bob wanted to speak (2 of 2), and Bob was first, 0.75 s before Ann: the bid's largest part "
            "was the topic (37.5%), thinking “It rains”.",
        ),
        (
            Floor(order="self_driven", waited_s=None, looks=7),
            {"Ann": a_bid(None), "Bob": a_bid(None, willingness=0.3)},
            "None of 2 wanted to speak; nearest was Ann, with 0.60 of the 0.5 that it takes: 10 s of silence followed.",
        ),
        (
            Floor(order="self_driven", waited_s=1.0),
            {"Ann": a_bid(1.0, True, parts=None, willingness=None), "Bob": a_bid(1.5)},
            "Ann and Bob wanted to speak (2 of 2), and Ann was first, 0.50 s before Bob: a person types for them.",
        ),
        (
            Floor(order="self_driven", waited_s=1.0, tied=("Ann", "Bob")),
            {"Ann": a_bid(0.95), "Bob": a_bid(1.0, True)},
            "Ann and Bob wanted to speak (2 of 2), and Bob was first, by a draw among those who tied (Ann and Bob): "
            "the bid's largest part was the topic (37.5%), thinking “It rains”.",
        ),
        (
            Floor(order="self_driven", waited_s=4.0, looks=3, gone=("Ann",)),
            {"Ann": a_bid(0.5), "Bob": a_bid(1.0, True, address=1.0), "Cy": a_bid(1.5)},
            "Ann, Bob and Cy wanted to speak (3 of 3), and Bob was first, 0.50 s before Cy, as Ann had to leave: "
            "the bid's largest part was the topic (37.5%), asked by name, thinking “It rains”.",
        ),
        (
            Floor(order="self_driven", waited_s=None),
            {"Ann": a_bid(12.5), "Bob": a_bid(13.0)},
            "Ann and Bob wanted to speak (2 of 2), but Ann, the fastest, would have begun after 12.50 s only: 10 s of "
            "silence followed.",
        ),
        (
            Floor(order="self_driven", waited_s=None, looks=7),
            {"Ann": a_bid(None, willingness=0.4996), "Bob": a_bid(None, willingness=0.3)},
            "None of 2 wanted to speak; nearest was Ann, with 0.4996 of the 0.5 that it takes: 10 s of silence "
            "followed.",
        ),
        (
            Floor(order="self_driven", waited_s=None, gone=("Ann",)),
            {"Ann": a_bid(2.0), "Bob": a_bid(None)},
            "Ann wanted to speak (1 of 2), but Ann had to leave: 10 s of silence followed.",
        ),
        (
            Floor(order="self_driven", waited_s=None, looks=2, gone=("Ann",)),
            {"Ann": a_bid(5.0), "Bob": a_bid(14.0), "Cy": a_bid(16.0)},
            "Ann, Bob and Cy wanted to speak (3 of 3), but Ann had to leave, and Bob, the fastest of the others, would "
            "have begun after 15.50 s only: 10 s of silence followed.",
        ),
        (
            Floor(order="rule_based", waited_s=None, gone=("Ann", "Bob")),
            {"Ann": a_bid(None), "Bob": a_bid(None)},
            "Nobody got the floor, as Ann and Bob had to leave: 10 s of silence followed.",
        ),
        (
            Floor(order="designated", waited_s=1.25, reason="named by Ann"),
            {"Ann": a_bid(None), "Bob": a_bid(1.25, True)},
            "Bob was designated to speak (“named by Ann”), and began after 1.25 s: thinking “It rains”.",
        ),
        (
            Floor(order="designated", waited_s=1.25, reason="nobody was there to name the next", drawn=True),
            {"Ann": a_bid(None), "Bob": a_bid(1.25, True)},
            "Nobody was there to name the next, so the floor was drawn, and Bob got it, and began after 1.25 s: "
            "thinking “It rains”.",
        ),
        (
            Floor(order="centralised", waited_s=1.25, gone=("Ann",), reason="she saw it"),
            {"Ann": a_bid(None), "Bob": a_bid(1.25, True)},
            "A moderator gave Ann the floor (“she saw it”), but Ann had to leave, so Bob was drawn, and began after "
            "1.25 s: thinking “It rains”.",
        ),
        (
            Floor(order="rule_based", waited_s=1.25, gone=("Ann",)),
            {"Ann": a_bid(None), "Bob": a_bid(1.25, True)},
            "By the rule that all speak in turn it was Ann's turn, but Ann had to leave, so Bob was next, and began "
            "after 1.25 s: thinking “It rains”.",
        ),
        (None, {"Ann": None}, "The floor was not given: the round was interrupted."),
    ],
)
def test_a_round_is_told_in_a_sentence(floor: Floor | None, bids: dict[str, Bid | None], told: str) -> None:
    assert floor_sentence(a_round(floor, **bids), Parameters()) == told


def test_who_had_to_leave_is_not_told_as_the_first_word_of_a_silence() -> None:
    floor = Floor(order="self_driven", waited_s=None, gone=("Ann",))
    left = a_round(floor, Ann=a_bid(5.0), Bob=a_bid(14.0))
    assert "Ann had to leave before that; the first word would have come after 14.00 s; …" in floor_phrase(
        left, Parameters()
    )
    alone = a_round(floor, Ann=a_bid(5.0), Bob=a_bid(None))
    assert floor_phrase(alone, Parameters()) == "self driven; Ann had to leave before that; … ten seconds of silence"
    asked = Floor(order="centralised", waited_s=1.0, gone=("Ann",))
    (ann, _) = a_round(asked, Ann=a_bid(None, willing=True), Bob=a_bid(1.0, True)).agents
    assert race_phrase(ann, Parameters(), asked) == "had to leave"
