import random
from collections import Counter

import pytest

from tertulia.nodes.shared.human_needs import (
    CLOSENESS_CHANCE,
    EMOTION_CHANCE,
    MODIFIERS,
    UNSATISFIED_CHANCE,
    draw_human_needs,
)
from tertulia.state.randomness import keyed_generator

DRAWS = 20_000


@pytest.fixture(scope="module")
def drawn():
    generator = random.Random(3)
    return [draw_human_needs(generator) for _ in range(DRAWS)]


@pytest.mark.parametrize("chances", [EMOTION_CHANCE, CLOSENESS_CHANCE])
def test_chances_sum_to_one(chances) -> None:
    assert sum(chances.values()) == pytest.approx(1)


def test_shares_are_those_of_the_appendix(drawn) -> None:
    needs = Counter(adjective for needs in drawn for _, adjective in needs.unsatisfied)
    assert {need: count / DRAWS for need, count in needs.items()} == pytest.approx(UNSATISFIED_CHANCE, abs=0.015)
    emotions = Counter(needs.emotion for needs in drawn)
    assert {emotion: count / DRAWS for emotion, count in emotions.items()} == pytest.approx(EMOTION_CHANCE, abs=0.015)
    closeness = Counter(needs.closeness for needs in drawn)
    assert {level: count / DRAWS for level, count in closeness.items()} == pytest.approx(CLOSENESS_CHANCE, abs=0.015)
    modifiers = Counter(modifier for needs in drawn for modifier, _ in needs.unsatisfied)
    total = sum(modifiers.values())
    assert {modifier: modifiers[modifier] / total for modifier in MODIFIERS} == pytest.approx(
        dict.fromkeys(MODIFIERS, 0.25), abs=0.015
    )


def test_the_procedure_gives_one_to_seven_items_where_table_1_says_two_to_six(drawn) -> None:
    items = Counter(len(needs.unsatisfied) + (needs.emotion is not None) + 1 for needs in drawn)
    assert set(items) == set(range(1, 8))
    assert items[1] / DRAWS == pytest.approx(0.6**4 * 0.8 * 0.52, abs=0.01)
    assert items[7] / DRAWS == pytest.approx(0.4**4 * 0.2 * 0.48, abs=0.002)


def test_each_agent_draws_from_a_generator_of_its_own() -> None:
    def drawn_for(name):
        return [draw_human_needs(keyed_generator(s, agent=name, node="human_needs")) for s in range(20)]

    assert drawn_for("Ida") == drawn_for("Ida")
    assert drawn_for("Ida") != drawn_for("Jonas")
