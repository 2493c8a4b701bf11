"""`lab check`: the laboratory's verdicts on made figures of which the truth is known."""

from collections.abc import Mapping

import pytest

from tertulia.lab.check import Rate, check_verdicts

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def rates() -> Mapping[str, Rate]:
    return {rate.truth: rate for rate in check_verdicts(repetitions=40, cases=16, sources=8)}


@pytest.mark.parametrize("truth", ["null", "null, clusters", "null, ceiling", "null, skewed"])
def test_where_there_is_no_effect_hardly_anything_is_decided(rates: Mapping[str, Rate], truth: str) -> None:
    rate = rates[truth]
    assert rate.outcomes["reproduced"] + rate.outcomes["not reproduced"] <= 0.06
    assert rate.families_wrong is not None
    assert rate.families_wrong <= 0.15  # 0.05 of 40 is 2, three standard errors more 6


def test_the_effects_of_the_paper_are_found(rates: Mapping[str, Rate]) -> None:
    assert (rates["effect"].large or 0) >= 0.8
    assert rates["effect"].outcomes["not reproduced"] <= 0.01


def test_what_the_control_has_as_well_is_not_reproduced(rates: Mapping[str, Rate]) -> None:
    assert (rates["effect, copied"].large or 0) <= 0.1
    assert rates["effect, copied"].outcomes["no more than the control"] > 0.3


def test_the_same_seed_has_the_same_rates() -> None:
    first, again, other = (check_verdicts(repetitions=2, cases=6, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
