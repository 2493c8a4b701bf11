"""What is not to the point does not pass for it: recited, shuffled, negated, and the partner's memories.

On the cases that the thresholds were not chosen on (`benchmarks/fooling.py`, `held_out`).
"""

from collections.abc import Mapping

import pytest
from support.ga_builder import real_run

from benchmarks.fooling import (
    ATTACKS,
    Known,
    RealCase,
    attacks,
    figures_of,
    logged,
    negated,
    of_scenes,
    with_i,
    written,
)
from tertulia.metrics.to_the_point import ToThePoint
from tertulia.models.loading import open_embedder
from tertulia.models.local import embedder as module

pytestmark = pytest.mark.full

KINDS = [kind for kinds in ATTACKS.values() for kind in kinds]
Figures = Mapping[str, Mapping[str, ToThePoint]]


def of_held_out(cases: list[RealCase]) -> Figures:
    if module.weights() is None:
        pytest.skip("the embedder's weights are not installed")
    return figures_of([real for real in cases if not real.is_design], Known(open_embedder("minilm")))


@pytest.fixture(scope="module")
def shipped() -> Figures:
    """Four conversations of the town, and those of `benchmarks/cases` that are held out."""
    return of_held_out([*logged("tidewell"), *written()])


@pytest.fixture(scope="module")
def of_log() -> Figures:
    """Four conversations of the published Generative Agents run."""
    return of_held_out(logged(f"ga:{real_run()}"))


@pytest.mark.slow
@pytest.mark.parametrize("cases", ["shipped", "of_log"])
def test_every_attack_is_below_the_real_dialogue_of_its_case(cases: str, request: pytest.FixtureRequest) -> None:
    figures: Figures = request.getfixturevalue(cases)
    above = {
        (name, kind): (of_case[kind].to_the_point, of_case["real"].to_the_point)
        for name, of_case in figures.items()
        for kind in KINDS
        if not (of_case[kind].to_the_point or 0) < (of_case["real"].to_the_point or 0)
    }
    assert not above
    assert len(figures) >= 4


@pytest.mark.slow
def test_the_match_alone_is_fooled(shipped: Figures) -> None:
    fooled = [of_case["memories"].margin or 0 for of_case in shipped.values()]
    real = [of_case["real"].margin or 0 for of_case in shipped.values()]
    assert all(made > said for made, said in zip(fooled, real, strict=True))


@pytest.mark.slow
def test_each_attack_fails_by_what_it_is(shipped: Figures) -> None:
    for of_case in shipped.values():
        assert (of_case["memories"].recited or 0) > 0.95
        assert (of_case["place"].said_before or 0) > 0.4
        assert (of_case["shuffled"].out_of_order or 0) > 0.6
        assert (of_case["negated"].denied or 0) > 0.8
        assert (of_case["real"].recited or 0) < 0.5
        assert (of_case["real"].out_of_order or 0) <= 0.2
        assert (of_case["real"].denied or 0) <= 0.2


def test_cases_of_both_halves_have_what_is_needed() -> None:
    cases = [*logged("tidewell"), *written(), *of_scenes()]
    for half in (True, False):
        assert sum(real.is_design == half for real in cases) > 15
    assert all({speaker for speaker, _ in real.dialogue} <= set(real.case.names) for real in cases)
    for real in cases[:9]:
        made = attacks(real.case, real.dialogue)
        assert set(KINDS) <= set(made)
        assert all(len(lines) == min(4, len(real.dialogue)) for kind, lines in made.items() if kind == "place")
        told = {memory.text for memory in real.case.initiator.memories}
        assert {text for speaker, text in made["memories"] if speaker == real.case.names[0]} <= told
        assert {text for speaker, text in made["partner's"] if speaker == real.case.names[1]} <= told
        assert [sorted(text.split()) for _, text in made["shuffled"]] == [
            sorted(text.split()) for _, text in real.dialogue
        ]


def test_memories_are_denied_and_told_with_i() -> None:
    assert negated("Bo Lind has a boat.", "Bo Lind") == "Bo Lind has not a boat."
    assert negated("Bo Lind rows at six.", "Bo Lind") == "Bo Lind does not row at six."
    assert negated("Bo Lind painted his boat.", "Bo Lind") == "Bo Lind did not paint his boat."
    assert negated("The tide is high.", "Bo Lind") == "It is not true that the tide is high."
    assert with_i("Bo Lind has his boat at Bo Lind's pier.", "Bo Lind") == "I have my boat at my pier."
