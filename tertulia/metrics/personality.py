"""Score the personality that people show: the 44 items of the Big Five Inventory, and ChatAgents' Table I.

1. Each person is rated on every segment of 30 turns in which they spoke, as often as there are such segments.
2. A dimension's score is the mean rating of its items, a reversed item's being 6 minus its rating.
3. Scores are grouped by the pole that each person was given; a dimension has one p-value, of Welch's test between its
   two poles. The ratings of one person are not independent of each other, so p over people's means is given too.

Source: John and Srivastava 1999, "The Big Five trait taxonomy" (items and key); ChatAgents §IV-C, Tab. I, App. E.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from pydantic import Field

from tertulia.metrics.statistics import t_quantile
from tertulia.state.meeting import BIG_FIVE
from tertulia.state.optional import SCIPY, importing
from tertulia.state.records import Record, Turn

LOWEST, HIGHEST = 1, 5

#: Length of a segment in turns, recorded silences included. Source: ChatAgents App. E.
SEGMENT_TURNS = 30

#: By dimension, the numbers of its items; those that count reversed are negative. Source: John and Srivastava 1999.
SCORING_KEY: Mapping[str, tuple[int, ...]] = {
    "extraversion": (1, -6, 11, 16, -21, 26, -31, 36),
    "agreeableness": (-2, 7, -12, 17, 22, -27, 32, -37, 42),
    "conscientiousness": (3, -8, 13, -18, -23, 28, 33, 38, -43),
    "neuroticism": (4, -9, 14, 19, -24, 29, -34, 39),
    "openness": (5, 10, 15, 20, 25, 30, -35, 40, -41, 44),
}

#: Scores that differ by no more than this are equal, but for rounding.
_ROUNDING = 1e-9


class Segment(Record):
    """A segment of a conversation: turns `first` to `last`."""

    first: int
    last: int
    speakers: tuple[str, ...] = Field(description="who spoke in it, each once, in the order of their first words")


class RatedSegment(Record):
    """The ratings of a person in a segment."""

    run: str
    agent: str
    first: int
    last: int
    poles: tuple[str, ...] = Field(description="the poles that the person was given; none in a dialogue of two")
    ratings: dict[int, int] = Field(description="by item, 1 (does not fit at all) to 5 (fits very well)")

    @property
    def scores(self) -> dict[str, float]:
        """The score of each dimension, in [1, 5]."""
        return scores_of(self.ratings)


class PoleFigures(Record):
    """The scores of people with one pole of a dimension; `None` if there is nothing to take them of."""

    pole: str
    people: int | None = None
    ratings: int | None = Field(default=None, description="segments of these people, each rated once")
    mean: float | None
    ci_low: float | None = Field(description="of the 95 % interval of the mean, by Student's t over the ratings")
    ci_high: float | None


class DimensionFigures(Record):
    """A dimension of Table I."""

    dimension: str
    high: PoleFigures
    low: PoleFigures
    p: float | None = Field(default=None, description="Welch's test, two-sided, between the ratings of the two poles")
    p_people: float | None = Field(default=None, description="the same between people's means, one value a person")
    p_missing: str | None = Field(default=None, description="why there is no p")
    p_people_missing: str | None = Field(default=None, description="why there is no p over people")


#: Table I of ChatAgents: five runs of the team-building meeting, rated by GPT-4o; how many ratings is not published.
TEAM_BUILDING: tuple[DimensionFigures, ...] = tuple(
    DimensionFigures(
        dimension=dimension,
        high=PoleFigures(pole=BIG_FIVE[dimension][0], mean=high[0], ci_low=high[1], ci_high=high[2]),
        low=PoleFigures(pole=BIG_FIVE[dimension][1], mean=low[0], ci_low=low[1], ci_high=low[2]),
    )
    for dimension, high, low in (
        ("extraversion", (4.80, 4.61, 4.99), (3.75, 3.30, 4.20)),
        ("agreeableness", (4.85, 4.62, 5.08), (3.90, 3.70, 4.10)),
        ("conscientiousness", (4.67, 4.50, 4.84), (3.03, 2.91, 3.15)),
        ("neuroticism", (2.15, 1.88, 2.42), (1.33, 1.15, 1.51)),
        ("openness", (4.60, 4.19, 5.01), (3.92, 3.70, 4.15)),
    )
)


def segments(turns: Sequence[Turn], length: int = SEGMENT_TURNS) -> tuple[Segment, ...]:
    """Return the segments of a conversation; the last may be shorter."""
    parts = [list(part) for _, part in groupby(turns, key=lambda turn: (turn.turn - 1) // length)]
    return tuple(
        Segment(
            first=part[0].turn,
            last=part[-1].turn,
            speakers=tuple(dict.fromkeys(turn.speaker for turn in part if turn.speaker is not None)),
        )
        for part in parts
    )


def scores_of(ratings: Mapping[int, int]) -> dict[str, float]:
    """Return the score of each dimension from the ratings of all items.

    Raises:
        KeyError: An item was not rated.
        ValueError: A rating is not from 1 to 5.
    """
    for item, rating in ratings.items():
        if not LOWEST <= rating <= HIGHEST:
            raise ValueError(f"item {item} is rated {rating}, not {LOWEST} to {HIGHEST}")
    return {
        dimension: sum(ratings[i] if i > 0 else LOWEST + HIGHEST - ratings[-i] for i in items) / len(items)
        for dimension, items in SCORING_KEY.items()
    }


def table_of_poles(rated: Sequence[RatedSegment]) -> tuple[DimensionFigures, ...]:
    """Return Table I: every dimension, with the scores of the people of each pole; a name in two runs is two people."""
    return tuple(_dimension(name, poles, rated) for name, poles in BIG_FIVE.items())


def tells_people_apart(rated: Sequence[RatedSegment]) -> bool:
    """Whether the ratings of different people differ at all; a model that is too small rates all people alike."""
    people: dict[tuple[str, str], set[tuple[int, ...]]] = {}
    for segment in rated:
        ratings = tuple(segment.ratings[item] for item in sorted(segment.ratings))
        people.setdefault((segment.run, segment.agent), set()).add(ratings)
    return len(people) < 2 or len(set().union(*people.values())) > 1


def welch(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Welch's t-test; `None` if there is nothing to test (`why_untestable`).

    The moments are computed here: scipy warns of lost precision when it computes them of equal values.
    """
    if why_untestable(a, b) is not None:
        return None
    with importing(*SCIPY):
        from scipy.stats import ttest_ind_from_stats

    (mean_a, deviation_a), (mean_b, deviation_b) = _mean_and_deviation(a), _mean_and_deviation(b)
    statistics = (mean_a, deviation_a, len(a), mean_b, deviation_b, len(b))
    return float(ttest_ind_from_stats(*statistics, equal_var=False).pvalue)


