"""Measure whether the people of a conversation stay themselves or become one another, by the vectors of their lines.

1. *Spread* is the distance between different people's lines, within a moment; *apart*, how much larger that is than the
   distance between one person's lines. Half the squared distance of two people's means is so estimated without bias:
   a few lines of the same voice are not apart, however much they scatter.
2. *Pull* is the fall of apart over the conversation; *towards*, the share of a person's move that points at the others.
3. *Attribution* is how often a line is most like its speaker's lines elsewhere, each person counting the same.
4. *Coverage* is how much of the differences that personas were given lies between the people's lines.

Each is compared with a null: speakers are permuted within moments, so that the effect of a change of topic, of length
or of repetition on everybody is in the null too. Recited parts of a persona do not count, a line is never found by
an equal one, and two lines that are equal say nothing about how much a person varies.

Open question: whether a difference is one of character. A mannerism tells people apart as well.

Source: ours (docs/readings.md), after the questions of arXiv 2604.24698 (persona collapse) and 2606.30571 (attractors
under self-play); the difference of means of distances is the energy statistic of Székely and Rizzo 2013.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tertulia.metrics.population_null import Judged, against_null, permuted
from tertulia.state.records import Record

Vectors = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Most moments that a conversation is cut into, and lines of a person that each should have.
MOST_MOMENTS, LINES_EACH = 8, 3

#: The level of a test, and the share of recited lines beyond which people are not told apart.
_LEVEL, _MOST_RECITED = 0.05, 0.5

#: Cosines that differ by less are equal, but for rounding.
_ROUNDING = 1e-9


class MomentFigures(Record):
    """A moment: some rounds, days or encounters in a row."""

    first: int = Field(description="round, day or encounter that it begins with")
    last: int
    lines: int
    spread: float | None = Field(description="mean cosine distance of lines of different people, in [0, 2]")
    apart: float | None = Field(description="spread minus the mean distance of two unequal lines of one person")


class PopulationFigures(Record):
    """The figures of one conversation; `None` if there is nothing to measure.

    A figure with p has it from permuting the speakers, two-sided.
    """

    people: int = Field(description="who says something that counts")
    lines: int = Field(description="lines that count: neither empty but for names nor recited")
    recited: float | None = Field(description="share of lines that recite what their speaker was given, in [0, 1]")
    spread_early: float | None = Field(description="spread of the first half, in [0, 2]")
    spread_late: float | None = Field(description="spread of the second half")
    apart: float | None = Field(description="mean of the moments, that of the null taken off; 0: one voice")
    apart_p: float | None
    pull: float | None = Field(description="fall of apart from first to last moment beyond the null; above 0: nearer")
    pull_p: float | None
    towards: float | None = Field(description="mean cosine of a person's move with the way to the others, null off")
    towards_p: float | None
    attribution: float | None = Field(description="mean share of a person's lines that are found to be theirs, [0, 1]")
    attribution_p: float | None
    chance: float | None = Field(description="attribution of the null")
    attribution_excess: float | None = Field(description="attribution above the null, in [-1, 1]")
    attribution_early: float | None = Field(description="above the null, of the first half by itself, in [-1, 1]")
    attribution_late: float | None = Field(description="the same of the second half")
    attribution_change: float | None = Field(description="late minus early; below 0: people are harder to tell")
    coverage: float | None = Field(description="share of the personas' differences between lines; 0: none, 1: all")
    coverage_p: float | None
    dispersion: float | None = Field(description="how far people's lines differ over how far personas do; had by noise")
    moments: tuple[MomentFigures, ...] = ()
    reason: str | None = Field(default=None, description="why there are no figures")


@dataclass(frozen=True)
class Lines:
    """The lines of a conversation that count, in their order.

    Attributes:
        vectors: Of unit length, `(N, D)`.
        speakers: The number of each line's speaker, from 0 without gaps, `(N,)`.
        texts: The number of each text; equal texts have the same, `(N,)`.
        at: The round, day or encounter, ascending, `(N,)`.
        folds: The lines that are left out together when a line is attributed: its round, or its encounter, `(N,)`.
        personas: Of unit length or shorter, `(people, D)`; `None`: nothing was given.
    """

    vectors: Vectors
    speakers: Labels
    texts: Labels
    at: Labels
    folds: Labels
    personas: Vectors | None = None

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.speakers.max()) + 1 if len(self.speakers) else 0


def figures_of_lines(
    lines: Lines, recited: float | None, seed: int = 0, reason: str | None = None
) -> PopulationFigures:
    """Return the figures of a conversation.

    Args:
        recited: The share of its lines that are left out as recited.
        seed: Keys the permutations of the null.
        reason: Why its vectors say nothing; `None`: they do.
    """
    reason = reason or why_none(lines)
    if reason is not None:
        return _without(lines, recited, reason)
    moments, halves = moments_of(lines), moments_of(lines, 2)
    labels = permuted(lines.speakers, moments, seed)
    measured = _Measured(lines, moments, halves)

    def judged(take: Callable[[Labels], float | None]) -> Judged:
        return against_null(take, lines.speakers, labels)

    apart, pull = judged(measured.apart), judged(measured.pull)
    found, towards = judged(measured.attribution), judged(measured.towards)
    early, late = (judged(partial(measured.attribution, chosen=halves == half)) for half in (0, 1))
    coverage = judged(measured.coverage)
    spreads = [measured.spread(lines.speakers, halves == half) for half in (0, 1)]
    change = None if early.excess is None or late.excess is None else late.excess - early.excess
    return PopulationFigures(
        people=lines.people,
        lines=len(lines.vectors),
        recited=recited,
        spread_early=spreads[0],
        spread_late=spreads[1],
        apart=apart.excess,
        apart_p=apart.p,
        pull=pull.excess,
        pull_p=pull.p,
        towards=towards.excess,
        towards_p=towards.p,
        attribution=found.value,
        attribution_p=found.p,
        chance=found.expected,
        attribution_excess=found.excess,
        attribution_early=early.excess,
        attribution_late=late.excess,
        attribution_change=change,
        coverage=coverage.value,
        coverage_p=coverage.p,
        dispersion=measured.dispersion(),
        moments=tuple(measured.moment(moment) for moment in range(int(moments.max()) + 1)),
    )


def tells_people_apart(figures: PopulationFigures) -> bool:
    """Return whether people are told apart by their lines: by distance and by attribution, each beyond chance.

    If most lines are recited, they say nothing of people.
    """
    tested = ((figures.apart, figures.apart_p), (figures.attribution_excess, figures.attribution_p))
    beyond = all(value is not None and p is not None and value > 0 and p <= _LEVEL for value, p in tested)
    return beyond and (figures.recited or 0.0) <= _MOST_RECITED


def why_none(lines: Lines) -> str | None:
    """Return why a conversation has no figures; `None` if it has."""
    if not len(lines.vectors):
        return "nothing is said but names and what is recited"
    if lines.people < 2:
        return "one person alone says something that counts"
    if len(set(lines.at.tolist())) < 2:
        return "all is said in one round"
    return None


def moments_of(lines: Lines, most: int | None = None) -> Labels:
    """Return the moment of each line from 0, `(N,)`: rounds in a row with about equally many lines.

    Args:
        most: How many at most; `None`: so many that each person has `LINES_EACH` lines in each on average, at least 2
            and at most `MOST_MOMENTS`.
    """
    count = len(lines.at)
    wanted = most or min(MOST_MOMENTS, max(2, count // (LINES_EACH * lines.people)))
    _, first, sizes = np.unique(lines.at, return_index=True, return_counts=True)
    middles = first + (sizes - 1) / 2
    of_rounds = np.minimum((middles + 0.5) * wanted / count, wanted - 1).astype(np.int64)
    if len(of_rounds) > 1 and len(set(of_rounds.tolist())) < 2:  # one round has nearly all lines
        of_rounds[-1 if middles[-1] > count / 2 else slice(1, None)] += 1
    numbered = np.unique(of_rounds, return_inverse=True)[1]
    return np.asarray(np.repeat(numbered, sizes), dtype=np.int64)


class _Measured:
    """Takes statistics of a conversation for the speakers of its lines, real or permuted."""

    def __init__(self, lines: Lines, moments: Labels, halves: Labels) -> None:
        self._lines, self._moments, self._halves = lines, moments, halves
        self._cosines = lines.vectors @ lines.vectors.T  # (N, N)
        self._unequal = lines.texts[:, None] != lines.texts[None, :]
        self._elsewhere = self._unequal & (lines.folds[:, None] != lines.folds[None, :])
        self._count = int(moments.max()) + 1

    # --- distances --------------------------------------------------------------------------------------------------

    def spread(self, speakers: Labels, chosen: NDArray[np.bool_]) -> float | None:
        """Return the mean cosine distance over pairs of chosen lines of different people."""
        return self._distance(speakers, chosen, is_same=False)

    def _distance(self, speakers: Labels, chosen: NDArray[np.bool_], is_same: bool) -> float | None:
        at = np.flatnonzero(chosen)
        same = speakers[at][:, None] == speakers[at][None, :]
        pairs = (same & self._unequal[np.ix_(at, at)]) if is_same else ~same
        number = int(pairs.sum())
        return 1 - float(self._cosines[np.ix_(at, at)][pairs].sum()) / number if number else None

    def _apart(self, speakers: Labels, chosen: NDArray[np.bool_]) -> float | None:
        between = self._distance(speakers, chosen, is_same=False)
        within = self._distance(speakers, chosen, is_same=True)
        return None if between is None or within is None else between - within

    def _aparts(self, speakers: Labels) -> list[float | None]:
        return [self._apart(speakers, self._moments == moment) for moment in range(self._count)]

    def apart(self, speakers: Labels) -> float | None:
        """Return how much further people lie apart than their own lines do, as its mean over moments."""
        found = [value for value in self._aparts(speakers) if value is not None]
        return float(np.mean(found)) if found else None

    def pull(self, speakers: Labels) -> float | None:
        """Return by how much `apart` falls from the first moment to the last, by a line of least squares."""
        found = [(at, value) for at, value in enumerate(self._aparts(speakers)) if value is not None]
        if len(found) < 2 or self._count < 2:
            return None
        at, values = np.array(found).T
        return -float(np.polyfit(at / (self._count - 1), values, 1)[0])

    def towards(self, speakers: Labels) -> float | None:
        """Return the mean cosine of people's moves, first half to second, with the way to the others' mean.

        A person's position is taken from other lines than the way is: by the same ones, chance alone would point back.
        """
        early = [np.flatnonzero((self._halves == 0) & (speakers == person)) for person in range(self._lines.people)]
        late = [np.flatnonzero((self._halves == 1) & (speakers == person)) for person in range(self._lines.people)]
        able = [person for person in range(self._lines.people) if len(early[person]) > 1 and len(late[person])]
        if len(able) < 2:
            return None
        found = []
        for first in (0, 1):
            stood = np.array([self._mean(early[person][first::2]) for person in able])
            started = np.array([self._mean(early[person][1 - first :: 2]) for person in able])
            ways = (stood.sum(axis=0) - stood) / (len(able) - 1) - stood
            moves = np.array([self._mean(late[person]) for person in able]) - started
            lengths = np.linalg.norm(ways, axis=1) * np.linalg.norm(moves, axis=1)
            found += [float(way @ move / by) for way, move, by in zip(ways, moves, lengths, strict=True) if by > 0]
        return float(np.mean(found)) if found else None

    def _mean(self, at: NDArray[np.int64]) -> Vectors:
        mean: Vectors = self._lines.vectors[at].mean(axis=0)
        return mean

    # --- attribution ------------------------------------------------------------------------------------------------

    def attribution(self, speakers: Labels, chosen: NDArray[np.bool_] | None = None) -> float | None:
        """Return the mean over people of the share of their lines, of all or of chosen ones, that are found theirs."""
        at = np.arange(len(speakers)) if chosen is None else np.flatnonzero(chosen)
        people, own = np.unique(speakers[at], return_inverse=True)
        if len(people) < 2:
            return None
        is_theirs = own[:, None] == np.arange(len(people))[None, :]  # (N, people)
        usable = self._elsewhere[np.ix_(at, at)].astype(np.float64)
        counts = usable @ is_theirs
        sums = (usable * self._cosines[np.ix_(at, at)]) @ is_theirs
        likeness = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
        best = likeness.max(axis=1, keepdims=True)
        nearest = np.isfinite(best) & (likeness >= best - _ROUNDING)
        shares = nearest / np.maximum(nearest.sum(axis=1, keepdims=True), 1)  # equally near people share the line
        found = shares[np.arange(len(at)), own]
        return float(np.mean([found[own == person].mean() for person in range(len(people))]))

    # --- personas ---------------------------------------------------------------------------------------------------

    def coverage(self, speakers: Labels) -> float | None:
        """Return how much of the personas' differences lies between the people's lines."""
        if self._lines.personas is None:
            return None
        return coverage(self._lines.personas, self._centres(speakers))

    def dispersion(self) -> float | None:
        """Return how far people's mean lines differ, over how far their personas do, in any direction."""
        if self._lines.personas is None:
            return None
        return dispersion(self._lines.personas, self._centres(self._lines.speakers))

    def _centres(self, speakers: Labels) -> Vectors:
        return np.array([self._mean(np.flatnonzero(speakers == person)) for person in range(self._lines.people)])

    def moment(self, moment: int) -> MomentFigures:
        """Return the figures of a moment."""
        chosen = self._moments == moment
        at = self._lines.at[chosen]
        return MomentFigures(
            first=int(at[0]),
            last=int(at[-1]),
            lines=len(at),
            spread=self.spread(self._lines.speakers, chosen),
            apart=self._apart(self._lines.speakers, chosen),
        )


