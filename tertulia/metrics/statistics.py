"""Statistics of experiments: means over cases with their intervals, paired differences, tests, and the data needed.

A case is a starting point, and the unit that is sampled: every interval is over cases, as the trials of a case share
its people, its memories and its place. Cases of one source, such as a town, share more; if there are several
sources, these are the units. Settings are compared on the same cases, and on the same trials of each. The contribution
of a trial is found by the jackknife: a figure of a case is taken again without each of its trials.

Intervals and tests are one thing, and nothing in them is drawn: Student's t of the cases, or, of several sources, of a
cluster-robust standard error with the degrees of freedom that it has (CR2). `lab check` simulates how often they err.

Open question: whether these cases are like any that were not run.

Source: APP §2 (figures of a case over its trials, their mean over cases); Efron and Stein 1981 (jackknife); Bell and
McCaffrey 2002 (CR2 and its degrees of freedom); Holm 1979 (several tests); Hedges 1981 (effect size).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, isfinite, sqrt
from typing import Literal, TypeVar

import numpy as np
from pydantic import Field

from tertulia.metrics.inference import CONFIDENCE, ROUNDING, MeanError, mean_error
from tertulia.metrics.student import student_quantile
from tertulia.state.documents import Document
from tertulia.state.optional import SCIPY, importing
from tertulia.state.records import Record

T = TypeVar("T")

#: Numbers of trials or cases above this are not given: such a difference is too small to look for.
MOST = 10_000

Method = Literal["student", "cluster_robust", "theil_sen"]


@dataclass(frozen=True)
class CaseFigure:
    """A figure of one case.

    Attributes:
        value: The figure, over all trials of the case.
        trials: How many trials that is; `None` if it is not known.
        without: The figure without each trial, by the trial's number; empty if that was not taken.
        source: The source of the case, such as a town with several; cases of one source are not independent.
    """

    value: float
    trials: int | None = None
    without: Mapping[int, float] = field(default_factory=dict)
    source: str = ""


#: A metric in a setting: its figures by case.
Sample = Mapping[str, CaseFigure]


class CaseMean(Record):
    """The mean of a figure over cases, with its 95 % interval.

    There is no interval if there are fewer than two cases, or all have the same figure.
    """

    value: float | None = Field(description="the mean over cases; null without cases")
    ci_low: float | None = None
    ci_high: float | None = None
    method: Method | None = Field(None, description="how the interval was found; null without one")
    cases: int = Field(description="how many cases it is the mean of")
    trials: int | None = Field(None, description="trials of all these cases together, where they are known")
    sources: int = Field(1, description="how many sources the cases are from")

    def document(self) -> Document:
        """Return it as JSON."""
        interval = None if self.ci_low is None else [self.ci_low, self.ci_high]
        return {"value": self.value, "interval": interval, "cases": self.cases, "dialogues": self.trials}


class Contrast(CaseMean):
    """The mean over cases of a difference, or of another figure that is compared with 0."""

    by_case: dict[str, float] = Field({}, description="the difference in each case")
    source_of_case: dict[str, str] = Field({}, description="where each case is from")
    above: int = Field(description="cases in which it is above 0")
    p: float | None = Field(None, description="chance of a mean so far from 0 where the true one is 0, two-sided")
    standard_error: float | None = Field(None, description="of the mean, as the interval and p have it")
    freedom: float | None = Field(None, description="degrees of freedom of Student's t")
    effect_size: float | None = Field(
        None, description="Hedges' g_z: mean over standard deviation of the cases' differences, for few cases corrected"
    )
    between: float | None = Field(None, description="variance between cases, that of the trials taken off")
    within: float | None = Field(None, description="variance that a single trial would contribute in a case")

    def document(self) -> Document:
        """Return it as JSON."""
        return super().document() | {"effect_size": self.effect_size, "above": self.above, "p": self.p}

    def p_above(self, limit: float = 0.0) -> float | None:
        """Return the chance of so large a mean if the true one is at most a limit; `None` if it can't be told."""
        if self.value is None or self.p is None:
            return None
        if limit == 0.0:
            return self.p / 2 if self.value > 0 else 1 - self.p / 2
        return None if self._error is None else self._error.p_above(self.value - limit)

    def p_below(self, limit: float = 0.0) -> float | None:
        """Return the chance of so small a mean if the true one is at least a limit; `None` if it can't be told."""
        above = self.p_above(limit)
        return None if above is None else 1 - above

    def upper_bound(self, confidence: float = CONFIDENCE) -> float | None:
        """Return the upper bound of the mean, with that confidence; `None` if it can't be told."""
        if self.value is None or self._error is None:
            return None
        return self.value + self._error.half_width(2 * confidence - 1)

    @property
    def _error(self) -> MeanError | None:
        if self.standard_error is None or self.freedom is None:
            return None
        return MeanError(self.standard_error, self.freedom, self.method == "cluster_robust")


