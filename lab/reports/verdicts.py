"""Whether what a paper says about the order of its figures is reproduced by an experiment: at 95 %, or undecided.

An ordering says that a sum of figures is above 0 (a difference of two settings, as a rule). It is reproduced if the
interval of that sum lies wholly above 0, not reproduced if wholly below, and undecided if it holds 0: then it is said
how many trials or cases would decide it. Of an ordering with several parts, such as the highest of six settings, every
part must be above 0, each at 95 %; it is not reproduced if one is below at 95 % over all parts (Bonferroni), as with
many parts some would be below by chance.

Many orderings are tested at once, each by itself: one in forty that are in truth no difference is reproduced by chance.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from tertulia.lab.reports.papers import Efficient, EverySum, Ordering, OverTime, Rising, Term, WeightedSum
from tertulia.metrics.curves import efficiency, trend, trend_over_time
from tertulia.metrics.statistics import (
    CONFIDENCE,
    Contrast,
    Needed,
    Sample,
    contrast,
    excludes_zero,
    interval,
    trials_that_decide,
)
from tertulia.state.records import Record
from tertulia.state.text import counted

Outcome = Literal["reproduced", "not reproduced", "undecided", "missing"]

#: What was measured: by setting and metric, the figures of the cases.
Figures = Mapping[str, Mapping[str, Sample]]


class Verdict(Record):
    """Whether an ordering is reproduced."""

    ordering: Ordering
    outcome: Outcome
    found: Contrast | None = None  # the sum that is said to be above 0; of several, the lowest
    needed: Needed | None = None  # what would decide, where it is undecided and can be reckoned
    note: str = ""  # what is missing, or what else must be known


def verdicts(
    orderings: Iterable[Ordering], figures: Figures, times: Mapping[str, float] | None = None
) -> tuple[Verdict, ...]:
    """Return the verdict on each ordering; see `verdict`."""
    return tuple(verdict(ordering, figures, times) for ordering in orderings)


def verdict(ordering: Ordering, figures: Figures, times: Mapping[str, float] | None = None) -> Verdict:
    """Return whether an ordering is reproduced by the figures of the cases, by setting and metric.

    Settings without runs may be missing. The times of cases, in hours, are for claims on simulated time.
    """
    if absent := _absent(ordering, figures):
        return Verdict(ordering=ordering, outcome="missing", note=f"not measured: {', '.join(absent)}")
    if isinstance(ordering.claim, OverTime) and not times:
        return Verdict(ordering=ordering, outcome="missing", note="the times of the cases are not known")
    if isinstance(ordering.claim, EverySum):
        return _of_every_sum(ordering, [_sum(part, figures) for part in ordering.claim.sums])
    found, note = _found(ordering.claim, figures, times or {})
    return _verdict(ordering, found, note)


def tally(found: Iterable[Verdict]) -> dict[Outcome, int]:
    """Return how many orderings have which outcome."""
    counts = Counter(verdict.outcome for verdict in found)
    outcomes: tuple[Outcome, ...] = ("reproduced", "not reproduced", "undecided", "missing")
    return {outcome: counts[outcome] for outcome in outcomes}


def _found(
    claim: WeightedSum | Rising | Efficient | OverTime, figures: Figures, times: Mapping[str, float]
) -> tuple[Contrast, str]:
    """Return what a claim says is above 0, and a note on it."""
    if isinstance(claim, WeightedSum):
        return _sum(claim, figures), ""
    if isinstance(claim, Rising):
        curve = trend([(position, figures[setting][claim.metric]) for position, setting in claim.curve.points])
        rho = "" if curve.rho.value is None else f"rank correlation {curve.rho.value:.2f}, mean of {curve.rho.cases}"
        return _signed(curve.slope, claim.falls), rho
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
    """Return what was found with its sign turned where a fall is what was said."""
    if not falls:
        return found
    return found.model_copy(
        update={
            "value": None if found.value is None else -found.value,
            "ci_low": None if found.ci_high is None else -found.ci_high,
            "ci_high": None if found.ci_low is None else -found.ci_low,
            "by_case": {case: -value for case, value in found.by_case.items()},
            "above": sum(value < 0 for value in found.by_case.values()),
            "effect_size": None if found.effect_size is None else -found.effect_size,
        }
    )


def _verdict(ordering: Ordering, found: Contrast, note: str = "") -> Verdict:
    if found.value is None:
        return Verdict(ordering=ordering, outcome="missing", found=found, note="no case has all of these figures")
    if found.ci_low is None or found.ci_high is None:
        why = f"no interval: {counted(found.cases, 'case')}" + ("" if found.cases < 2 else ", all the same or too few")
        return Verdict(ordering=ordering, outcome="undecided", found=found, note=why)
    outcome: Outcome = "undecided"
    if excludes_zero(found):
        outcome = "reproduced" if found.ci_low > 0 else "not reproduced"
    needed = trials_that_decide(found) if outcome == "undecided" else None
    return Verdict(ordering=ordering, outcome=outcome, found=found, needed=needed, note=note)


def _of_every_sum(ordering: Ordering, parts: Sequence[Contrast]) -> Verdict:
    single = [_verdict(ordering, part) for part in parts]
    lowest = min(single, key=lambda part: float("inf") if part.found is None else part.found.value or 0.0)
    if any(part.outcome == "missing" for part in single):
        return next(part for part in single if part.outcome == "missing")
    if all(part.outcome == "reproduced" for part in single):
        return lowest
    if any(_is_below(part, 1 - (1 - CONFIDENCE) / len(parts)) for part in parts):
        return lowest.model_copy(update={"outcome": "not reproduced", "needed": None})
    open_parts = [part.needed for part in single if part.outcome == "undecided"]
    count = sum(part.outcome == "reproduced" for part in single)
    return lowest.model_copy(
        update={
            "outcome": "undecided",
            "needed": _most(open_parts),
            "note": f"{count} of {len(parts)} parts are above 0; the lowest is shown",
        }
    )


def _is_below(part: Contrast, confidence: float) -> bool:
    _, high, _ = interval([*part.by_case.values()], confidence)
    return high is not None and high < 0


def _most(needed: Sequence[Needed | None]) -> Needed | None:
    """Return what decides all parts that are open; `None` where one of them can't be reckoned."""
    known = [part for part in needed if part is not None]
    if not known or len(known) < len(needed):
        return None
    trials, cases = [part.trials for part in known], [part.cases for part in known]
    return Needed(
        trials=None if None in trials else max(count for count in trials if count is not None),
        trials_known=all(part.trials_known for part in known),
        cases=None if None in cases else max(count for count in cases if count is not None),
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
