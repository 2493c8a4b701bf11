"""Fit how diversity follows λ to the dialogues of a pilot; nothing is run.

A metric over the dialogues of a case is no mean over them, but nearly: each dialogue has a *part* in it, by how much it
changes without that dialogue (the jackknife's influence). The mean of the parts is the metric, and their scatter its
error, common causes included. So a single conversation has a diversity: the metric, to the first order, if all were
like it. Its running measure is held against that.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from tertulia.lab.experiments.evidence import Figure, evidence_of, needing
from tertulia.metrics.diversity import dialogue_text, mean_pairwise_cosine, n_grams
from tertulia.metrics.legibility import Embed, unread, why_unread
from tertulia.nodes.shared.removal_factor import Words, running_measures, words_of
from tertulia.state.errors import UsageError
from tertulia.state.optional import SCIPY, importing
from tertulia.state.setpoint import DiversityMetric, Evidence, Inconsistency, Line, Setpoint

#: How sure each end of a band is.
_SURE = 0.975

#: The most of a deviation of the running measure that may show in the metric: a dialogue's own repetitions show whole.
_GAIN_MAX = 1.0

#: The fewest judged utterances from which an expected inconsistency is taken.
_LEAST_JUDGED = 8

#: The fewest dialogues of a λ.
LEAST_DIALOGUES = 3

#: Returns the vectors of texts.


@dataclass(frozen=True)
class PilotDialogue:
    """A dialogue of a pilot at a λ: speaker and text of each utterance, and the judge's figure of it, if any.

    Dialogues of one trial have one seed; `None` if it is not known which they are.
    """

    removal_factor: float
    lines: tuple[tuple[str, str], ...]
    inconsistency: tuple[float | None, ...]
    trial: int | None = None

    @property
    def words(self) -> list[Words]:
        """The words of each utterance, in lower case."""
        return [words_of(text) for _, text in self.lines]


def fit_setpoint(
    dialogues: Sequence[PilotDialogue],
    metric: DiversityMetric,
    rounds: int,
    embed: Embed | None = None,
    looks: int = 0,
) -> Setpoint:
    """Return the calibration of λ by a pilot's dialogues, of one scenario and model, with at most so many rounds each.

    The running measure has as many rounds, and at least 2. For sim, `embed` returns the vectors of texts. `looks` is
    how many smaller pilots, whose dialogues are among these, were refused.

    Raises:
        UsageError: There are fewer than two λ with three dialogues that have words.
    """
    n = 3 if metric == "sim" else int(metric.removeprefix("dist"))
    by_factor: dict[float, list[PilotDialogue]] = defaultdict(list)
    for dialogue in sorted(dialogues, key=lambda dialogue: (dialogue.removal_factor, dialogue.lines)):
        if any(len(words) >= n for words in dialogue.words):
            by_factor[dialogue.removal_factor].append(dialogue)
    groups = {factor: group for factor, group in by_factor.items() if len(group) >= LEAST_DIALOGUES}
    if len(groups) < 2:
        raise UsageError(
            "the pilot has too few dialogues to calibrate λ: three are needed at two values of λ at least, and they "
            "need words; look at its runs, or let it have more trials"
        )
    window = max(2, rounds)
    running = {
        factor: [running_measures(dialogue.words, n, window) for dialogue in group] for factor, group in groups.items()
    }
    falls = metric == "sim"
    figure = figure_of([dialogue for group in groups.values() for dialogue in group], metric, embed)
    parts = _parts_by_factor(groups, figure)
    diversity, low, high = _curve(parts, falls)
    trials = min(map(len, groups.values()))
    return Setpoint(
        metric=metric,
        trials=trials,
        rounds=rounds,
        window=window,
        removal_factors=tuple(groups),
        diversity=diversity,
        low=low,
        high=high,
        running=_running_lines(running, rounds),
        gains=_gains(running, parts, rounds, -1 if falls else 1),
        inconsistency=_inconsistency(groups),
        evidence=needing(
            _evidence(groups, figure, falls, looks),
            trials,
            rise=abs(diversity[-1] - diversity[0]),
            scatter=scatter_of(parts.values()),
            factors=[*groups],
        ),
    )


def _evidence(groups: Mapping[float, Sequence[PilotDialogue]], figure: Figure, falls: bool, looks: int) -> Evidence:
    """Return the effect of λ that dialogues show; `figure` has their numbers, group by group."""
    tested = [dialogue for group in groups.values() for dialogue in group]
    factors = [dialogue.removal_factor for dialogue in tested]
    return evidence_of(factors, [dialogue.trial for dialogue in tested], figure, falls, looks)


# --- the metric, and the parts of dialogues in it --------------------------------------------------------------------


def parts_of(figure: Figure, dialogues: int) -> list[float]:
    """Return the part of each dialogue in a metric over them (at least 3); the mean of the parts is the metric."""
    everything = range(dialogues)
    without = [figure([index for index in everything if index != withheld]) for withheld in everything]
    metric, mean_without = figure(everything), mean(without)
    return [metric + (dialogues - 1) * (mean_without - figure_without) for figure_without in without]


def _parts_by_factor(groups: Mapping[float, Sequence[PilotDialogue]], figure: Figure) -> dict[float, list[float]]:
    """Return the parts of the dialogues of each λ in its figure; `figure` has their numbers, group by group."""
    parts: dict[float, list[float]] = {}
    first = 0
    for factor, group in groups.items():
        parts[factor] = parts_of(_from(first, figure), len(group))
        first += len(group)
    return parts


def _from(first: int, figure: Figure) -> Figure:
    """Return a figure of dialogues whose numbers begin there."""
    return lambda chosen: figure([first + number for number in chosen])


def figure_of(dialogues: Sequence[PilotDialogue], metric: DiversityMetric, embed: Embed | None = None) -> Figure:
    """Return the function that gives the metric over some of these dialogues."""
    if metric == "sim":
        if embed is None:
            raise UsageError("sim needs an embedding model")
        texts = [dialogue_text(dialogue.lines) for dialogue in dialogues]
        for likeness in unread({"": texts}, embed).values():
            why = why_unread("the embedder", likeness, "--set embedder=")
            raise UsageError(f"sim can't steer these, {why}, or steer by dist3")
        vectors = embed(texts)
        return lambda chosen: mean_pairwise_cosine([vectors[index] for index in chosen]) or 0.0
    n = int(metric.removeprefix("dist"))
    grams = [n_grams([dialogue.lines], n) for dialogue in dialogues]
    numbers = {gram: number for number, gram in enumerate({gram: None for of_one in grams for gram in of_one})}
    counts = [len(of_one) for of_one in grams]
    # As the bits of a number, so that the thousands of groups of a permutation test are united fast.
    distinct = [sum(1 << numbers[gram] for gram in set(of_one)) for of_one in grams]

    def distinct_share(chosen: Sequence[int]) -> float:
        united = reduce(or_, (distinct[index] for index in chosen), 0)
        return united.bit_count() / (sum(counts[index] for index in chosen) or 1)

    return distinct_share


def _curve(
    parts: Mapping[float, Sequence[float]], falls: bool
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Return the monotone fit, one figure a λ, and the ends of the 95 % band of the figure at each λ.

    Before it is made monotone, the curve is drawn to a straight line as far as its bends may be chance. The band is
    Student's about the figure itself, with the scatter of all λ, as the fit errs at its ends if λ acts at one end only;
    it is wide enough to hold the fit.
    """
    with importing(*SCIPY):
        from scipy.optimize import isotonic_regression
        from scipy.stats import t
    factors = np.array(list(parts))
    figures = np.array([mean(group) for group in parts.values()])
    calmed = straightened(factors, figures, _error_of_means(list(parts.values())))
    fitted = isotonic_regression(calmed, increasing=not falls).x
    sizes = np.array([len(group) for group in parts.values()])
    quantile = float(t.ppf(_SURE, int(sizes.sum()) - len(sizes)))
    half = quantile * scatter_of(parts.values()) / np.sqrt(sizes)
    low, high = np.minimum(figures - half, fitted), np.maximum(np.minimum(figures + half, 1.0), fitted)
    return tuple(fitted.tolist()), tuple(low.tolist()), tuple(high.tolist())


