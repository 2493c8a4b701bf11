"""Inference about the mean of cases: its interval, its test, and how strong a test is; nothing in it is drawn.

Cases of one source, such as those of one town, share properties that no other case has: if there are several sources,
the sources are the sample. The standard error is then CR2's, and Student's t has the degrees of freedom that follow
from the spread of the cases over the sources: of equally many cases each, one less than there are sources. If there
is one source, every case counts by itself, and the inference holds for that source.

Source: Bell and McCaffrey 2002 (CR2, and Satterthwaite's degrees of freedom of it), here for a mean; Holm 1979.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tertulia.metrics.student import student_quantile, student_tail
from tertulia.state.optional import SCIPY, importing

#: How sure an interval is.
CONFIDENCE = 0.95

#: The rounding error of a difference between equal figures.
ROUNDING = 1e-12


@dataclass(frozen=True)
class MeanError:
    """The standard error of a mean over cases, the degrees of freedom of its t, and whether it is one over sources."""

    standard_error: float
    freedom: float
    is_clustered: bool

    def half_width(self, confidence: float = CONFIDENCE) -> float:
        """Return half the width of the mean's interval of that confidence, in (0, 1)."""
        return student_quantile(self.freedom, (1 + confidence) / 2) * self.standard_error

    def p_above(self, distance: float) -> float:
        """Return the chance of a mean so far above the true one, or further; `distance` may be negative."""
        return student_tail(self.freedom, distance / self.standard_error)


def mean_error(values: Sequence[float], sources: Sequence[str] | None = None) -> MeanError | None:
    """Return the standard error of the mean of cases; `None` for fewer than two, or if they don't differ.

    Args:
        values: A figure of each case.
        sources: The source of each case. `None`, or all the same: every case counts by itself.
    """
    count = len(values)
    if count < 2 or max(values) - min(values) <= ROUNDING * max(1.0, abs(max(values, key=abs))):
        return None
    is_clustered = sources is not None and len(set(sources)) > 1
    residuals = np.asarray(values, dtype=np.float64) - np.mean(values)
    groups: dict[str | int, list[float]] = defaultdict(list)
    for number, residual in enumerate(residuals):
        groups[sources[number] if is_clustered and sources else number].append(float(residual))
    sizes = np.array([len(group) for group in groups.values()], dtype=np.float64)
    sums = np.array([sum(group) for group in groups.values()])
    weights = 1 / (count * np.sqrt(1 - sizes / count))  # CR2's adjustment of each source
    error = sqrt(float(((weights * sums) ** 2).sum()))
    if error <= ROUNDING * max(1.0, abs(max(values, key=abs))):
        return None
    # The quadratic form of the squared error in independent cases, source by source.
    form = np.outer(weights, weights) * (np.diag(sizes) - np.outer(sizes, sizes) / count)
    freedom = float(np.trace(form) ** 2 / (form**2).sum())
    return MeanError(error, freedom, is_clustered)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted for being a family, in the order given (Holm 1979); each in [0, 1], `None` if unknown.

    A family has at least one adjusted p at or below α by chance in at most α of repetitions, whichever hypotheses hold.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    highest = 0.0
    for rank, (p, at) in enumerate(known):
        adjusted[at] = highest = max(highest, min(1.0, (len(known) - rank) * p))
    return adjusted


def detectable(cases: int, sources: int, tests: int, power: float = 0.8) -> float | None:
    """Return the least mean that a test of a family finds with that power, in standard deviations of a case.

    It is the first step of Holm's, which is the strictest, with equally many cases of each source, and no more likeness
    within a source than between. `None` if there are fewer than two cases, or no mean is large enough.

    Args:
        sources: Sources of the cases; with 1, every case counts by itself.
        tests: Orderings of the family.
    """
    with importing(*SCIPY):
        from scipy.optimize import brentq
        from scipy.stats import nct, t

    freedom = (sources if sources > 1 else cases) - 1
    if freedom < 1:
        return None
    limit = float(t.ppf(1 - (1 - CONFIDENCE) / (2 * max(1, tests)), freedom))

    def lacks(effect: float) -> float:
        return power - float(nct.sf(limit, freedom, effect * sqrt(cases)))

    high = 1.0
    while lacks(high) > 0:
        high *= 2
        if high > 1e3:
            return None
    return float(brentq(lacks, 0.0, high))
