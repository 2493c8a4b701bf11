"""The competition for the floor: Eq. 1 to 6 of ChatAgents, held against their closed forms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.on_use import on_use

from tertulia.nodes.meeting.bid import thought_similarity
from tertulia.nodes.meeting.contenders import Contender, Outcome
from tertulia.nodes.meeting.latency import (
    PERSISTENCE_FACTOR,
    SCALE_SENSITIVITY,
    SPREAD_SENSITIVITY,
    adjusted_latency,
    base_latency,
    draw_latency,
    log_moments,
    persistence_of,
)
from tertulia.nodes.meeting.race import run_race
from tertulia.nodes.meeting.willingness import goal_part, moved, need_to_speak
from tertulia.state.cognition import Bid
from tertulia.state.graph_state import OpenBid
from tertulia.state.meeting import LATENCY_CLASSES, LatencyClass, WillingnessWeights
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.views.wording.round_phrases import willingness_phrase

stats = on_use("scipy.stats")

DRAWS = 10_000
DEFAULTS = Parameters()


def with_settings(**settings: Any) -> Parameters:
    return Parameters().with_settings(settings)


def a_contender(name: str = "Ana", **changes: Any) -> Contender:
    bid: dict[str, Any] = {
        "topic": 0.5, "goal": 0.5, "emotion": 0.5, "personality": 0.5, "address": 0.0, "need": 0.0,
        "similarity": 0.0, "similarity_max": None,
    }  # fmt: skip
    bid |= {key: changes[key] for key in changes if key in bid}
    changes = {key: value for key, value in changes.items() if key == "address" or key not in bid}
    known: dict[str, Any] = {
        "weights": WillingnessWeights(), "discomfort": 0.0, "base_latency": (2.0, 1.0), "unheard": 0
    }  # fmt: skip
    return Contender(name=name, bid=OpenBid(**bid), **{**known, **changes})


def a_race(
    contenders: list[Contender],
    latencies: dict[str, float] | Callable[[Bid, str, int], float],
    silence_s: float = 0.0,
    parameters: Parameters = DEFAULTS,
) -> Outcome:
    def draw(bid: Bid, name: str, look: int) -> Bid:
        drawn = latencies(bid, name, look) if callable(latencies) else latencies[name]
        return bid.model_copy(update={"latency_s": drawn})

    return run_race(contenders, silence_s, parameters, draw, choose=lambda names: names[-1])


def latencies_of(contender: Contender, parameters: Parameters, node: str = "latency") -> list[float]:
    """What a contender draws in as many rounds, as the race draws it."""
    bid = contender.bid_after(0.0, parameters)
    form = parameters.latency_form
    return [
        draw_latency(
            bid.latency_scale_s,
            bid.latency_spread_s,
            form,
            keyed_generator(7, round=round, agent=contender.name, node=node),
        )
        * bid.persistence
        for round in range(DRAWS)
    ]


# --- latency --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("latency", [*LATENCY_CLASSES, (3.6, 3.0), (4.8, 2.0)], ids=str)
@pytest.mark.parametrize("form", ["as_printed", "moment_matched"])
@pytest.mark.parametrize("similarity", [0.0, 0.9])
def test_drawn_latencies_follow_the_configured_distribution(latency: Any, form: str, similarity: float) -> None:
    """Kolmogorov and Smirnov, over as many simulated races as the issue asks for."""
    parameters = with_settings(latency_form=form)
    base = base_latency(latency, parameters)
    drawn = latencies_of(a_contender(base_latency=base, similarity=similarity), parameters)
    scale, spread = base[0] * math.exp(-0.5 * similarity), base[1] * math.exp(-0.3 * similarity)
    deviation = math.sqrt(math.log(1 + spread**2 / scale**2))
    median = scale if form == "as_printed" else scale * math.exp(-(deviation**2) / 2)
    assert stats.kstest(drawn, stats.lognorm(s=deviation, scale=median).cdf).pvalue > 0.001
    # The test has the power to tell the two readings of Eq. 6 apart.
    other = scale * math.exp(-(deviation**2) / 2) if form == "as_printed" else scale
    assert stats.kstest(drawn, stats.lognorm(s=deviation, scale=other).cdf).pvalue < 1e-6


@pytest.mark.parametrize("latency", LATENCY_CLASSES)
@pytest.mark.parametrize("form", ["as_printed", "moment_matched"])
def test_a_class_without_adjustment_draws_what_the_paper_gives(latency: LatencyClass, form: Any) -> None:
    parameters = with_settings(latency_form=form)
    assert log_moments(*base_latency(latency, parameters), form) == pytest.approx(LATENCY_CLASSES[latency])


def test_the_defaults_are_those_of_the_papers_table() -> None:
    assert base_latency(None, DEFAULTS) == (2.0, 1.0)
    assert (SCALE_SENSITIVITY, SPREAD_SENSITIVITY, PERSISTENCE_FACTOR) == (0.5, 0.3, 0.7)
    assert (DEFAULTS.similarity_cutoff, DEFAULTS.reevaluation_s) == (0.7, 1.5)
    assert (DEFAULTS.willingness_threshold, DEFAULTS.silence_s) == (0.5, 10.0)


@given(st.floats(0.01, 100), st.floats(0, 100), st.floats(0, 1))
def test_similarity_never_slows_and_moves_both_as_the_equations_say(scale: float, spread: float, sim: float) -> None:
    adjusted = adjusted_latency((scale, spread), sim)
    assert adjusted == pytest.approx((scale * math.exp(-0.5 * sim), spread * math.exp(-0.3 * sim)))


def test_a_spread_of_nothing_draws_the_scale() -> None:
    assert draw_latency(2.5, 0.0, "as_printed", keyed_generator(1, node="latency")) == pytest.approx(2.5)


def test_persistence_moves_the_mean_by_its_factor() -> None:
    heard = np.mean(latencies_of(a_contender(unheard=0), DEFAULTS))
    assert np.mean(latencies_of(a_contender(unheard=1), DEFAULTS)) / heard == pytest.approx(0.7)
    assert np.mean(latencies_of(a_contender(unheard=3), DEFAULTS)) / heard == pytest.approx(0.7)
    compounding = with_settings(persistence="compounding")
    assert np.mean(latencies_of(a_contender(unheard=3), compounding)) / heard == pytest.approx(0.7**3)
    assert [persistence_of(rounds, compounding) for rounds in (0, 1, 2)] == pytest.approx([1, 0.7, 0.49])


# --- similarity of thoughts -----------------------------------------------------------------------------------------


def a_thought(cosine: float) -> list[float]:
    return [cosine, math.sqrt(1 - cosine**2)]


@pytest.mark.parametrize(
    ("cosines", "cutoff", "mean", "highest"),
    [
        ([0.9], 0.7, 0.9, 0.9),
        ([0.9, 0.9], 0.7, 0.9, 0.9),  # the older one weighs a half
        ([1.0, 0.8, 0.8], 0.5, (0.8 * 2 / 3 + 0.8) / 2, 0.8),
        ([0.9, 0.1], 0.7, 0.0, 0.45),  # the high one is old
        ([0.7], 0.7, 0.0, 0.7),  # at the cut-off is not above it
        ([-0.5, -1.0], 0.0, 0.0, 0.0),
        ([1.0, 1.0, 1.0, 1.0], 1.0, 0.0, 1.0),  # the experimental settings: never
    ],
)
def test_similarity_is_the_mean_of_what_is_above_the_cut_off(
    cosines: list[float], cutoff: float, mean: float, highest: float
) -> None:
    found = thought_similarity(np.array([*map(a_thought, cosines), [1.0, 0.0]]), cutoff)
    assert found == pytest.approx((mean, highest))


def test_without_an_earlier_thought_there_is_no_similarity() -> None:
    assert thought_similarity(np.array([[1.0, 0.0]]), 0.7) == (0.0, None)


# --- willingness ----------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_willingness_is_the_weighted_sum(numbers: list[float]) -> None:
    names = ("topic", "goal", "emotion", "personality")
    parts, weights = dict(zip(names, numbers[:4], strict=True)), dict(zip(names, numbers[4:], strict=True))
    bid = a_contender(**parts, weights=WillingnessWeights(**weights)).bid_after(0.0, DEFAULTS)
    assert bid.willingness == pytest.approx(sum(parts[name] * weights[name] for name in names))
    assert bid.willing == (bid.willingness >= 0.5 - 1e-9)


def test_the_threshold_itself_is_enough_however_its_parts_round() -> None:
    assert a_contender().bid_after(0.0, DEFAULTS).willing
    parameters = with_settings(willingness_threshold=0.8)
    for topic in range(9):
        weights = WillingnessWeights(topic=topic / 10, goal=0, emotion=0, personality=(8 - topic) / 10)
        bid = a_contender(topic=1.0, personality=1.0, weights=weights).bid_after(0.0, parameters)
        assert bid.willing
        assert willingness_phrase(bid, parameters) == "0.80 ≥ threshold 0.8"
    assert not a_contender(topic=0.49).bid_after(0.0, DEFAULTS).willing


def test_silence_adds_to_personality_alone_up_to_a_whole_silence() -> None:
    cindy = a_contender(personality=0.6, discomfort=0.5)
    values = [cindy.bid_after(seconds, DEFAULTS).parts.personality for seconds in (0, 5, 10, 30)]
    assert values == pytest.approx([0.6, 0.7, 0.8, 0.8])
    assert cindy.bid_after(30, DEFAULTS).parts.emotion == 0.5


@pytest.mark.parametrize(
    ("open_shares", "elapsed", "part"),
    [([], 0.5, 0.2), ([0.5, 0.5], 0.0, 0.25), ([0.5, 0.5], 1.0, 1.0), ([0.25], 0.5, 0.2), ([0.5], 0.5, 0.3125)],
)
def test_goals_weigh_more_as_time_runs_out_and_fall_to_a_floor(
    open_shares: list[float], elapsed: float, part: float
) -> None:
    assert goal_part(open_shares, elapsed) == pytest.approx(part)


@given(st.floats(0, 1), st.lists(st.floats(0, 1), max_size=4))
def test_moves_go_up_towards_1_in_any_order_and_a_whole_one_arrives(part: float, shares: list[float]) -> None:
    assert part <= moved(part, *shares) <= 1
    assert moved(part, *shares) == pytest.approx(moved(part, *reversed(shares)))
    assert moved(part, *(0.0 for _ in shares)) == part
    assert moved(part, 1.0, *shares) == pytest.approx(1.0)


def test_the_need_to_speak_is_full_after_patience_or_twice_the_people() -> None:
    before = with_settings(willingness="computed")
    assert [need_to_speak(quiet, 5, before) for quiet in (0, 6, 12, 40)] == [0.0, 0.25, 1.0, 1.0]
    assert [need_to_speak(quiet, 5, DEFAULTS) for quiet in (0, 6, 12, 40)] == [0.0, 0.5**5, 1.0, 1.0]
    assert need_to_speak(9, 9, before) == 0.25
    assert need_to_speak(40, 5, with_settings(patience_rounds="null")) == 0.0


# --- the race -------------------------------------------------------------------------------------------------------

QUIET = {"topic": 0.0, "goal": 0.0, "emotion": 0.0, "personality": 0.0}


def test_the_fastest_of_the_willing_wins_and_lost_bids_are_kept() -> None:
    people = [a_contender("Ana"), a_contender("Bo"), a_contender("Dee", **QUIET)]
    outcome = a_race(people, {"Ana": 3.0, "Bo": 2.0})
    assert outcome.speaker == "Bo"
    assert (outcome.floor.waited_s, outcome.floor.looks, outcome.floor.tied) == (2.0, 1, ())
    assert {name: (bid.latency_s, bid.won) for name, bid in outcome.bids.items()} == {
        "Ana": (3.0, False),
        "Bo": (2.0, True),
        "Dee": (None, False),
    }


def test_latencies_within_a_tenth_of_a_second_tie_and_are_drawn() -> None:
    people = [a_contender("Ana"), a_contender("Bo"), a_contender("Cy")]
    outcome = a_race(people, {"Ana": 2.0, "Bo": 2.0999, "Cy": 2.2})
    assert (outcome.speaker, outcome.floor.tied, outcome.floor.waited_s) == ("Bo", ("Ana", "Bo"), 2.0999)
    assert a_race(people, {"Ana": 2.0, "Bo": 2.2, "Cy": 2.3}).speaker == "Ana"


def test_who_would_speak_after_a_silence_is_in_no_tie() -> None:
    people = [a_contender("Ana"), a_contender("Bo"), a_contender("Cy")]
    outcome = a_race(people, {"Ana": 9.96, "Bo": 9.97, "Cy": 10.04})
    assert (outcome.speaker, outcome.floor.tied, outcome.floor.waited_s) == ("Bo", ("Ana", "Bo"), 9.97)
    outcome = a_race(people[1:], {"Bo": 9.97, "Cy": 10.04})
    assert (outcome.speaker, outcome.floor.tied, outcome.floor.waited_s) == ("Bo", (), 9.97)


def test_ties_are_even() -> None:
    people = [a_contender(name) for name in ("Ana", "Bo", "Cy")]

    def tie(round: int) -> str | None:
        return run_race(
            people,
            0.0,
            DEFAULTS,
            draw=lambda bid, name, look: bid.model_copy(update={"latency_s": 1.0}),
            choose=lambda names: keyed_generator(3, round=round, node="tie").choice(names),
        ).speaker

    won = Counter(tie(round) for round in range(DRAWS))
    assert stats.chisquare(list(won.values())).pvalue > 0.001
    assert len(won) == 3


def test_who_is_slower_than_a_silence_does_not_speak_but_was_willing() -> None:
    outcome = a_race([a_contender("Ana")], {"Ana": 10.01})
    assert (outcome.speaker, outcome.floor.waited_s) == (None, None)
    assert (outcome.bids["Ana"].willing, outcome.bids["Ana"].latency_s) == (True, 10.01)
    assert a_race([a_contender("Ana")], {"Ana": 10.0}).speaker == "Ana"


def test_who_leaves_at_their_first_word_does_not_speak() -> None:
    outcome = a_race([a_contender("Ana", stays_s=2.0)], {"Ana": 2.0})
    assert (outcome.speaker, outcome.floor.gone) == (None, ("Ana",))


def test_while_nobody_is_willing_it_is_looked_at_again_without_anything_else_changing() -> None:
    """Cy reaches θ after 4.5 silent seconds: the fourth look, at Δt = 1.5 s."""
    people = [a_contender("Cy", personality=0.2, discomfort=1.0, topic=0.7, goal=0.4, emotion=0.35)]
    assert people[0].bid_after(3.0, DEFAULTS).willingness < 0.5 <= people[0].bid_after(4.5, DEFAULTS).willingness
    outcome = a_race(people, lambda bid, name, look: 1.0 + look)
    assert (outcome.speaker, outcome.floor.looks, outcome.floor.waited_s) == ("Cy", 4, 4.5 + 1.0 + 3)


def test_a_silence_before_the_round_counts() -> None:
    people = [a_contender("Cy", personality=0.2, discomfort=1.0, topic=0.7, goal=0.4, emotion=0.35)]
    assert a_race(people, {"Cy": 1.0}, silence_s=10.0).floor.looks == 1


def test_nobody_willing_is_a_silence_of_seven_looks() -> None:
    outcome = a_race([a_contender("Dee", **QUIET), a_contender("Bo", **QUIET)], {})
    assert (outcome.speaker, outcome.floor.looks) == (None, 7)
    assert not any(bid.willing or bid.latency_s for bid in outcome.bids.values())