def scatter_of(groups: Collection[Sequence[float]]) -> float:
    """Return the standard deviation of the parts of dialogues within a λ, of all λ together."""
    squares = sum((part - mean(group)) ** 2 for group in groups for part in group)
    return math.sqrt(squares / (sum(map(len, groups)) - len(groups)))


def _error_of_means(groups: Sequence[Sequence[float]]) -> float:
    """Return the variance of a λ's figure, from how the parts of dialogues vary within each λ."""
    return scatter_of(groups) ** 2 * len(groups) / sum(map(len, groups))


def straightened(factors: NDArray[np.float64], figures: NDArray[np.float64], error: float) -> NDArray[np.float64]:
    """Return figures at λ, both `(K,)`, drawn towards their straight line: all the way if that fits up to chance.

    The shrinkage is positive-part James–Stein, with the variance of a figure as error.
    """
    bends = len(factors) - 2
    line = np.polyval(np.polyfit(factors, figures, 1), factors)
    squares = float(((figures - line) ** 2).sum())
    kept = max(0.0, 1 - bends * error / squares) if bends > 0 and squares else 0.0
    straight: NDArray[np.float64] = line + kept * (figures - line)
    return straight


# --- the running measure --------------------------------------------------------------------------------------------

#: By λ, for each dialogue, the measure after each utterance.
_Running = dict[float, list[list[float | None]]]


