"""The test of a published ordering by itself: its sums, and the chance of them if there were nothing.

An ordering says that a sum of figures is above 0, or each of several. Of one with several parts the chance is that of
the part that is least sure (intersection–union), and against it that of any (Bonferroni).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tertulia.lab.reports.papers import Efficient, EverySum, Ordering, OverTime, Rising, Term, WeightedSum, metric_named
from tertulia.metrics.curves import efficiency, trend, trend_over_time
from tertulia.metrics.inference import CONFIDENCE
from tertulia.metrics.statistics import Contrast, Sample, contrast
from tertulia.state.text import counted

#: The chance of a wrong verdict in a family of orderings.
ALPHA = 1 - CONFIDENCE

#: The measurements: by setting and metric, the figures of the cases.
Figures = Mapping[str, Mapping[str, Sample]]


@dataclass(frozen=True)
class OrderingTest:
    """The test of an ordering by itself.

    Attributes:
        shown: The sum that is said to be above 0; of several, the lowest.
        parts: The sums that must all be above 0.
        p_above, p_below: The chance of the sums if there is no sum above 0, or none below.
        missing: Why nothing is found.
        ceiling: Why an effect that counts could not show; empty if it could.
        p_within: The chance of the finding if the sum is as large as its limit (`limit_of`).
    """

    shown: Contrast | None = None
    parts: Sequence[Contrast] = ()
    p_above: float | None = None
    p_below: float | None = None
    p_within: float | None = None
    missing: str = ""
    ceiling: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def p(self) -> float | None:
        """The chance of the finding, on either side, if there were nothing."""
        if self.p_above is None or self.p_below is None:
            return None
        return min(1.0, 2 * min(self.p_above, self.p_below))

    @property
    def is_above(self) -> bool:
        """Whether the finding is on the side that the ordering says."""
        return self.p_above is not None and self.p_below is not None and self.p_above < self.p_below


def tested(ordering: Ordering, figures: Figures, times: Mapping[str, float]) -> OrderingTest:
    """Return the test of an ordering, before anything is known of the others."""
    if absent := _absent(ordering, figures):
        return OrderingTest(missing=f"not measured: {', '.join(absent)}")
    if isinstance(ordering.claim, OverTime) and not times:
        return OrderingTest(missing="the times of the cases are not known")
    if isinstance(ordering.claim, EverySum):
        parts, note = [_sum(part, figures) for part in ordering.claim.sums], ""
    else:
        found, note = _found(ordering.claim, figures, times)
        parts = [found]
    if any(part.value is None for part in parts):
        none = next(part for part in parts if part.value is None)
        return OrderingTest(none, parts, missing="no case has all of these figures")
    notes = [note] if note else []
    open_parts = [part for part in parts if part.p_above() is None]
    lowest = min(parts, key=lambda part: part.value or 0.0)
    if open_parts:
        cases = open_parts[0].cases
        all_same = "" if cases < 2 else ", all the same or too few"
        return OrderingTest(lowest, parts, notes=[*notes, f"no interval: {counted(cases, 'case')}{all_same}"])
    above, below = [part.p_above() or 0.0 for part in parts], [part.p_below() or 0.0 for part in parts]
    if len(parts) > 1:
        count = sum(p <= ALPHA / 2 for p in above)
        notes.append(f"{count} of {len(parts)} parts are above 0 by themselves; the lowest is shown")
    ceiling = _ceiling(ordering, figures)
    within = None if ceiling else _p_within(ordering, parts)
    below_any = min(1.0, len(parts) * min(below))
    return OrderingTest(lowest, parts, max(above), below_any, within, ceiling=ceiling, notes=notes)


def _p_within(ordering: Ordering, parts: Sequence[Contrast]) -> float | None:
    """Return the chance of the finding if every sum reaches the limit; `None` if there is none."""
    limit = limit_of(ordering)
    chances = [None if limit is None else part.p_below(limit) for part in parts]
    known = [p for p in chances if p is not None]
    return min(1.0, len(parts) * min(known)) if len(known) == len(parts) else None


def limit_of(ordering: Ordering) -> float | None:
    """Return the bound of an effect: the published size, or the least that anybody would care for if larger.

    `None` for claims on time, and on several metrics at once, which have no common unit.
    """
    metrics = {metric for _, metric in _needs(ordering)}
    if isinstance(ordering.claim, Efficient):
        metrics = {ordering.claim.metric}
    if isinstance(ordering.claim, OverTime) or len(metrics) > 1:
        return None
    least = metric_named(metrics.pop()).least
    sizes = [size for size in (ordering.published, least) if size is not None]
    return max(sizes, default=None)


def _ceiling(ordering: Ordering, figures: Figures) -> str:
    """Say that a metric has no room for an effect that would count; empty if it has, or that can't be told."""
    claim, limit = ordering.claim, limit_of(ordering)
    if not isinstance(claim, WeightedSum) or limit is None or claim.constant:
        return ""
    if sorted(term.weight for term in claim.terms) != [-1.0, 1.0]:
        return ""
    lower = next(term for term in claim.terms if term.weight < 0)
    values = [figure.value for figure in figures[lower.setting][lower.metric].values()]
    level, most = sum(values) / len(values), metric_named(lower.metric).bounds[1]
    if level + limit <= most:
        return ""
    return (
        f"no room: {metric_named(lower.metric).title} of {lower.setting} is {level:.3f} and can be {most:g} at most, "
        f"so that {limit:g} more could not show"
    )