class Needed(Record):
    """How much more would decide whether a difference is above or below 0, if it stayed as it is.

    A sample of that size decides in about half of the repetitions: the difference itself will be another one.
    """

    trials: int | None = Field(description="trials of each of these cases; null: no number of them would, or not known")
    trials_known: bool = Field(
        True,
        description="whether trials can be reckoned: not of single ones, nor where cases may differ by chance only",
    )
    cases: int | None = Field(description=f"cases, with as many trials each as now; null: more than {MOST}")


# --- samples --------------------------------------------------------------------------------------------------------


def jackknifed(trials: Mapping[int, T], figure: Callable[[Sequence[T]], float | None]) -> CaseFigure | None:
    """Return a figure of a case, and the same without each trial; `None` if there is no figure.

    A trial is a dialogue, or its vector; `figure` returns `None` if there is nothing to measure.
    """
    value = figure([*trials.values()])
    if value is None or not isfinite(value):
        return None
    rest = {
        withheld: figure([item for trial, item in trials.items() if trial != withheld])
        for withheld in (trials if len(trials) > 1 else ())
    }
    without = {trial: found for trial, found in rest.items() if found is not None and isfinite(found)}
    return CaseFigure(value, len(trials), without)


def sample_of(
    cases: Mapping[str, Mapping[int, T]], figure: Callable[[Sequence[T]], float | None]
) -> dict[str, CaseFigure]:
    """Return a figure of every case that has it, and the same without each trial."""
    found = {case: jackknifed(trials, figure) for case, trials in cases.items()}
    return {case: case_figure for case, case_figure in found.items() if case_figure is not None}


def common_trials(settings: Mapping[str, Mapping[str, Mapping[int, T]]]) -> dict[str, dict[str, dict[int, T]]]:
    """Return only the cases and trials that every setting has, by setting, case and trial.

    Dist-N of nine trials is higher than dist-N of ten, so a trial that failed in one setting must be left out of all
    that it is compared with.
    """
    cases = [case for case in next(iter(settings.values()), {}) if all(case in found for found in settings.values())]
    kept = {case: set.intersection(*(set(found[case]) for found in settings.values())) for case in cases}
    return {
        setting: {
            case: {trial: item for trial, item in found[case].items() if trial in kept[case]}
            for case in cases
            if kept[case]
        }
        for setting, found in settings.items()
    }


# --- means and differences ------------------------------------------------------------------------------------------


def case_mean(sample: Sample, bounds: tuple[float, float] = (-inf, inf)) -> CaseMean:
    """Return the mean of a figure over cases, with its interval, which ends at the bounds of the figure."""
    by_case = {case: figure.value for case, figure in sample.items()}
    found = _contrast(by_case, [figure.source for figure in sample.values()], (), _trials([sample]))
    mean = CaseMean.model_validate(found.model_dump(include={*CaseMean.model_fields}))
    if mean.ci_low is None or mean.ci_high is None:
        return mean
    return mean.model_copy(update={"ci_low": max(mean.ci_low, bounds[0]), "ci_high": min(mean.ci_high, bounds[1])})


