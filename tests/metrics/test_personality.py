"""The personality inventory: its key, its scores by hand, segments, and Table I of hand-made ratings."""

from __future__ import annotations

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.on_use import on_use

from tertulia.metrics.personality import (
    SCORING_KEY,
    RatedSegment,
    mean_interval,
    scores_of,
    segments,
    table_of_poles,
    tells_people_apart,
    welch,
    why_untestable,
)
from tertulia.state.meeting import BIG_FIVE
from tertulia.state.records import Turn

stats = on_use("scipy.stats")

#: The number of items of the inventory.
ITEMS = 44

#: Items that the published key counts reversed.
REVERSED = {2, 6, 8, 9, 12, 18, 21, 23, 24, 27, 31, 34, 35, 37, 41, 43}


def ratings(direct: int, reverse: int) -> dict[int, int]:
    return {item: reverse if item in REVERSED else direct for item in range(1, ITEMS + 1)}


def rated(run: str, agent: str, pole: str, extraversion: int, first: int = 1) -> RatedSegment:
    """A segment that scores so in every dimension."""
    return RatedSegment(
        run=run,
        agent=agent,
        first=first,
        last=first + 29,
        poles=(pole,),
        ratings=ratings(extraversion, 6 - extraversion),
    )


def some_turns(*speakers: str | None) -> list[Turn]:
    return [
        Turn(turn=at, round=at, speaker=name, text="Hm." if name else "", sim_time_s=at, ended=False)
        for at, name in enumerate(speakers, start=1)
    ]


# --- key and scores -------------------------------------------------------------------------------------------------


def test_every_item_has_one_dimension_and_the_key_has_the_published_counts() -> None:
    signed = [item for items in SCORING_KEY.values() for item in items]
    assert sorted(map(abs, signed)) == list(range(1, ITEMS + 1))
    assert {-item for item in signed if item < 0} == REVERSED
    assert {name: len(items) for name, items in SCORING_KEY.items()} == {
        "extraversion": 8,
        "agreeableness": 9,
        "conscientiousness": 9,
        "neuroticism": 8,
        "openness": 10,
    }
    assert tuple(SCORING_KEY) == tuple(BIG_FIVE)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # All 5: E (5·5 + 3·1)/8, A and C (5·5 + 4·1)/9, N as E, O (8·5 + 2·1)/10.
        (ratings(5, 5), (3.5, 29 / 9, 29 / 9, 3.5, 4.2)),
        # All 1: E (5·1 + 3·5)/8, A and C (5·1 + 4·5)/9, N as E, O (8·1 + 2·5)/10.
        (ratings(1, 1), (2.5, 25 / 9, 25 / 9, 2.5, 1.8)),
        (ratings(4, 2), (4, 4, 4, 4, 4)),
        (ratings(1, 5), (1, 1, 1, 1, 1)),
        # Item 6, reversed, rated 5 counts as 1: E (7·3 + 1)/8. Item 44 rated 5: O (9·3 + 5)/10.
        (ratings(3, 3) | {6: 5, 44: 5}, (22 / 8, 3, 3, 3, 3.2)),
    ],
)
def test_scores_equal_those_by_hand(given: dict[int, int], expected: tuple[float, ...]) -> None:
    assert tuple(scores_of(given).values()) == pytest.approx(expected)


# --- segments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (0, []),
        (1, [(1, 1)]),
        (30, [(1, 30)]),
        (90, [(1, 30), (31, 60), (61, 90)]),
        (100, [(1, 30), (31, 60), (61, 90), (91, 100)]),
    ],
)
def test_a_segment_is_thirty_turns(turns: int, expected: list[tuple[int, int]]) -> None:
    found = segments(some_turns(*["Ana"] * turns))
    assert [(segment.first, segment.last) for segment in found] == expected


def test_people_are_in_the_segments_in_which_they_spoke() -> None:
    found = segments(some_turns("Bo", None, "Ana", "Bo", None, None, None, "Cy"), length=3)
    assert [segment.speakers for segment in found] == [("Bo", "Ana"), ("Bo",), ("Cy",)]


# --- Table I --------------------------------------------------------------------------------------------------------


def test_mean_and_interval_equal_those_by_hand() -> None:
    # s = √0.5, t(0.975; 1) = 12.7062
    assert mean_interval([4, 5]) == pytest.approx((4.5, 4.5 - 6.3531, 4.5 + 6.3531), abs=1e-4)
    assert mean_interval([4]) == (4, None, None)
    assert mean_interval([]) == (None, None, None)


