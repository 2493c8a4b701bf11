"""Whether an experiment bears out a paper's order of its figures: tested, bounded, or open.

An ordering says that a sum of figures is above 0 (a difference of two settings, as a rule). Each is tested by Student's
t over cases, or over their sources (`metrics.inference`); of an ordering with several parts, such as the highest of six
settings, every part must be above 0. The orderings of a report on its primary outcome are one family, the others
another; within a family p-values are adjusted (Holm), so that a family has a wrong verdict in one repetition of twenty.

* *reproduced*, *not reproduced*: the sum is above 0, or below.
* *bounded*: neither, and smaller than the published effect, or than the least that anybody would care for if that is
  more.
* *no more than the control*: above 0, but a stand-in without weights, in the same conversations, has it too, and not
  less. An effect of a measure's arithmetic, or of copying words of a prompt, says nothing of a model.
* *must hold*: it can't fail, whatever a model does, and is not counted among the tests.
* *undecided*: the rest; then it is said how many trials or cases would do.

Nothing is drawn here, so that no verdict hangs on a seed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from tertulia.lab.reports.ordering_tests import ALPHA, Figures, OrderingTest, metrics_of, tested
from tertulia.lab.reports.papers import Ordering
from tertulia.metrics.inference import holm
from tertulia.metrics.statistics import Contrast, Needed, contrast_of_cases, trials_that_decide
from tertulia.state.records import Record

Outcome = Literal[
    "reproduced", "not reproduced", "bounded", "no more than the control", "must hold", "undecided", "missing"
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Verdict(Record):
    """Whether an ordering is borne out."""

    ordering: Ordering
    outcome: Outcome
    found: Contrast | None = None  # the sum that is said to be above 0; of several, the lowest
    p: float | None = None  # two-sided, of this ordering by itself
    p_adjusted: float | None = None  # among those of its family
    is_primary: bool = False
    bound: float | None = None  # it is no larger than this, at 95 %
    control: Contrast | None = None  # of the stand-in without weights
    needed: Needed | None = None  # to decide, if it is undecided and that can be reckoned
    note: str = ""  # the missing part, or a caution


def verdicts(
    orderings: Iterable[Ordering],
    figures: Figures,
    times: Mapping[str, float] | None = None,
    control: Figures | None = None,
    primary: Sequence[str] = (),
) -> tuple[Verdict, ...]:
    """Return the verdict on each ordering by the figures of the cases, by setting and metric.

    Settings without runs may be missing.

    Args:
        times: Of cases, in hours, for claims on simulated time.
        control: The figures of a stand-in without weights in the same conversations; `None` if there were none.
        primary: The metrics of the primary outcome.
    """
    given = [*orderings]
    tests = [tested(ordering, figures, times or {}) for ordering in given]
    controls = [None if control is None else tested(ordering, control, times or {}) for ordering in given]
    is_primary = [metrics_of(ordering) <= {*primary} for ordering in given]
    can_fail = [test if not ordering.must_hold else OrderingTest() for ordering, test in zip(given, tests, strict=True)]
    adjusted = adjusted_in_families([test.p for test in can_fail], is_primary)
    within = adjusted_in_families([test.p_within for test in can_fail], is_primary)
    return tuple(
        _verdict(*each).model_copy(update={"is_primary": first})
        for *each, first in zip(given, tests, controls, adjusted, within, is_primary, strict=True)
    )


def verdict(
    ordering: Ordering, figures: Figures, times: Mapping[str, float] | None = None, control: Figures | None = None
) -> Verdict:
    """Return the verdict on an ordering by itself; see `verdicts`."""
    return verdicts([ordering], figures, times, control)[0]


def tally(found: Iterable[Verdict]) -> dict[Outcome, int]:
    """Return how many orderings have which outcome."""
    counts = Counter(verdict.outcome for verdict in found)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def adjusted_in_families(p_values: Sequence[float | None], is_primary: Sequence[bool]) -> list[float | None]:
    """Return p-values adjusted within the primary tests, and within the others (Holm)."""
    families = [
        iter(holm([p for p, first in zip(p_values, is_primary, strict=True) if first is family]))
        for family in (False, True)
    ]
    return [next(families[first]) for first in is_primary]


def _verdict(
    ordering: Ordering, test: OrderingTest, control: OrderingTest | None, adjusted: float | None, within: float | None
) -> Verdict:
    shown = test.shown
    if test.missing:
        return Verdict(ordering=ordering, outcome="missing", found=shown, note=test.missing)
    if ordering.must_hold:
        return Verdict(ordering=ordering, outcome="must hold", found=shown, note=ordering.must_hold)
    notes = [*test.notes]
    outcome: Outcome = "undecided"
    if adjusted is not None and adjusted <= ALPHA:
        outcome = "reproduced" if test.is_above else "not reproduced"
        if outcome == "reproduced" and control is not None and _passes(control):
            outcome = "reproduced" if _exceeds(test, control) else "no more than the control"
    elif within is not None and within <= ALPHA:
        outcome = "bounded"
    if outcome == "undecided" and test.ceiling:
        notes.append(test.ceiling)
    if outcome == "undecided" and test.p is not None and adjusted is not None and test.p <= ALPHA:
        notes.append(f"p = {test.p:.2g} by itself, {adjusted:.2g} in its family")
    is_open = outcome in ("bounded", "undecided") and len(test.parts) == 1
    return Verdict(
        ordering=ordering,
        outcome=outcome,
        found=shown,
        p=test.p,
        p_adjusted=adjusted,
        bound=shown.upper_bound() if is_open and shown else None,
        control=None if control is None else control.shown,
        needed=_needed(test, adjusted) if outcome == "undecided" else None,
        note="; ".join(notes),
    )


def _passes(control: OrderingTest) -> bool:
    """Whether a control shows an ordering: by itself, as a family would spare it."""
    return control.is_above and control.p is not None and control.p <= ALPHA


def _exceeds(test: OrderingTest, control: OrderingTest) -> bool:
    """Whether every sum is above the control's, case by case."""
    excess = []
    for here, there in zip(test.parts, control.parts, strict=True):
        if here.method == "theil_sen":
            return False
        shared = {case: value - there.by_case[case] for case, value in here.by_case.items() if case in there.by_case}
        excess.append(contrast_of_cases(shared, here.source_of_case))
    chances = [part.p_above() for part in excess]
    return all(p is not None and p <= ALPHA / 2 for p in chances)


def _needed(test: OrderingTest, adjusted: float | None) -> Needed | None:
    """Return the numbers that would decide an open ordering, at the level that it has in its family."""
    level = ALPHA if not test.p or not adjusted else ALPHA * test.p / adjusted
    return _most([trials_that_decide(part, 1 - level) for part in test.parts if part.p is None or part.p > level])


def _most(needed: Sequence[Needed | None]) -> Needed | None:
    """Return the numbers that decide all open parts; `None` if one of them can't be reckoned."""
    known = [part for part in needed if part is not None]
    if not known or len(known) < len(needed):
        return None
    trials, cases = [part.trials for part in known], [part.cases for part in known]
    return Needed(
        trials=None if None in trials else max(count for count in trials if count is not None),
        trials_known=all(part.trials_known for part in known),
        cases=None if None in cases else max(count for count in cases if count is not None),
    )
