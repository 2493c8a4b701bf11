"""λ calibrated by a pilot, and steered by it: on speakers whose words are drawn, so that what is true is known."""

import random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.lab.experiments.calibration import PilotDialogue, figure_of, fit_setpoint, parts_of
from tertulia.metrics.diversity import distinct_n
from tertulia.nodes.shared.removal_factor import PastUtterance, observations, words_of
from tertulia.nodes.shared.steering import steer
from tertulia.state.errors import UsageError
from tertulia.state.setpoint import Setpoint

FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0)

#: Phrases that speakers fall back on: the more, the less is removed from their prompts.
STOCK = [" ".join(f"stock{line}_{word}" for word in range(6)) for line in range(12)]

ROUNDS = 8


def an_utterance(generator: random.Random, factor: float, habit: float) -> str:
    """Four phrases, each of the stock with a probability that falls with λ, and that a conversation's habit shifts."""
    stock = min(max(0.75 - 0.5 * factor + habit, 0.0), 1.0)
    phrases = [
        generator.choice(STOCK)
        if generator.random() < stock
        else " ".join(f"word{generator.randrange(300)}" for _ in range(6))
        for _ in range(4)
    ]
    return " ".join(phrases)


def a_conversation(
    seed: int, factor: float = 0.0, habit: float = 0.0, setpoint: Setpoint | None = None, target: float = 0.0
) -> tuple[list[str], list[float]]:
    """A conversation at a fixed λ, or steered to a target: its utterances, and their λ."""
    generator = random.Random(seed)
    texts: list[str] = []
    factors: list[float] = []
    while len(texts) < ROUNDS:
        if setpoint is not None:
            utterances = [PastUtterance(i, words_of(text), factors[i], None) for i, text in enumerate(texts)]
            factor = steer(setpoint, target, observations(setpoint, utterances)).removal_factor
        factors.append(factor)
        texts.append(an_utterance(generator, factor, habit))
    return texts, factors


def a_dialogue(factor: float, texts: list[str]) -> PilotDialogue:
    return PilotDialogue(factor, tuple(("A", text) for text in texts), (None,) * len(texts))


def a_pilot(trials: int, spread: float, seed: int = 1) -> list[PilotDialogue]:
    """Dialogues of each λ, whose habits have this standard deviation."""
    generator = random.Random(seed)
    return [
        a_dialogue(factor, a_conversation(generator.randrange(10**9), factor, generator.gauss(0, spread))[0])
        for factor in FACTORS
        for _ in range(trials)
    ]


# --- parts ----------------------------------------------------------------------------------------------------------

TEXTS = st.lists(st.sampled_from("abcde"), min_size=3, max_size=9).map(" ".join)


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=3, max_size=5), st.sampled_from([1, 2, 3]))
def test_the_mean_of_the_parts_is_the_metric(dialogues: list[list[str]], n: int) -> None:
    figure = figure_of([a_dialogue(0.5, texts) for texts in dialogues], f"dist{n}")  # type: ignore[arg-type]
    expected = distinct_n([[("A", text) for text in texts] for texts in dialogues], n)
    assert mean(parts_of(figure, len(dialogues))) == pytest.approx(expected, abs=1e-12)


# --- the fit --------------------------------------------------------------------------------------------------------


def test_a_pilot_gives_a_monotone_curve_with_a_band_around_it() -> None:
    pilot = a_pilot(4, 0.1)
    setpoint = fit_setpoint(pilot, "dist3", ROUNDS)
    assert setpoint.removal_factors == FACTORS
    assert (setpoint.trials, setpoint.rounds, setpoint.window) == (4, ROUNDS, ROUNDS)
    at_ends = [
        distinct_n([dialogue.lines for dialogue in pilot if dialogue.removal_factor == factor], 3) for factor in (0, 1)
    ]
    assert (setpoint.diversity[0], setpoint.diversity[-1]) == pytest.approx(at_ends, abs=0.05)
    assert all(a <= b <= c for a, b, c in zip(setpoint.low, setpoint.diversity, setpoint.high, strict=True))
    assert setpoint == fit_setpoint(list(reversed(pilot)), "dist3", ROUNDS)
    assert Setpoint.model_validate(setpoint.model_dump(mode="json")) == setpoint
    assert 0.3 < setpoint.gains[-1] <= 1  # habits show in both
    assert list(setpoint.gains) == sorted(setpoint.gains)


def test_what_is_judged_is_expected_as_a_line() -> None:
    pilot = [
        PilotDialogue(dialogue.removal_factor, dialogue.lines, (None, *[1 + dialogue.removal_factor] * 3))
        for dialogue in a_pilot(3, 0.0)
    ]
    inconsistency = fit_setpoint(pilot, "dist3", ROUNDS).inconsistency
    assert inconsistency is not None
    assert (inconsistency.expected.at_zero, inconsistency.expected.slope) == (pytest.approx(1), pytest.approx(1))
    assert inconsistency.deviation == pytest.approx(0, abs=1e-9)


def test_too_small_a_pilot_is_refused() -> None:
    pilot = a_pilot(2, 0.0)
    with pytest.raises(UsageError, match="too few dialogues"):
        fit_setpoint(pilot, "dist3", ROUNDS)
    with pytest.raises(UsageError, match="too few dialogues"):
        fit_setpoint([a_dialogue(factor, ["ah", ""]) for factor in (0, 0, 0, 1, 1, 1)], "dist3", ROUNDS)
    ended = [
        a_dialogue(factor, texts)
        for factor in (0, 1)
        for texts in (["so it is then"], ["no, it is not"], ["yes, it was"])
    ]
    setpoint = fit_setpoint(ended, "dist3", ROUNDS)  # all have ended behind the first
    assert len(set(setpoint.running)) == 1
    assert set(setpoint.gains) == {0.0}


# --- steered by it --------------------------------------------------------------------------------------------------


def test_steered_conversations_land_where_they_are_asked_to() -> None:
    setpoint = fit_setpoint(a_pilot(8, 0.05, seed=11), "dist3", ROUNDS)
    generator = random.Random(2)
    for part in (0.3, 0.5, 0.7):
        least, most = setpoint.reachable
        target = least + part * (most - least)
        missed = []
        for _ in range(3):  # held-out cases of as many trials
            trials = [
                a_conversation(generator.randrange(10**9), 0.0, generator.gauss(0, 0.05), setpoint, target)[0]
                for _ in range(setpoint.trials)
            ]
            missed.append(distinct_n([[("A", text) for text in texts] for texts in trials], 3) - target)
        assert abs(mean(missed)) < 0.03