def coverage(given: Vectors, shown: Vectors) -> float | None:
    """Return the share of the differences that people were given which they show, in the directions of these.

    It is the slope, through the means, of the shown values `(people, D)` on the given ones `(people, D)`: 1 if people
    differ as they were made to, 0 if they don't, or differ without regard to it, and below 0 if they swap. Noise
    has 0 in expectation, so scattered lines do not raise it.

    Returns:
        The slope; `None` if all were given the same.
    """
    ways = given - given.mean(axis=0)
    total = float((ways**2).sum())
    return float((ways * (shown - shown.mean(axis=0))).sum()) / total if total > _ROUNDING else None


def dispersion(given: Vectors, shown: Vectors) -> float | None:
    """Return the root mean square distance from the mean of the shown values over that of the given ones, from 0.

    It has no regard to direction, and noise has it too. `None` if all were given the same.
    """
    total = float(((given - given.mean(axis=0)) ** 2).sum())
    return float(((shown - shown.mean(axis=0)) ** 2).sum() / total) ** 0.5 if total > _ROUNDING else None


def trait_coverage(
    given: Mapping[str, Mapping[str, float]], shown: Mapping[str, Mapping[str, float]]
) -> tuple[float | None, float | None]:
    """Return coverage and dispersion of the answers to a questionnaire, by person and trait, over those that both have.

    A trait counts for people that were given a pole of it; both are `None` if all were given the same.
    """
    ways, ends = [], []
    for trait in dict.fromkeys(trait for of_person in given.values() for trait in of_person):
        people = [name for name, traits in given.items() if trait in traits and trait in shown.get(name, {})]
        if people:
            of_given, of_shown = ([[of[name][trait]] for name in people] for of in (given, shown))
            ways.append(np.array(of_given) - np.mean(of_given))
            ends.append(np.array(of_shown) - np.mean(of_shown))
    if not ways:
        return None, None
    total = float(sum((way**2).sum() for way in ways))
    if total <= _ROUNDING:
        return None, None
    along = float(sum((way * end).sum() for way, end in zip(ways, ends, strict=True)))
    return along / total, (float(sum((end**2).sum() for end in ends)) / total) ** 0.5