def paired_difference(higher: Sample, lower: Sample) -> Contrast:
    """Return how much higher a figure is in a setting than in another, over the cases that both have."""
    return contrast([(higher, 1.0), (lower, -1.0)])


def contrast(terms: Sequence[tuple[Sample, float]], constant: float = 0.0) -> Contrast:
    """Return a weighted sum of figures, plus a constant, over the cases that all of them have."""
    weights = [weight for _, weight in terms]
    return statistic(
        [sample for sample, _ in terms], lambda values: constant + float(np.dot(weights, np.asarray(values)))
    )


def statistic(samples: Sequence[Sample], compute: Callable[[Sequence[float]], float | None]) -> Contrast:
    """Return a figure computed from several figures of a case, as its mean over the cases that have all of them.

    `compute` takes a case's figures in the order of the samples, and returns `None` if it has no result.
    """
    shared = [case for case in (samples[0] if samples else {}) if all(case in sample for sample in samples)]
    found: dict[str, float] = {}
    noise: list[tuple[int, float]] = []
    for case in shared:
        value = compute([sample[case].value for sample in samples])
        if value is None or not isfinite(value):
            continue
        found[case] = value
        trials = [trial for trial in samples[0][case].without if all(trial in s[case].without for s in samples)]
        left = [compute([sample[case].without[trial] for sample in samples]) for trial in trials]
        if len(left) > 1 and None not in left:
            noise.append((len(left), _jackknife_variance([value for value in left if value is not None])))
    trials_of_all = _trials([{case: sample[case] for case in found} for sample in samples])
    return _contrast(found, [samples[0][case].source for case in found], noise, trials_of_all)


def contrast_of_cases(by_case: Mapping[str, float], sources: Mapping[str, str]) -> Contrast:
    """Return a figure that is compared with 0, given of each case, with the source of each (none: the same)."""
    return _contrast(dict(by_case), [sources.get(case, "") for case in by_case], (), None)


def _contrast(
    by_case: dict[str, float], sources: Sequence[str], noise: Sequence[tuple[int, float]], trials: int | None
) -> Contrast:
    values = [*by_case.values()]
    value, error = _mean(values), mean_error(values, sources)
    low, high = _bounds(value, error)
    spread = float(np.var(values, ddof=1)) if len(values) > 1 else None
    between = within = None
    if spread is not None and len(noise) == len(values):
        between = max(0.0, spread - sum(variance for _, variance in noise) / len(noise))
        within = sum(count * variance for count, variance in noise) / len(noise)
    return Contrast(
        value=value,
        ci_low=low,
        ci_high=high,
        method=_method(error),
        cases=len(values),
        trials=trials,
        sources=len(set(sources)) or 1,
        p=None if error is None or value is None else 2 * error.p_above(abs(value)),
        standard_error=None if error is None else error.standard_error,
        freedom=None if error is None else error.freedom,
        by_case=by_case,
        source_of_case=dict(zip(by_case, sources, strict=True)),
        above=sum(value > ROUNDING for value in values),
        effect_size=effect_size(values),
        between=between,
        within=within,
    )


def effect_size(differences: Sequence[float]) -> float | None:
    """Return Hedges' g_z of paired differences: their mean over their standard deviation, corrected for few of them.

    Returns:
        The effect size; `None` for fewer than three differences (of two it is 0), or if all are the same.
    """
    count = len(differences)
    spread = float(np.std(differences, ddof=1)) if count > 2 else 0.0
    if spread <= ROUNDING:
        return None
    return float(np.mean(differences)) / spread * (1 - 3 / (4 * (count - 1) - 1))


def _bounds(value: float | None, error: MeanError | None) -> tuple[float | None, float | None]:
    if value is None or error is None:
        return None, None
    half = error.half_width()
    return value - half, value + half


