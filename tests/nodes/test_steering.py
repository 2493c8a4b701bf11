"""λ steered to a diversity: on simulated conversations, whose running measure follows λ with noise and delay."""

import random
from itertools import pairwise
from statistics import mean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.setpoints import CHANCE, WINDOW, a_setpoint

from tertulia.nodes.shared.steering import AUTHORITY, STEP_MAX, Observation, Steering, steer
from tertulia.state.errors import SettingError
from tertulia.state.parameters import Parameters
from tertulia.state.setpoint import Setpoint


def diversity_at(setpoint: Setpoint, removal_factor: float) -> float:
    """The figure at λ; between those of the pilot on a straight line, beyond them the last."""
    return float(np.interp(removal_factor, setpoint.removal_factors, setpoint.diversity))


def simulated(
    setpoint: Setpoint,
    target: float,
    turns: int,
    *,
    offset: float = 0.0,
    noise: float = 0.0,
    response: float = 0.1,
    inconsistency: float | None = None,
    seed: int = 1,
) -> list[float]:
    """The λ of each turn of a conversation, and of the turn behind it.

    Args:
        setpoint: The calibration.
        target: The asked figure.
        turns: How many.
        offset: How far its running measure is from the pilot's at the same λ.
        noise: Standard deviation of an utterance's part in it, which stays until it leaves the window.
        response: By how much the measure really follows λ; the calibration has 0.1.
        inconsistency: By how much the judge's figures are above the pilot's; `None`: nothing is judged.
        seed: Of the noise.
    """
    generator = random.Random(seed)
    observed: list[Observation] = []
    factors, drawn = [], []
    for turn in range(1, turns + 1):
        factors.append(steer(setpoint, target, observed).removal_factor)
        drawn.append(generator.gauss(0, noise))
        factor = mean(factors[-WINDOW:])
        level = 1 - 0.02 * min(turn, WINDOW)
        running = level + response * factor + offset + mean(drawn[-WINDOW:])
        figure = None if inconsistency is None else 1 + factor + inconsistency + generator.gauss(0, 0.5)
        observed.append(Observation(running, factors[-1], figure))
    return [*factors, steer(setpoint, target, observed).removal_factor]


@pytest.mark.parametrize(
    ("offset", "settled"), [(-0.04, 0.747), (-0.02, 0.699), (0.0, 0.65), (0.02, 0.601), (0.04, 0.553)]
)
def test_it_converges_to_where_the_deviation_is_made_up_for(offset: float, settled: float) -> None:
    factors = simulated(a_setpoint(), 0.66, 30, offset=offset)
    assert factors[0] == factors[1] == pytest.approx(0.65)  # the first utterance says nothing
    assert factors[-1] == pytest.approx(settled, abs=0.002)
    way = [b - a for a, b in pairwise(factors)]
    assert all(step * (settled - 0.65) >= -1e-12 for step in way)  # it never turns back


@pytest.mark.parametrize("response", [0.0, 0.05, 0.2, 0.4])
def test_it_does_not_swing_where_the_measure_follows_lambda_otherwise_than_it_was_measured(response: float) -> None:
    factors = simulated(a_setpoint(), 0.66, 80, offset=-0.03, response=response)
    assert max(factors[-10:]) - min(factors[-10:]) < 0.01
    turns_back = sum((b - a) * (c - b) < -1e-9 for a, b, c in zip(factors, factors[1:], factors[2:], strict=False))
    assert turns_back <= 8  # four times the response: it swings, less and less


def test_climbing_inconsistency_takes_lambda_back_and_scatter_does_not() -> None:
    calm = [simulated(a_setpoint(), 0.66, 30, inconsistency=0.0, seed=seed)[-1] for seed in range(20)]
    climbed = [simulated(a_setpoint(), 0.66, 30, inconsistency=1.2, seed=seed)[-1] for seed in range(20)]
    assert mean(calm) == pytest.approx(0.65, abs=0.03)
    assert all(factor <= 0.62 for factor in climbed)
    assert mean(climbed) < 0.55
    less = simulated(a_setpoint(), 0.66, 30, inconsistency=-2.0)
    assert less == pytest.approx([0.65] * 31)  # consistency is no reason to remove more


FIGURES = st.one_of(st.none(), st.floats(0, 1))
OBSERVED = st.lists(st.builds(Observation, FIGURES, FIGURES, st.one_of(st.none(), st.floats(-10, 10))), max_size=24)