def metrics_of(ordering: Ordering) -> set[str]:
    """Return the metrics that an ordering is about."""
    return {metric for _, metric in _needs(ordering)}


def _found(
    claim: WeightedSum | Rising | Efficient | OverTime, figures: Figures, times: Mapping[str, float]
) -> tuple[Contrast, str]:
    """Return the sum that a claim says is above 0, and a note on it."""
    if isinstance(claim, WeightedSum):
        return _sum(claim, figures), ""
    if isinstance(claim, Rising):
        slope, rho = trend([(position, figures[setting][claim.metric]) for position, setting in claim.curve.points])
        note = "" if rho.value is None else f"rank correlation {rho.value:.2f}, mean of {rho.cases}"
        return _signed(slope, claim.falls), note
    if isinstance(claim, Efficient):
        curves = [
            [(figures[setting][claim.position], figures[setting][claim.metric]) for setting in settings]
            for settings in (claim.better, claim.worse)
        ]
        return efficiency(*curves), ""
    over_cases = contrast([(figures[term.setting][term.metric], term.weight) for term in claim.terms])
    return _signed(trend_over_time(times, over_cases.by_case), claim.falls), "slope per hour, each case one point"


def _sum(claim: WeightedSum, figures: Figures) -> Contrast:
    return contrast([(figures[term.setting][term.metric], term.weight) for term in claim.terms], claim.constant)


def _signed(found: Contrast, falls: bool) -> Contrast:
    """Return the finding, with its sign turned if the ordering says a fall."""
    if not falls:
        return found
    return found.model_copy(
        update={
            "value": None if found.value is None else -found.value,
            "ci_low": None if found.ci_high is None else -found.ci_high,
            "ci_high": None if found.ci_low is None else -found.ci_low,
            "by_case": {case: -value for case, value in found.by_case.items()},
            "above": sum(value < 0 for value in found.by_case.values()),
            # p is two-sided, and the standard error has no sign
            "effect_size": None if found.effect_size is None else -found.effect_size,
        }
    )


def _absent(ordering: Ordering, figures: Figures) -> list[str]:
    """Return which settings, or metrics of a setting, an ordering needs and were not measured."""
    absent: dict[str, None] = {}
    for setting, metric in _needs(ordering):
        if setting not in figures or not any(figures[setting].values()):
            absent[setting] = None
        elif not figures[setting].get(metric):
            absent[f"{metric} of {setting}"] = None
    return [*absent]


def _needs(ordering: Ordering) -> list[tuple[str, str]]:
    claim = ordering.claim
    if isinstance(claim, Rising):
        return [(setting, claim.metric) for _, setting in claim.curve.points]
    if isinstance(claim, Efficient):
        metrics = (claim.position, claim.metric)
        return [(setting, metric) for setting in (*claim.better, *claim.worse) for metric in metrics]
    terms: list[Term] = []
    for part in claim.sums if isinstance(claim, EverySum) else [claim]:
        terms += part.terms
    return [(term.setting, term.metric) for term in terms]