def attractor(early: Sequence[Vectors], late: Sequence[Vectors], cases: Sequence[str]) -> list[float]:
    """Return for each conversation how much more like the others its end is than its beginning is, in [-2, 2].

    Args:
        early, late: Of each of at least two conversations the vectors of its first and last lines, of unit length.
        cases: The case of each. If there are several, it is compared with conversations of other cases.

    Returns:
        The mean cosine of its late lines with the others' late ones, minus the same of early ones; above 0 if
        conversations that began differently end alike.
    """
    started, ended = (np.array([lines.mean(axis=0) for lines in part]) for part in (early, late))
    of_case = np.array([list(dict.fromkeys(cases)).index(case) for case in cases])
    others = of_case[:, None] != of_case[None, :]
    if not others.any():
        others = ~np.eye(len(cases), dtype=np.bool_)
    gained = (ended @ ended.T - started @ started.T) * others
    return [float(value) for value in gained.sum(axis=1) / others.sum(axis=1)]


def thirds(lines: Lines) -> tuple[Vectors, Vectors] | None:
    """Return the vectors of the first and of the last third of the lines; `None` for fewer than two lines."""
    size = len(lines.vectors) // 3 or (1 if len(lines.vectors) > 1 else 0)
    return (lines.vectors[:size], lines.vectors[-size:]) if size else None


def _without(lines: Lines, recited: float | None, reason: str) -> PopulationFigures:
    nothing = {name: None for name, of in PopulationFigures.model_fields.items() if of.is_required()}
    found = {"people": lines.people, "lines": len(lines.vectors), "recited": recited, "reason": reason}
    return PopulationFigures.model_validate(nothing | found)
