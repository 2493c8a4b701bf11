"""Whether people stay themselves, on planted voices, by hand, and against cheap ways to seem a person."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.metrics.population import (
    Lines,
    Vectors,
    attractor,
    coverage,
    dispersion,
    figures_of_lines,
    moments_of,
    tells_people_apart,
    trait_coverage,
)

DIMENSIONS = 24


def unit(vectors: Vectors) -> Vectors:
    found: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def lines_of(vectors: list[list[float]], speakers: list[int], texts: list[int] | None = None, **given: object) -> Lines:
    count = len(speakers)
    return Lines(
        vectors=unit(np.array(vectors, dtype=np.float64)),
        speakers=np.array(speakers),
        texts=np.array(texts if texts is not None else range(count)),
        at=np.arange(1, count + 1),
        folds=np.arange(count),
        **given,  # type: ignore[arg-type]
    )


def voices(
    people: int = 4,
    rounds: int = 60,
    voice: float = 2.0,
    late_voice: float | None = None,
    drift: float = 0,
    seed: int = 1,
) -> Lines:
    """People who speak in turn, each with a direction of their own, that fades to `late_voice`, and a common drift."""
    generator = np.random.default_rng(seed)
    own = unit(generator.normal(size=(people, DIMENSIONS)))
    topic = unit(generator.normal(size=(1, DIMENSIONS)))[0]
    speakers = [at % people for at in range(rounds)]
    said = []
    for at, speaker in enumerate(speakers):
        share = at / (rounds - 1)
        strength = voice if late_voice is None else voice + (late_voice - voice) * share
        noise = generator.normal(size=DIMENSIONS) / DIMENSIONS**0.5
        said.append(list(strength * own[speaker] + drift * share * topic + noise))
    return lines_of(said, speakers, personas=own)


# --- by hand --------------------------------------------------------------------------------------------------------


def test_spread_and_apart_are_those_of_the_pairs() -> None:
    """Ana says x, x', Bo says y, y', all at right angles but x and x', in two moments."""
    lines = lines_of([[1, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [0, 0, 1]] * 2, [0, 1, 0, 1] * 2)
    found = figures_of_lines(lines, 0.0)
    first, second = found.moments
    assert (first.first, first.last, first.lines) == (1, 4, 4)
    between = (1.0 + 1.0 + 0.2 + 1.0) / 4  # of x and x' with y and y'
    within = (0.4 + 1.0) / 2
    assert first.spread == pytest.approx(between)
    assert first.apart == pytest.approx(between - within)
    assert (second.spread, second.apart) == (pytest.approx(between), pytest.approx(between - within))
    assert found.spread_early == found.spread_late == pytest.approx(between)
    assert found.pull is not None
    assert found.pull == pytest.approx(0, abs=0.1)  # nothing falls; the null has what chance does


def test_coverage_is_the_slope_of_what_is_shown_on_what_was_given() -> None:
    given_ = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert coverage(given_, given_) == pytest.approx(1)
    assert coverage(given_, given_ / 2 + 7) == pytest.approx(0.5)
    assert coverage(given_, -given_) == pytest.approx(-1)
    across = np.array([[0.0, 3.0], [0.0, -3.0]])  # they differ, in what nobody gave them
    assert (coverage(given_, across), dispersion(given_, across)) == (pytest.approx(0), pytest.approx(3))
    assert coverage(np.ones((2, 2)), given_) is None
    assert dispersion(np.ones((2, 2)), given_) is None


def test_traits_count_for_those_who_were_given_a_pole() -> None:
    given_ = {"Ana": {"openness": 5.0}, "Bo": {"openness": 1.0}, "Cy": {"neuroticism": 5.0}}
    shown = {"Ana": {"openness": 4.0}, "Bo": {"openness": 3.0}, "Cy": {"openness": 1.0, "neuroticism": 1.0}}
    assert trait_coverage(given_, shown) == (pytest.approx(0.25), pytest.approx(0.25))
    assert trait_coverage(given_, {"Ana": {"openness": 3.0}, "Bo": {"openness": 3.0}})[0] == pytest.approx(0)
    assert trait_coverage({"Cy": {"neuroticism": 5.0}}, shown) == (None, None)
    assert trait_coverage({}, shown) == (None, None)


def test_conversations_that_began_differently_and_end_alike_are_attracted() -> None:
    x, y, z = np.eye(3)[:, None, :]
    assert attractor([x, y], [z, z], ["a", "b"]) == [pytest.approx(1), pytest.approx(1)]
    assert attractor([z, z], [x, y], ["a", "b"]) == [pytest.approx(-1), pytest.approx(-1)]
    assert attractor([x, x, y], [x, x, x], ["a", "a", "b"]) == pytest.approx([1, 1, 1])  # trials of a case are alike
    assert attractor([x, y], [z, z], ["a", "a"]) == pytest.approx([1, 1])


@given(sizes=st.lists(st.integers(1, 40), min_size=2, max_size=30), people=st.integers(2, 6))
def test_moments_never_cut_a_round_and_are_two_at_least(sizes: list[int], people: int) -> None:
    at = np.repeat(np.arange(len(sizes)), sizes)
    speakers = np.arange(len(at)) % people
    lines = Lines(np.ones((len(at), 1)), speakers, np.arange(len(at)), at, at)
    for most in (None, 2):
        found = moments_of(lines, most)
        assert list(dict.fromkeys(found.tolist())) == list(range(int(found.max()) + 1))
        assert 2 <= int(found.max()) + 1 <= (most or 8)
        assert all(len(set(found[at == round].tolist())) == 1 for round in range(len(sizes)))


# --- planted voices -------------------------------------------------------------------------------------------------


def test_people_with_voices_are_told_apart_and_those_with_one_are_not() -> None:
    own, common = (figures_of_lines(voices(voice=voice), 0.0) for voice in (2.0, 0.0))
    assert tells_people_apart(own)
    assert own.attribution is not None
    assert own.attribution > 0.9
    assert own.chance == pytest.approx(0.25, abs=0.05)
    assert own.coverage is not None
    assert own.coverage > 0.6
    assert not tells_people_apart(common)
    assert common.apart == pytest.approx(0, abs=0.05)
    assert common.coverage == pytest.approx(0, abs=0.1)
    assert common.dispersion is not None
    assert common.dispersion > 0.2  # noise has dispersion: so it is not what counts


def test_people_who_become_one_another_are_pulled_and_harder_to_tell() -> None:
    found = figures_of_lines(voices(rounds=96, voice=2.0, late_voice=0.0), 0.0)
    assert found.pull is not None
    assert found.pull > 0.3
    assert found.pull_p == pytest.approx(0.005)
    assert found.towards is not None
    assert found.towards > 0.1
    assert found.towards_p is not None
    assert found.towards_p < 0.05
    assert found.attribution_change is not None
    assert found.attribution_change < -0.2
    stay = figures_of_lines(voices(rounds=96, voice=2.0), 0.0)
    assert stay.pull == pytest.approx(0, abs=0.15)
    part = figures_of_lines(voices(rounds=96, voice=0.0, late_voice=2.0), 0.0)
    assert part.pull is not None
    assert part.pull < -0.3


def test_a_common_change_of_topic_is_no_pull() -> None:
    """The topic takes all over, so that everybody's lines come together: spread falls, and so do lines of one voice."""
    found = figures_of_lines(voices(rounds=96, voice=0.0, drift=6.0), 0.0)
    assert found.spread_early is not None
    assert found.spread_late is not None
    assert found.spread_late < found.spread_early - 0.3
    assert found.pull == pytest.approx(0, abs=0.1)
    assert found.pull_p is not None
    assert found.pull_p > 0.05
    assert found.towards == pytest.approx(0, abs=0.15)


# --- cheap ways to seem a person ------------------------------------------------------------------------------------


def test_one_line_of_their_own_that_everybody_repeats() -> None:
    """Four people at right angles, each with one sentence for all their turns: no line tells whose another one is."""
    speakers = [at % 4 for at in range(40)]
    found = figures_of_lines(lines_of([list(np.eye(4)[speaker]) for speaker in speakers], speakers, speakers), 0.0)
    assert found.attribution == 0.0
    assert found.apart is None
    assert not tells_people_apart(found)


# --- nothing to measure ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (Lines(np.empty((0, 0)), *(np.empty(0, dtype=np.int64) for _ in range(4))), "nothing is said"),
        (lines_of([[1.0, 0.0], [0.0, 1.0]], [0, 0]), "one person alone"),
        (
            Lines(np.eye(2), np.array([0, 1]), np.array([0, 1]), np.array([3, 3]), np.array([0, 1])),
            "all is said in one round",
        ),
    ],
)
def test_why_there_are_no_figures(lines: Lines, reason: str) -> None:
    found = figures_of_lines(lines, None)
    assert found.reason is not None
    assert found.reason.startswith(reason)
    assert (found.apart, found.attribution, found.moments) == (None, None, ())
    assert not tells_people_apart(found)