def why_untestable(a: Sequence[float], b: Sequence[float]) -> str | None:
    """Return why two groups can't be compared by Welch's test; `None` if they can."""
    if min(len(a), len(b)) < 2:
        return "a pole has fewer than two values"
    if _is_constant(a) and _is_constant(b):
        return "the values of each pole are all equal"
    return None


def mean_interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return the mean and the bounds of its 95 % interval by Student's t; `None` if values are too few."""
    if not values:
        return None, None, None
    if len(values) < 2:
        return float(values[0]), None, None
    n, (mean, deviation) = len(values), _mean_and_deviation(values)
    half = t_quantile(n) * deviation / n**0.5
    return mean, mean - half, mean + half


def _is_constant(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= _ROUNDING


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5


def _dimension(name: str, poles: tuple[str, str], rated: Sequence[RatedSegment]) -> DimensionFigures:
    high, low = (
        [(segment.run, segment.agent, segment.scores[name]) for segment in rated if pole in segment.poles]
        for pole in poles
    )
    ratings = [score for *_, score in high], [score for *_, score in low]
    means = _means(high), _means(low)
    return DimensionFigures(
        dimension=name,
        high=_pole(poles[0], high),
        low=_pole(poles[1], low),
        p=welch(*ratings),
        p_people=welch(*means),
        p_missing=why_untestable(*ratings),
        p_people_missing=why_untestable(*means),
    )


def _pole(pole: str, scores: Sequence[tuple[str, str, float]]) -> PoleFigures:
    mean, ci_low, ci_high = mean_interval([score for *_, score in scores])
    return PoleFigures(
        pole=pole, people=len(_means(scores)), ratings=len(scores), mean=mean, ci_low=ci_low, ci_high=ci_high
    )


def _means(scores: Sequence[tuple[str, str, float]]) -> list[float]:
    people: dict[tuple[str, str], list[float]] = {}
    for run, agent, score in scores:
        people.setdefault((run, agent), []).append(score)
    return [sum(values) / len(values) for values in people.values()]
