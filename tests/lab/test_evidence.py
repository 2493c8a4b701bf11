"""Whether a pilot shows that λ moves the metric: on pilots of which it is known."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.on_use import on_use

from tertulia.lab.experiments.calibration import PilotDialogue, figure_of
from tertulia.lab.experiments.evidence import Figure, evidence_of, level_of, needing, spread_of_fit
from tertulia.state.setpoint import Evidence

optimize = on_use("scipy.optimize")
stats = on_use("scipy.stats")

FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0)


def mean_of(values: Sequence[float]) -> Figure:
    return lambda chosen: mean(values[index] for index in chosen)


def shown_by(values: Sequence[float], factors: Sequence[float], trials: Sequence[int | None], **more: int) -> Evidence:
    return evidence_of(factors, trials, mean_of(values), falls=False, **more)


# --- how often it errs, and how often it finds ----------------------------------------------------------------------

Speaker = Callable[[random.Random, float, int], tuple[str, ...]]


def a_dialogue(generator: random.Random, stock: float, lines: int = 4, phrases: int = 2) -> tuple[str, ...]:
    """Phrases of four words, of a stock of six as often as that."""
    return tuple(
        " ".join(
            f"stock{generator.randrange(6)} is what it is"
            if generator.random() < stock
            else " ".join(f"word{generator.randrange(200)}" for _ in range(4))
            for _ in range(phrases)
        )
        for _ in range(lines)
    )


def any_length(generator: random.Random, factor: float, trial: int) -> tuple[str, ...]:
    return a_dialogue(generator, generator.random() / 2, generator.randint(1, 5), generator.randint(1, 4))


def heavy_repetition(generator: random.Random, factor: float, trial: int) -> tuple[str, ...]:
    said = a_dialogue(generator, 0.9)
    return said[:1] * len(said) if generator.random() < 0.2 else said


def clusters(generator: random.Random, factor: float, trial: int) -> tuple[str, ...]:
    """What a trial says at one λ it says nearly so at the others."""
    shared = a_dialogue(random.Random(trial), trial / 8)
    return tuple(line if generator.random() < 0.5 else a_dialogue(generator, trial / 8, 1)[0] for line in shared)


def moved(generator: random.Random, factor: float, trial: int) -> tuple[str, ...]:
    return a_dialogue(generator, 0.6 - 0.5 * factor)


def moved_at_last(generator: random.Random, factor: float, trial: int) -> tuple[str, ...]:
    return a_dialogue(generator, 0.6 - 0.5 * (factor == 1))


def evidence_for(speaker: Speaker, seed: int) -> Evidence:
    """The evidence of a pilot of four trials at each λ."""
    generator = random.Random(seed)
    places = [(factor, trial) for trial in range(4) for factor in FACTORS]
    dialogues = [
        PilotDialogue(factor, tuple(("A", text) for text in speaker(generator, factor, trial)), ())
        for factor, trial in places
    ]
    factors, trials = zip(*places, strict=True)
    return evidence_of(factors, trials, figure_of(dialogues, "dist3"), falls=False)


def test_null_pilots_are_accepted_as_seldom_as_is_said() -> None:
    kinds = (any_length, heavy_repetition, clusters)
    found = [evidence_for(kind, seed) for kind in kinds for seed in range(20)]
    most = stats.binom.ppf(0.99, len(found), 0.05)  # of so few pilots; 0.05 itself is held to in docs/diversity.md
    assert sum(evidence.is_shown for evidence in found) <= most
    assert mean(evidence.p for evidence in found) == pytest.approx(0.5, abs=0.15)  # not by being deaf


@pytest.mark.parametrize("speaker", [moved, moved_at_last])
def test_what_moves_is_found(speaker: Speaker) -> None:
    assert sum(evidence_for(speaker, seed).is_shown for seed in range(10)) >= 8


# --- the test -------------------------------------------------------------------------------------------------------


def test_where_there_are_few_permutations_p_is_exact() -> None:
    values, factors = [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    by_trial = shown_by(values, factors, [1, 2, 3, 1, 2, 3])
    assert (by_trial.p, by_trial.permutations, by_trial.is_exact) == (1 / 8, 8, True)
    at_will = shown_by(values, factors, [None] * 6)
    assert (at_will.p, at_will.permutations, at_will.is_exact) == (1 / 20, 20, True)
    assert not at_will.is_shown


def test_only_a_rise_counts_and_of_sim_only_a_fall() -> None:
    places = [(factor, trial) for trial in range(4) for factor in FACTORS]
    factors, trials = zip(*places, strict=True)
    falling = mean_of([1 - factor for factor in factors])
    assert evidence_of(factors, trials, falling, falls=False).p == 1
    sim = evidence_of(factors, trials, falling, falls=True)
    assert sim.is_shown
    assert sim == evidence_of(factors, trials, falling, falls=True)
    assert evidence_of(factors, trials, mean_of([0.5] * 20), falls=False).p == 1


def test_however_often_a_pilot_is_enlarged_the_levels_are_five_percent() -> None:
    assert [level_of(looks) for looks in range(3)] == [0.04, 0.008, 0.0016]
    assert sum(level_of(looks) for looks in range(30)) <= 0.05 + 1e-9
    assert shown_by([0.1, 0.2], [0.0, 1.0], [1, 1], looks=2).level == 0.0016


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=2, max_size=6))
def test_the_statistic_is_the_spread_of_the_isotonic_fit(groups: list[tuple[float, int]]) -> None:
    figures, sizes = zip(*groups, strict=True)
    fit = optimize.isotonic_regression(figures, weights=sizes).x
    level = sum(size * figure for figure, size in zip(fit, sizes, strict=True)) / sum(sizes)
    expected = sum(size * (figure - level) ** 2 for figure, size in zip(fit, sizes, strict=True))
    assert spread_of_fit(figures, sizes) == pytest.approx(expected, abs=1e-9)


# --- how many would be needed ---------------------------------------------------------------------------------------


def test_a_refusal_tells_how_many_would_show_a_rise_that_matters() -> None:
    def for_rise(scatter: float, p: float = 0.3, looks: int = 0) -> Evidence:
        found = Evidence(p=p, level=level_of(looks), permutations=1999, is_exact=False, looks=looks)
        return needing(found, 4, 0.05, scatter)

    assert [for_rise(scatter).trials_for_rise for scatter in (0.05, 0.1, 0.15)] == [5, 14, 32]
    assert for_rise(0.1, looks=1).trials_for_rise == 19
    assert for_rise(0.1, p=0.001).trials_for_rise is None
    assert "about 14 conversations at each λ show a steady rise of 0.11" in for_rise(0.1).for_rise
    assert for_rise(0.1, p=0.001).for_rise == ""


def test_that_none_would_is_said_only_where_not_even_the_greatest_possible_effect_would_be_shown() -> None:
    def at_best(p: float) -> int | None:
        found = Evidence(p=p, level=0.04, permutations=1999, is_exact=False)
        return needing(found, 4, 0.1, 0.05).trials_at_best

    assert at_best(0.5) == 16
    assert at_best(0.2) == 7
    assert at_best(0.95) is at_best(1.0) is None
