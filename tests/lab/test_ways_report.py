"""`lab report ways`: what it compares, points beside curves, its plot; a stand-in without weights passes none of it."""

from collections.abc import Sequence

import numpy as np

from tertulia.lab.reports.papers import Efficient, Ordering, report_of
from tertulia.lab.reports.verdicts import tally, verdicts
from tertulia.metrics.statistics import CaseFigure, Sample


def sample(values: Sequence[float]) -> Sample:
    return {f"case {case}": CaseFigure(value, 2, {0: value, 1: value}) for case, value in enumerate(values)}


def invented(report_name: str, gain: float, seed: int = 1) -> dict[str, dict[str, Sample]]:
    """Return figures of eight cases: variety falls with quality along each way; λ's lies higher by a gain."""
    report, random = report_of(report_name, quick=True), np.random.default_rng(seed)
    figures: dict[str, dict[str, Sample]] = {}
    along = {setting: at for curve in report.curves.values() for at, (_, setting) in enumerate(curve.points)}
    for setting in report.settings:
        step = along.get(setting, 1)
        quality = 0.6 - 0.2 * step + random.normal(0, 0.01, 8)
        by_lambda = setting.startswith("λ") and setting != "λ=0"
        variety = 0.9 - 0.5 * quality + random.normal(0, 0.01, 8) + gain * by_lambda
        figures[setting] = {
            metric: sample([*(quality if metric in ("to_the_point", "fluency", "without_sense") else variety)])
            for metric in report.metrics
        }
    return figures


def test_a_way_that_is_better_at_equal_quality_is_found_so_and_a_control_without_weights_passes_none() -> None:
    report = report_of("ways", quick=True)
    better = verdicts(report.orderings, invented("ways", 0.2), None, None, report.primary)
    primary = [verdict for verdict in better if verdict.is_primary]
    assert len(primary) == 8
    assert {verdict.outcome for verdict in primary} == {"reproduced"}
    as_in_control = verdicts(report.orderings, invented("ways", 0.2), None, invented("ways", 0.2), report.primary)
    assert tally(as_in_control)["reproduced"] == 0
    assert all(v.outcome == "no more than the control" for v in as_in_control if v.is_primary)
    alike = tally(verdicts(report.orderings, invented("ways", 0.0), None, None, report.primary))
    assert alike["reproduced"] + alike["not reproduced"] <= 2
    worse = verdicts(report.orderings, invented("ways", -0.2), None, None, report.primary)
    assert {verdict.outcome for verdict in worse if verdict.is_primary} == {"not reproduced"}


def an_ordering(better: tuple[str, ...], worse: tuple[str, ...]) -> Ordering:
    claim = Efficient(position="to_the_point", metric="dist3", better=better, worse=worse)
    return Ordering(id="id", text="text", source="ours", claim=claim)


def test_a_case_that_the_curve_does_not_reach_is_left_out_and_where_none_is_reached_it_is_said() -> None:
    figures = {
        "a": {"to_the_point": sample([0.0] * 4), "dist3": sample([0.2] * 4)},
        "b": {"to_the_point": sample([0.1] * 4), "dist3": sample([0.6] * 4)},
        "far": {"to_the_point": sample([0.9] * 4), "dist3": sample([0.6] * 4)},
    }
    (found,) = verdicts([an_ordering(("a", "b"), ("far",))], figures)
    assert (found.outcome, found.note) == ("missing", "no case has all of these figures")