def _at(measures: Sequence[float | None], utterance: int) -> float | None:
    """Return the measure after an utterance (from 1); `None` for a dialogue that ended before."""
    return measures[utterance - 1] if utterance <= len(measures) else None


def _running_lines(running: _Running, rounds: int) -> tuple[Line, ...]:
    """Return the expected running measure after each utterance, as a line in λ."""
    lines: list[Line] = []
    for utterance in range(1, rounds + 1):
        points = [
            (factor, measure)
            for factor, group in running.items()
            for measures in group
            if (measure := _at(measures, utterance)) is not None
        ]
        if len({factor for factor, _ in points}) > 1:
            lines.append(fitted_line(points))
        elif lines:  # the dialogues have ended: as behind the last utterance that there is
            lines.append(lines[-1])
    if not lines:
        raise UsageError("the pilot's dialogues have no words to measure; look at its runs")
    return tuple([lines[0]] * (rounds - len(lines)) + lines)


def fitted_line(points: Sequence[tuple[float, float]]) -> Line:
    """Return the least-squares line through points (λ, figure) of at least two λ, its slope shrunk by its error."""
    at, figures = np.array(points, dtype=np.float64).T
    centre, level = at.mean(), figures.mean()
    slope, error = _slope(at - centre, figures - level, len(points) - 2)
    slope = _shrunk(slope, error)
    return Line(at_zero=float(level - slope * centre), slope=float(slope))


def _gains(running: _Running, parts: dict[float, list[float]], rounds: int, sign: int) -> tuple[float, ...]:
    """Return, after each utterance, the share of a deviation of the running measure that shows in the dialogue's part.

    It is the slope of parts on measures among dialogues of one λ, shrunk by as much as it is uncertain, of the sign
    that more variety means more diversity. A slope found early is kept, as longer dialogues tell more.
    """
    gains = []
    for utterance in range(1, rounds + 1):
        measures, values, groups = [], [], 0
        for factor, group in running.items():
            pairs = [
                (measure, part)
                for of_dialogue, part in zip(group, parts[factor], strict=True)
                if (measure := _at(of_dialogue, utterance)) is not None
            ]
            if len(pairs) < 2:
                continue
            groups += 1
            of_group = np.array(pairs)
            measures += (of_group[:, 0] - of_group[:, 0].mean()).tolist()
            values += (of_group[:, 1] - of_group[:, 1].mean()).tolist()
        slope, error = _slope(np.array(measures), np.array(values), len(measures) - groups - 1)
        gains.append(min(max(0.0, sign * _shrunk(slope, error)), _GAIN_MAX))
    return tuple(sign * gain for gain in accumulate(gains, max))


def _slope(x: NDArray[np.float64], y: NDArray[np.float64], degrees: int) -> tuple[float, float]:
    """Return the slope of least squares through the origin, and its standard error; without a spread, 0."""
    spread = float(x @ x)
    if degrees < 1 or not spread:
        return 0.0, 0.0
    slope = float(x @ y) / spread
    residuals = y - slope * x
    return slope, math.sqrt(float(residuals @ residuals) / degrees / spread)


def _shrunk(slope: float, error: float) -> float:
    """Return a slope less the part that may be chance (positive-part James–Stein); 0 if it is below its error."""
    return slope * max(0.0, 1 - (error / slope) ** 2) if slope else 0.0


# --- inconsistency --------------------------------------------------------------------------------------------------


def _inconsistency(groups: dict[float, list[PilotDialogue]]) -> Inconsistency | None:
    """Return the expected inconsistency of an utterance; `None` if too few were judged."""
    points = [
        (factor, figure)
        for factor, group in groups.items()
        for dialogue in group
        for figure in dialogue.inconsistency
        if figure is not None
    ]
    if len(points) < _LEAST_JUDGED:
        return None
    if len({factor for factor, _ in points}) > 1:
        expected = fitted_line(points)
    else:
        expected = Line(at_zero=mean(figure for _, figure in points), slope=0.0)
    residuals = [figure - expected.at(factor) for factor, figure in points]
    return Inconsistency(expected=expected, deviation=float(np.std(residuals, ddof=1)))
