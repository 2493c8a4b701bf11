"""Verdicts on published orderings: what is reproduced, what is not, and what nobody can say yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.on_use import on_use

from tertulia.lab.reports.papers import (
    Claim,
    Curve,
    EverySum,
    Ordering,
    OverTime,
    Rising,
    Term,
    WeightedSum,
    report_of,
)
from tertulia.lab.reports.verdicts import tally, verdict, verdicts
from tertulia.metrics.statistics import CaseFigure, Sample

stats = on_use("scipy.stats")


def sample(values: Sequence[float], noise: float = 0.0) -> Sample:
    """Return figures of four trials each; `noise` is the spread of a trial."""
    spread = [-1.5, -0.5, 0.5, 1.5]
    return {
        f"case {case}": CaseFigure(value, 4, {trial: value - noise * spread[trial] for trial in range(4)})
        for case, value in enumerate(values)
    }


def figures(**settings: Sequence[float]) -> dict[str, dict[str, Sample]]:
    return {setting: {"dist3": sample(values, noise=0.01)} for setting, values in settings.items()}


def difference(higher: str, lower: str) -> WeightedSum:
    return WeightedSum(terms=(Term(setting=higher, metric="dist3"), Term(setting=lower, metric="dist3", weight=-1.0)))


def ordering(claim: Claim) -> Ordering:
    return Ordering(id="id", text="text", source="APP", claim=claim)


FULL = [0.50, 0.55, 0.61, 0.48, 0.52, 0.58, 0.53, 0.60]
UP = [0.08, 0.11, 0.09, 0.12, 0.10, 0.07, 0.13, 0.10]
MIXED = [0.10, -0.11, 0.09, -0.08, 0.12, -0.06, 0.05, 0.01]


def shifted(by: Sequence[float]) -> list[float]:
    return [value + change for value, change in zip(FULL, by, strict=True)]


def test_an_interval_wholly_on_a_side_decides() -> None:
    measured = figures(Full=FULL, RMm=shifted(UP))
    up = verdict(ordering(difference("RMm", "Full")), measured)
    assert up.outcome == "reproduced"
    assert up.found is not None
    assert (up.found.cases, up.found.trials, up.found.above) == (8, 32, 8)
    assert up.needed is None
    assert verdict(ordering(difference("Full", "RMm")), measured).outcome == "not reproduced"


def test_an_interval_that_holds_0_is_undecided_and_says_what_would_decide() -> None:
    found = verdict(ordering(difference("RMm", "Full")), figures(Full=FULL, RMm=shifted(MIXED)))
    assert found.outcome == "undecided"
    assert found.needed is not None
    assert found.needed.trials is None  # the cases differ by more than their trials do
    assert found.needed.cases is not None
    assert found.needed.cases > 8


def test_what_was_not_run_or_measured_is_missing() -> None:
    measured = figures(Full=FULL) | {"RMp": {"dist3": {}}}
    found = verdicts([ordering(difference("RMm", "Full")), ordering(difference("RMp", "Full"))], measured)
    assert [(item.outcome, item.note) for item in found] == [
        ("missing", "not measured: RMm"),
        ("missing", "not measured: RMp"),
    ]
    no_sim = WeightedSum(terms=(Term(setting="Full", metric="sim"),))
    assert verdict(ordering(no_sim), measured).note == "not measured: sim of Full"
    apart = {"Full": {"dist3": {"a": CaseFigure(0.5)}}, "RMm": {"dist3": {"b": CaseFigure(0.6)}}}
    assert verdict(ordering(difference("RMm", "Full")), apart).outcome == "missing"


def test_of_several_parts_each_must_hold() -> None:
    def highest(*rivals: str) -> Ordering:
        return ordering(EverySum(sums=tuple(difference("top", rival) for rival in rivals)))

    measured = figures(top=shifted(UP), a=FULL, b=FULL, near=shifted(UP[::-1]), above=shifted([0.3] * 7 + [0.31]))
    assert verdict(highest("a", "b"), measured).outcome == "reproduced"
    open_ = verdict(highest("a", "near"), measured)
    # Above the nearest rival by nothing that anybody would care for (0.05).
    assert (open_.outcome, open_.note) == ("bounded", "1 of 2 parts are above 0 by themselves; the lowest is shown")
    below = verdict(highest("a", "above"), measured)
    assert below.outcome == "not reproduced"
    assert below.found is not None
    assert below.found.value is not None
    assert below.found.value < 0
    assert verdict(highest("a", "not run"), measured).outcome == "missing"


def test_curves_rise_or_fall() -> None:
    measured = figures(a=FULL, b=shifted(UP), c=shifted([2 * step for step in UP]))
    curve = Curve(points=((0.0, "a"), (0.5, "b"), (1.0, "c")))
    rising = verdict(ordering(Rising(metric="dist3", curve=curve)), measured)
    assert (rising.outcome, rising.note) == ("reproduced", "rank correlation 1.00, mean of 8")
    falling = verdict(ordering(Rising(metric="dist3", curve=curve, falls=True)), measured)
    assert falling.outcome == "not reproduced"
    assert rising.found is not None
    assert falling.found is not None
    assert falling.found.value == -(rising.found.value or 0.0)
    assert falling.found.above == 0


def test_a_fall_over_time_needs_the_times() -> None:
    fading = ordering(OverTime(terms=(Term(setting="Full", metric="dist3"),), falls=True))
    measured = figures(Full=[0.9, 0.8, 0.82, 0.7, 0.6, 0.61, 0.5, 0.4])
    assert verdict(fading, measured).note == "the times of the cases are not known"
    times = {f"case {case}": 2.0 * case for case in range(8)}
    found = verdict(fading, measured, times)
    assert found.outcome == "reproduced"
    assert found.found is not None
    assert found.found.value is not None
    assert 0.02 < found.found.value < 0.05
    few = {case: hours for case, hours in times.items() if hours < 8}
    assert verdict(fading, measured, few).outcome == "undecided"


def test_a_model_like_the_papers_reproduces_its_table() -> None:
    report = report_of("table2")
    rng = np.random.default_rng(9)
    cases = rng.normal(0, 0.05, size=20)
    measured = {
        setting: {
            metric: sample([value + case + noise for case, noise in zip(cases, rng.normal(0, 1e-4, 20), strict=True)])
            for metric, value in published.items()
        }
        for setting, published in report.published.items()
    }
    counts = tally(verdicts(report.orderings, measured))
    assert {outcome: count for outcome, count in counts.items() if count} == {"reproduced": len(report.orderings)}


# --- families, bounds, ceilings and controls -------------------------------------------------------------------------


def test_the_primary_outcome_is_a_family_of_its_own() -> None:
    rng = np.random.default_rng(3)
    noise = {f"n{number}": sample(rng.normal(0.5, 0.05, size=8)) for number in range(20)}
    measured: dict[str, dict[str, Sample]] = {
        "Full": {"sim": sample(FULL), "dist3": sample(FULL)},
        "RMm": {"sim": sample(shifted([0.04, 0.01, 0.05, 0.02, 0.06, -0.01, 0.04, 0.02])), "dist3": sample(FULL)},
    } | {name: {"dist3": found} for name, found in noise.items()}
    claims = [ordering(difference(name, "Full")) for name in noise]
    sim = WeightedSum(terms=(Term(setting="RMm", metric="sim"), Term(setting="Full", metric="sim", weight=-1.0)))
    together, apart = (verdicts([ordering(sim), *claims], measured, primary=primary)[0] for primary in ((), ("sim",)))
    assert (together.outcome == "reproduced", together.is_primary) == (False, False)
    assert (apart.outcome, apart.is_primary) == ("reproduced", True)
    assert apart.p_adjusted == apart.p == together.p


def test_an_effect_that_is_shown_to_be_smaller_than_published_is_bounded() -> None:
    claim = ordering(difference("RMm", "Full")).model_copy(update={"published": 0.1})
    by = [0.02, -0.02, 0.01, -0.01, 0.03, -0.03, 0.01, 0.0]
    found = verdict(claim, figures(Full=FULL, RMm=shifted(by)))
    assert found.outcome == "bounded"
    assert found.bound is not None
    assert 0 < found.bound < 0.1
    assert found.bound == pytest.approx(np.mean(by) + stats.t.ppf(0.95, 7) * np.std(by, ddof=1) / 8**0.5)
    wide = verdict(claim, figures(Full=FULL, RMm=shifted([12 * each for each in by])))
    assert wide.outcome == "undecided"


def test_a_figure_at_its_ceiling_bounds_nothing() -> None:
    claim = ordering(difference("RMm", "Full")).model_copy(update={"published": 0.1})
    near = [0.96, 0.97, 0.95, 0.96, 0.98, 0.97, 0.96, 0.95]
    by = [0.002, -0.002, 0.001, -0.001, 0.003, -0.003, 0.001, 0.0]
    found = verdict(claim, figures(Full=near, RMm=[value + change for value, change in zip(near, by, strict=True)]))
    assert found.outcome == "undecided"
    assert found.note.startswith("no room: dist-3 of Full is 0.963 and can be 1 at most, so that 0.1 more")
    risen = verdict(claim, figures(Full=near, RMm=[value + change / 5 for value, change in zip(near, UP, strict=True)]))
    assert (risen.outcome, risen.note) == ("reproduced", "")


def test_what_a_stand_in_shows_as_well_is_not_reproduced_by_a_model() -> None:
    claim, model = ordering(difference("RMm", "Full")), figures(Full=FULL, RMm=shifted(UP))
    blind = figures(Full=FULL, RMm=shifted(MIXED))
    assert verdict(claim, model, control=blind).outcome == "reproduced"
    alike = figures(Full=FULL, RMm=shifted(UP[::-1]))
    found = verdict(claim, model, control=alike)
    assert found.outcome == "no more than the control"
    assert found.control is not None
    assert found.control.value == pytest.approx(np.mean(UP))
    weaker = figures(Full=FULL, RMm=shifted([each / 3 for each in UP]))
    assert verdict(claim, model, control=weaker).outcome == "reproduced"
    assert verdict(claim, model, control=model).outcome == "no more than the control"  # the stand-in's own report
    other_side = figures(Full=FULL, RMm=shifted([-each for each in UP]))
    assert verdict(claim, model, control=other_side).outcome == "reproduced"