def _method(error: MeanError | None) -> Method | None:
    return None if error is None else "cluster_robust" if error.is_clustered else "student"


def trials_that_decide(found: Contrast, confidence: float = CONFIDENCE) -> Needed | None:
    """Return how many trials, or how many cases, would bring the interval off 0 if the difference stayed as it is.

    The interval is of that confidence: one of several orderings is decided by a wider one.

    The variance of the cases' differences is taken as that between cases plus, over the number of trials, that of a
    trial; the interval as Student's. More cases are of more sources, as many of each as now. A figure whose expectation
    depends on the number of trials (dist-N) will itself be another one with more of them, in both settings.

    That no number of trials would do is said only if cases differ by so much in at least 95 % of such samples.

    Returns:
        The numbers; `None` if the interval excludes 0 already, or there is nothing to reckon with: fewer than two
        cases, no difference at all, or a slope over time.
    """
    if found.value is None or found.cases < 2 or abs(found.value) <= ROUNDING or found.method == "theil_sen":
        return None
    if excludes_zero(found) if found.p is None else found.p <= 1 - confidence:
        return None
    if found.between is None or found.within is None or found.trials is None or found.sources > 1:
        of_a_case = found.cases * (found.standard_error or 0.0) ** 2 or float(np.var([*found.by_case.values()], ddof=1))
        return Needed(trials=None, trials_known=False, cases=_cases_needed(found, of_a_case, confidence))
    per_case = found.trials / found.cases
    allowed = (
        found.cases * (found.value / t_quantile(found.cases, confidence)) ** 2
    )  # variance of a case's difference, at most
    trials, is_known = None, True
    if allowed > found.between:
        trials = max(ceil(found.within / (allowed - found.between)), int(per_case) + 1)
    else:
        is_known = allowed <= _least_between(found, per_case)
    variance = found.between + found.within / per_case
    return Needed(
        trials=None if trials is None or trials > MOST else trials,
        trials_known=is_known,
        cases=_cases_needed(found, variance, confidence),
    )


def _least_between(found: Contrast, per_case: float) -> float:
    """Return the variance between cases below which it is in one sample of twenty (that of a variance, χ²)."""
    with importing(*SCIPY):
        from scipy.stats import chi2

    of_trials, freedom = (found.within or 0.0) / per_case, found.cases - 1
    return max(0.0, ((found.between or 0.0) + of_trials) * freedom / float(chi2.ppf(CONFIDENCE, freedom)) - of_trials)


def excludes_zero(found: CaseMean) -> bool:
    """Whether the interval lies wholly on one side of 0."""
    return found.ci_low is not None and found.ci_high is not None and (found.ci_low > 0 or found.ci_high < 0)


def _cases_needed(found: Contrast, variance: float, confidence: float) -> int | None:
    """Return the smallest number of more cases whose interval would exclude 0, of that variance of a case."""
    difference, of_each = abs(found.value or 0.0), found.cases / found.sources if found.sources > 1 else 1.0

    def is_enough(cases: int) -> bool:
        return difference > t_quantile(cases / of_each, confidence) * sqrt(variance / cases)

    low, high = found.cases + 1, MOST
    if low > MOST or not is_enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def t_quantile(count: float, confidence: float = CONFIDENCE) -> float:
    """Return the half width of Student's interval of a mean of so many values, in standard errors."""
    return student_quantile(count - 1, (1 + confidence) / 2)


def _jackknife_variance(left: Sequence[float]) -> float:
    return (len(left) - 1) * float(np.var(left))


def _trials(samples: Sequence[Sample]) -> int | None:
    """Return the trials of all cases together, of each in the sample with the fewest; `None` if not known."""
    counts = [[sample[case].trials for sample in samples] for case in (samples[0] if samples else {})]
    known = [[count for count in of_case if count is not None] for of_case in counts]
    return sum(map(min, known)) if known and all(map(len, known)) else None


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
