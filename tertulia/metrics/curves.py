"""How a figure moves along a curve, with λ or over simulated time, case by case; and of two curves, which lies higher.

Source: Theil 1950 and Sen 1968 (slope over time); APP Fig. 2 (over time), Fig. 3 (with λ, and over removed words).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tertulia.metrics.inference import CONFIDENCE, ROUNDING
from tertulia.metrics.statistics import Contrast, Sample, contrast, statistic
from tertulia.state.optional import SCIPY, importing


def trend(points: Sequence[tuple[float, Sample]]) -> tuple[Contrast, Contrast]:
    """Return how a figure moves over two or more positions, such as λ, over the cases that have all of them.

    Returns:
        The least-squares slope per unit of the position, and Spearman's rank correlation with it.
    """
    positions = np.asarray([position for position, _ in points])
    samples = [sample for _, sample in points]
    centred = positions - positions.mean()
    slope = contrast([*zip(samples, centred / (centred**2).sum(), strict=True)])
    return slope, statistic(samples, lambda values: spearman(positions, np.asarray(values)))


def spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    """Return Spearman's rank correlation, in [−1, 1]; `None` if either is constant."""
    with importing(*SCIPY):
        from scipy.stats import spearmanr

    if np.ptp(x) <= ROUNDING or np.ptp(y) <= ROUNDING:
        return None
    return float(spearmanr(x, y).statistic)


def trend_over_time(times: Mapping[str, float], values: Mapping[str, float]) -> Contrast:
    """Return the slope of a figure per unit of time over its cases, with its 95 % interval (Theil and Sen).

    Each case is one point, so that nothing is averaged: interval and p (Kendall's) follow from the order of the points
    alone, and need five of them, as fewer are in one order by chance more than once in twenty times. `by_case` has the
    figures.
    """
    with importing(*SCIPY):
        from scipy.stats import kendalltau, theilslopes

    cases = [case for case in values if case in times]
    x, y = [times[case] for case in cases], [values[case] for case in cases]
    value = low = high = p = None
    if len(set(x)) > 1:
        found = theilslopes(y, x, CONFIDENCE)
        value = float(found.slope)
        if len(cases) >= 5:
            low, high = float(found.low_slope), float(found.high_slope)
            p = float(kendalltau(x, y).pvalue)
    return Contrast(
        value=value,
        ci_low=low,
        ci_high=high,
        method=None if low is None else "theil_sen",
        cases=len(cases),
        p=p,
        by_case=dict(zip(cases, y, strict=True)),
        above=sum(figure > ROUNDING for figure in y),
    )


def efficiency(better: Sequence[tuple[Sample, Sample]], worse: Sequence[tuple[Sample, Sample]]) -> Contrast:
    """Return how much higher a curve lies than another, on average over the positions that both reach.

    Position and height are both measured by case, such as the share of words removed and dist-3, at each λ. A curve of
    a single point is compared at its own position; cases in which the other curve does not reach it are left out.
    """
    samples = [sample for point in (*better, *worse) for sample in point]
    return statistic(samples, lambda values: _height_above(values, 2 * len(better)))


def _height_above(values: Sequence[float], split: int) -> float | None:
    curves = []
    for part in (values[:split], values[split:]):
        points = sorted(zip(part[::2], part[1::2], strict=True))
        curves.append((np.asarray([x for x, _ in points]), np.asarray([y for _, y in points])))
    low, high = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    is_point = min(len(x) for x, _ in curves) == 1
    if low > high or (high - low <= ROUNDING and not is_point):
        return None
    grid = np.linspace(low, high, 101)
    above, below = (np.interp(grid, x, y) for x, y in curves)
    return float(np.mean(above - below))
