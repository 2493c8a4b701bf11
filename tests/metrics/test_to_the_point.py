"""The benchmark of what the embedded model says: its figures on dialogues whose figures are known."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.to_the_point import cut, interval, shown, word_count
from tertulia.worlds.catalog import resolve

CASES = Path(__file__).parents[2] / "benchmarks" / "cases"
DIALOGUES = [[("Ana", "One two three."), ("Ben", "Four.")], [("Ana", "Five six."), ("Ben", "Seven eight nine.")]]


@pytest.mark.parametrize("length", [0, 1, 4, 9, 20])
def test_dialogues_are_cut_to_a_number_of_words(length: int) -> None:
    assert word_count(cut(DIALOGUES, length)) == min(length, word_count(DIALOGUES))


def test_words_are_taken_from_all_dialogues_in_turn() -> None:
    assert cut(DIALOGUES, 4) == [[("Ana", "one two three"), ("Ana", "five")]]


def test_an_interval_holds_the_mean_and_is_a_point_where_all_are_equal() -> None:
    assert interval(np.array([2.0, 2.0, 2.0])) == (2.0, 2.0)
    low, high = interval(np.array([0.0, 1.0, 0.0, 1.0]))
    assert low < 0.5 < high
    assert shown(np.array([1.0, np.nan])) == "–"


def test_the_cases_that_nobody_tuned_on_are_eight_dialogues_of_other_people() -> None:
    names = [name for file in CASES.glob("*.yaml") for name in resolve(str(file)).names]
    assert len(set(names)) == len(names) == 16
