"""Intervals, paired differences and curves: against formulas, other libraries, and simulations with a known truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from support.on_use import on_use

from tertulia.metrics.diversity import distinct_n, mean_pairwise_cosine
from tertulia.metrics.inference import detectable, holm
from tertulia.metrics.statistics import (
    CaseFigure,
    Contrast,
    Needed,
    Sample,
    case_mean,
    common_trials,
    contrast,
    effect_size,
    excludes_zero,
    jackknifed,
    paired_difference,
    sample_of,
    trials_that_decide,
)

stats = on_use("scipy.stats")


def of_values(*values: float) -> Sample:
    return {f"case {number}": CaseFigure(value) for number, value in enumerate(values)}


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


# --- intervals ------------------------------------------------------------------------------------------------------


def bounds(values: Sequence[float]) -> tuple[float | None, float | None]:
    found = case_mean(of_values(*values))
    return found.ci_low, found.ci_high


def test_intervals_are_students_and_belong_to_the_test() -> None:
    found = contrast([(of_values(1.0, 2.0, 4.0), 1.0)])
    assert found.method == "student"
    # by hand: 7/3 ± 4.3027 · 1.5275 / √3
    assert (found.ci_low, found.ci_high) == pytest.approx((-1.461, 6.128), abs=1e-3)
    assert found.p == pytest.approx(float(stats.ttest_1samp([1.0, 2.0, 4.0], 0.0).pvalue))
    assert (found.p_above(), found.p_below()) == pytest.approx(((found.p or 0) / 2, 1 - (found.p or 0) / 2))
    assert found.p_below(6.128) == pytest.approx(0.025, abs=1e-3)
    assert found.upper_bound(0.975) == pytest.approx(found.ci_high)


# --- sources ----------------------------------------------------------------------------------------------------------


def of_sources(values: Sequence[float], sources: Sequence[str]) -> Sample:
    pairs = zip(values, sources, strict=True)
    return {f"case {number}": CaseFigure(value, source=source) for number, (value, source) in enumerate(pairs)}


def test_of_equally_many_cases_each_sources_are_compared_by_their_means() -> None:
    found = contrast([(of_sources([1.0, 3.0, 2.0, 2.5, 5.0, 4.0], "aabbcc"), 1.0)])
    assert (found.method, found.sources, found.cases) == ("cluster_robust", 3, 6)
    assert found.p == pytest.approx(float(stats.ttest_1samp([2.0, 2.25, 4.5], 0.0).pvalue))
    assert found.freedom == pytest.approx(2)


def test_cases_of_one_source_or_each_of_its_own_stand_for_themselves() -> None:
    values = [1.0, 3.0, 2.0, 2.5]
    alone, apart = (contrast([(of_sources(values, sources), 1.0)]) for sources in ("aaaa", "abcd"))
    assert (alone.method, apart.method) == ("student", "cluster_robust")
    assert alone.p == pytest.approx(apart.p) == pytest.approx(float(stats.ttest_1samp(values, 0.0).pvalue))


def test_a_family_has_a_wrong_verdict_in_one_of_twenty() -> None:
    # by hand: the smallest of three times 3, the next times 2, none below one before it
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []
    rng = np.random.default_rng(0)
    assert mean([min(holm([*rng.uniform(size=20)])) <= 0.05 for _ in range(2000)]) == pytest.approx(0.05, abs=0.015)


def test_what_is_detectable_is_found_in_four_of_five() -> None:
    effect = detectable(cases=12, sources=1, tests=5)
    assert effect is not None
    rng = np.random.default_rng(2)
    draws = rng.normal(effect, 1.0, size=(2000, 12))
    assert mean([p <= 0.05 / 5 for p in stats.ttest_1samp(draws, 0.0, axis=1).pvalue]) == pytest.approx(0.8, abs=0.03)
    assert detectable(cases=1, sources=1, tests=1) is None
    assert (detectable(24, 4, 1) or 0) > (detectable(24, 24, 1) or 0)


def test_less_than_two_cases_have_a_mean_and_no_interval() -> None:
    assert case_mean({}).model_dump() == {
        "value": None,
        "ci_low": None,
        "ci_high": None,
        "method": None,
        "cases": 0,
        "trials": None,
        "sources": 1,
    }
    alone = case_mean(of_values(0.4))
    assert (alone.value, alone.ci_low, alone.cases) == (0.4, None, 1)
    assert case_mean(of_values(0.4, 0.4, 0.4)).ci_low is None


def test_an_interval_ends_where_a_figure_can_be_no_more() -> None:
    found = case_mean(of_values(0.9, 0.99, 0.6), bounds=(0.0, 1.0))
    assert found.ci_low is not None
    assert (found.ci_low > 0, found.ci_high) == (True, 1.0)


# --- trials of a case -----------------------------------------------------------------------------------------------


def test_the_jackknife_of_a_mean_is_its_squared_standard_error() -> None:
    values = {1: 0.2, 2: 0.5, 5: 0.9, 7: 0.1}
    found = contrast([({"a": jackknifed_mean(values), "b": jackknifed_mean({1: 1.0, 2: 1.0})}, 1.0)])
    a, b = float(np.var([*values.values()], ddof=1)), 0.0
    assert found.within == pytest.approx((a + b) / 2)
    spread = float(np.var([mean([*values.values()]), 1.0], ddof=1))
    assert found.between == pytest.approx(spread - (a / 4 + b / 2) / 2)
    assert found.trials == 6


def jackknifed_mean(trials: dict[int, float]) -> CaseFigure:
    figure = jackknifed(trials, mean)
    assert figure is not None
    return figure


def test_the_jackknife_knows_how_much_sim_and_distinct_n_vary_between_repetitions() -> None:
    rng = np.random.default_rng(3)
    frequencies = 1 / np.arange(1, 300)
    frequencies /= frequencies.sum()

    def vectors() -> dict[int, list[float]]:
        return dict(enumerate((1 + rng.normal(size=(8, 16))).tolist()))

    def dialogues() -> dict[int, list[tuple[str, str]]]:
        words = rng.choice(len(frequencies), p=frequencies, size=(8, 40))
        return {trial: [("a", " ".join(f"w{word}" for word in row))] for trial, row in enumerate(words)}

    drawn: list[tuple[Callable[[], dict[int, object]], Callable[[Sequence[object]], float | None]]] = [
        (vectors, mean_pairwise_cosine),  # type: ignore[list-item]
        (dialogues, lambda trials: distinct_n(trials, 2)),  # type: ignore[list-item,arg-type]
    ]
    for draw, figure in drawn:
        figures = [jackknifed(draw(), figure) for _ in range(120)]
        values = [found.value for found in figures if found is not None]
        estimated = mean([7 * float(np.var([*found.without.values()])) for found in figures if found is not None])
        assert 0.6 < estimated / float(np.var(values)) < 1.6


def test_a_case_without_a_figure_is_left_out_and_one_trial_has_nothing_to_leave_out() -> None:
    sample = sample_of({"a": {1: "x", 2: "y"}, "b": {1: "x"}, "c": {}}, lambda trials: len(trials) or None)
    assert sample["a"] == CaseFigure(2, 2, {1: 1, 2: 1})
    assert sample["b"] == CaseFigure(1, 1)
    assert "c" not in sample


def test_only_what_all_settings_have_is_compared() -> None:
    settings_ = {
        "Full": {"a": {1: "f1", 2: "f2", 3: "f3"}, "b": {1: "f1"}, "c": {1: "f1"}},
        "RMm": {"a": {1: "r1", 3: "r3"}, "b": {2: "r2"}},
    }
    assert common_trials(settings_) == {
        "Full": {"a": {1: "f1", 3: "f3"}},
        "RMm": {"a": {1: "r1", 3: "r3"}},
    }
    assert common_trials({}) == {}


# --- differences ----------------------------------------------------------------------------------------------------


def test_what_a_case_brings_to_both_settings_cancels_out() -> None:
    rng = np.random.default_rng(1)
    cases, noise = rng.normal(0, 10, size=9), rng.normal(0, 0.1, size=9)
    baseline, setting = of_values(*cases), of_values(*(cases + 1 + noise))
    found = paired_difference(setting, baseline)
    assert found.value == pytest.approx(1 + noise.mean())
    assert excludes_zero(found)
    assert found.above == 9
    assert found.effect_size == pytest.approx(effect_size([*(1 + noise)]))
    alone = case_mean(setting)
    assert alone.ci_low is not None
    assert alone.ci_low < 0


def test_the_effect_size_is_corrected_for_few_cases() -> None:
    # by hand: mean 2, standard deviation 1, 1 − 3/(4·2 − 1) = 4/7
    assert effect_size([1.0, 2.0, 3.0]) == pytest.approx(2 * 4 / 7)
    assert effect_size([1.0, 1.0, 1.0]) is None
    assert effect_size([1.0, 3.0]) is None
    assert effect_size([1.0]) is None


# --- what would decide ----------------------------------------------------------------------------------------------

BETWEEN, WITHIN, DIFFERENCE = 0.01, 0.36, 0.1


def known(between: float, within: float) -> Contrast:
    return Contrast(
        value=DIFFERENCE, ci_low=-0.1, ci_high=0.3, cases=8, trials=24, above=5, between=between, within=within
    )


def test_where_cases_differ_too_much_no_number_of_trials_decides_but_more_cases_do() -> None:
    # by hand: 8 · (0.1/2.3646)² = 0.0143 is the most that cases may vary; of 23 cases t is 2.0739
    assert trials_that_decide(known(0.06, 0.04)) == Needed(trials=None, cases=trials_cases(0.06 + 0.04 / 3))
    # One sample in twenty of eight cases varies by 14.067 / 7 times the truth or more, so that trials may do after all.
    assert trials_that_decide(known(0.04, 0.04)) == Needed(trials=None, trials_known=False, cases=23)
    assert trials_that_decide(known(0.0, 0.1)) == Needed(trials=7, cases=trials_cases(0.1 / 3))


def trials_cases(variance: float) -> int:
    """Return the least number of cases from nine on that decides, one by one."""
    return next(n for n in range(9, 1000) if stats.t.ppf(0.975, n - 1) * (variance / n) ** 0.5 < DIFFERENCE)


@pytest.mark.parametrize(
    "changes",
    [{"ci_low": 0.01}, {"value": 0.0}, {"cases": 1}, {"value": None}, {"method": "theil_sen"}],
)
def test_nothing_is_said_where_it_is_decided_or_cannot_be_reckoned(changes: dict[str, float | None]) -> None:
    assert trials_that_decide(known(BETWEEN, WITHIN).model_copy(update=changes)) is None


def test_cases_of_a_single_trial_say_how_many_cases_would_decide() -> None:
    values = [0.5, -0.4, 0.3, 0.2, -0.3, 0.6]
    needed = trials_that_decide(contrast([(of_values(*values), 1.0)]))
    assert needed is not None
    assert (needed.trials, needed.trials_known) == (None, False)
    spread, difference = float(np.std(values, ddof=1)), mean(values)
    assert needed.cases == next(n for n in range(7, 100) if stats.t.ppf(0.975, n - 1) * spread / n**0.5 < difference)