@given(OBSERVED, st.floats(0.5, 0.8))
def test_bounds_and_steps_hold_whatever_is_observed(observed: list[Observation], target: float) -> None:
    setpoint = a_setpoint()
    steps = [steer(setpoint, target, observed[:count]) for count in range(len(observed) + 1)]
    calibrated = setpoint.removal_factor_for(target)
    assert steps[0] == Steering(calibrated, calibrated, None, 0.0, 0.0)
    for before, after in pairwise(steps):
        assert 0 <= after.removal_factor <= 1
        assert abs(after.removal_factor - before.removal_factor) <= STEP_MAX + 1e-9
        assert abs(after.removal_factor - calibrated) <= AUTHORITY + 1e-9
    assert steer(setpoint, target, list(observed)) == steps[-1]


# --- the calibrated curve -------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted), st.floats(0, 1))
def test_the_factor_for_a_figure_gives_it(figures: list[float], part: float) -> None:
    setpoint = a_setpoint(diversity=tuple(figures))
    least, most = setpoint.reachable
    wanted = least + part * (most - least)
    factor = setpoint.removal_factor_for(wanted)
    assert diversity_at(setpoint, factor) == pytest.approx(wanted, abs=1e-9)
    assert 0 <= factor <= 1


def test_of_several_factors_the_least_is_taken_and_beyond_the_range_its_end() -> None:
    setpoint = a_setpoint(diversity=(0.5, 0.8, 0.8))
    assert setpoint.removal_factor_for(0.8) == 0.5
    assert setpoint.removal_factor_for(0.9) == 0.5
    assert setpoint.removal_factor_for(0.1) == 0.0
    assert a_setpoint(diversity=(0.5, 0.5, 0.8)).removal_factor_for(0.5) == 0.0


def test_a_low_sim_is_a_high_diversity() -> None:
    setpoint = a_setpoint(metric="sim", diversity=(0.9, 0.8, 0.5), gains=(-1.0,) * WINDOW)
    assert setpoint.removal_factor_for(0.65) == pytest.approx(0.75)
    assert setpoint.named("high") == pytest.approx(0.6)
    assert setpoint.named("low") == pytest.approx(0.8)
    assert simulated(setpoint, 0.65, 30, offset=-0.03, response=0.1)[-1] == pytest.approx(0.8, abs=0.01)


def test_curves_that_are_none_are_refused() -> None:
    for fields in (
        {"diversity": (0.6, 0.5, 0.8)},
        {"low": (0.1, 0.2)},
        {"removal_factors": (0.5, 0.5, 1.0)},
        {"gains": (1.0,)},
    ):
        with pytest.raises(ValueError, match="setpoint"):
            a_setpoint(**fields)


# --- as parameters --------------------------------------------------------------------------------------------------


def test_a_diversity_sets_where_lambda_begins_and_a_lambda_ends_it() -> None:
    setpoint = a_setpoint()
    asked = Parameters().with_settings({"diversity": 0.7, "setpoint": setpoint})
    assert asked.removal_factor == pytest.approx(0.75)
    assert asked == Parameters().with_settings({"diversity": "0.7", "setpoint": setpoint.model_dump_json()})
    assert Parameters.model_validate(asked.model_dump(mode="json")) == asked
    assert asked.with_settings({"diversity": 0.5}).removal_factor == 0.0
    assert asked.with_settings({"diversity": 0.5}).scores_are_wanted
    for off in ({"lambda": 0.3}, {"diversity": None, "removal_factor": 0.3}):
        assert asked.with_settings(off).diversity is None
        assert asked.with_settings(off).removal_factor == 0.3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"diversity": 0.95}, "λ reaches 0.500 to 0.800"),
        ({"diversity": 0.7, "pruning": "first"}, "leave one of the two out"),
        ({"diversity": 0.7, "retain": "highest"}, "leave one of the two out"),
        ({"diversity": 0.7, "setpoint": None}, "ask with --diversity"),
        ({"diversity": 0.7, "setpoint": "{"}, "setpoint"),
        (
            {"diversity": 0.5, "setpoint": a_setpoint(diversity=(0.5, 0.5, 0.505), evidence=CHANCE)},
            "a higher λ does not give more",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_steered_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        Parameters().with_settings({"setpoint": a_setpoint(), **settings})
