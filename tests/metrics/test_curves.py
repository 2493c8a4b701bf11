"""Slopes along curves and over time: against other libraries, and noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from support.on_use import on_use

from tertulia.metrics.curves import efficiency, trend, trend_over_time
from tertulia.metrics.statistics import CaseFigure, Sample

stats = on_use("scipy.stats")


def of_values(*values: float) -> Sample:
    return {f"case {number}": CaseFigure(value) for number, value in enumerate(values)}


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def test_a_trend_is_the_mean_of_the_slopes_and_rank_correlations_of_its_cases() -> None:
    positions = [0.0, 0.3, 0.5, 1.0]
    curves = np.random.default_rng(2).normal(size=(4, 7)) + np.asarray(positions)[:, None]
    slope, rho = trend([(position, of_values(*row)) for position, row in zip(positions, curves, strict=True)])
    assert slope.value == pytest.approx(mean([np.polyfit(positions, curve, 1)[0] for curve in curves.T]))
    assert rho.value == pytest.approx(mean([stats.spearmanr(positions, curve).statistic for curve in curves.T]))


def test_the_slope_over_time_is_the_median_of_all_slopes_between_cases() -> None:
    times = {"a": 0.0, "b": 1.0, "c": 2.5, "d": 4.0, "e": 9.0}
    values = {"a": 1.0, "b": 0.8, "c": 0.9, "d": 0.2, "e": 0.1, "no time": 5.0}
    found = trend_over_time(times, values)
    slopes = [(values[b] - values[a]) / (times[b] - times[a]) for a, b in combinations(times, 2)]
    assert found.value == pytest.approx(float(np.median(slopes)))
    assert (found.method, found.cases) == ("theil_sen", 5)
    few = trend_over_time({"a": 0.0, "b": 1.0}, values)
    assert (few.value, few.ci_low) == (pytest.approx(-0.2), None)
    assert trend_over_time({"a": 1.0, "b": 1.0}, values).value is None


def test_of_two_curves_the_height_between_them_is_taken_where_both_reach() -> None:
    # y = x from 0 to 1 against y = x/2 from 0.5 to 2: on 0.5 to 1 they are 0.375 apart on average
    steep = [(of_values(x), of_values(x)) for x in (0.0, 0.4, 1.0)]
    flat = [(of_values(x), of_values(x / 2)) for x in (2.0, 0.5)]
    assert efficiency(steep, flat).value == pytest.approx(0.375)
    apart = [(of_values(x), of_values(x)) for x in (3.0, 4.0)]
    assert efficiency(apart, flat).value is None