def test_welch_equals_the_value_by_hand() -> None:
    # t = −1.2247 at 4 degrees of freedom
    assert welch([1, 2, 3], [2, 3, 4]) == pytest.approx(0.28786, abs=1e-5)
    # Unequal variances, 2 and 0.25: t = −4 / √(2/2 + 0.25/3) at (1 + 1/12)² / (1² + (1/12)²/2) degrees of freedom
    t_value, freedom = -4 / (13 / 12) ** 0.5, (13 / 12) ** 2 / (1 + 1 / 288)
    assert welch([1, 3], [5.5, 6.5, 6]) == pytest.approx(2 * stats.t.cdf(t_value, freedom))


def test_a_p_that_is_missing_has_a_reason() -> None:
    few = [rated("r1", "Ana", "extroverted", 5), rated("r1", "Ana", "extroverted", 4, first=31),
           rated("r1", "Bo", "introverted", 2), rated("r1", "Bo", "introverted", 2, first=31)]  # fmt: skip
    extraversion, agreeableness, *_ = table_of_poles(few)
    assert extraversion.p is not None
    assert (extraversion.p_missing, extraversion.p_people) == (None, None)
    assert extraversion.p_people_missing == agreeableness.p_missing == "a pole has fewer than two values"
    alike = [
        rated("r1", name, pole, 4) for name, pole in (("A", "open"), ("B", "open"), ("C", "closed"), ("D", "closed"))
    ]
    openness = table_of_poles(alike)[-1]
    assert openness.p_missing == openness.p_people_missing == "the values of each pole are all equal"


#: Ratings of a few items make scores that are often equal, and sometimes equal but for rounding.
scores = st.lists(st.integers(1, 5), min_size=8, max_size=10).map(lambda given: sum(given) / len(given))
groups = st.one_of(
    st.lists(scores, max_size=6),
    st.tuples(scores, st.integers(0, 6)).map(lambda given: [given[0]] * given[1]),
    st.tuples(scores, st.integers(0, 5)).map(lambda given: [given[0], *[given[0] * (1 + 2**-52)] * given[1]]),
)


@pytest.mark.filterwarnings("error::RuntimeWarning")  # of numpy and scipy; what earlier tests left is not meant
@given(groups, groups)
def test_no_group_of_scores_makes_a_warning_or_a_p_that_is_no_number(a: list[float], b: list[float]) -> None:
    p = welch(a, b)
    assert (p is None) == (why_untestable(a, b) is not None)
    assert p is None or 0 <= p <= 1
    assert all(value is None or isfinite(value) for value in mean_interval(a))


def test_ratings_are_grouped_by_the_pole_that_was_given() -> None:
    given = [
        rated("r1", "Ana", "extroverted", 5),
        rated("r1", "Ana", "extroverted", 4, first=31),
        rated("r2", "Ana", "extroverted", 3),
        rated("r1", "Bo", "introverted", 2),
        rated("r1", "Cy", "introverted", 1),
        rated("r1", "Dee", "open", 1),
    ]
    extraversion, *_, openness = table_of_poles(given)
    assert (extraversion.high.pole, extraversion.high.people, extraversion.high.ratings) == ("extroverted", 2, 3)
    assert (extraversion.low.pole, extraversion.low.people, extraversion.low.ratings) == ("introverted", 2, 2)
    assert (extraversion.high.mean, extraversion.low.mean) == pytest.approx((4, 1.5))
    assert extraversion.p == pytest.approx(welch([5, 4, 3], [2, 1]))
    assert extraversion.p_people == pytest.approx(welch([4.5, 3], [2, 1]))
    assert (openness.high.ratings, openness.low.ratings, openness.low.mean, openness.p) == (1, 0, None, None)


def test_a_model_that_rates_everybody_alike_is_found_out() -> None:
    ana, bo = rated("r1", "Ana", "open", 4), rated("r1", "Bo", "open", 4)
    assert not tells_people_apart([ana, bo, rated("r1", "Ana", "open", 4, first=31)])
    assert tells_people_apart([ana, bo, rated("r1", "Bo", "open", 3, first=31)])
    assert tells_people_apart([ana])
    assert tells_people_apart([])
