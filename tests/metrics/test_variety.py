"""dist-N at equal length, Vendi score and repetition, against what counting and other formulas give."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.letters import LetterEmbedder
from support.on_use import on_use

from tertulia.metrics.diversity import distinct_n, words
from tertulia.metrics.repetition import ends_in_repetition, repeated_endings, repeated_lines
from tertulia.metrics.variety import distinct_of_sample, mean_variety, variety_of_cases, vendi_score

scipy = on_use("scipy")

ONE_WORD = st.sampled_from("abcd")


def spoken(texts: list[str]) -> list[list[tuple[str, str]]]:
    return [[("Ana", " ".join(texts))]]


@given(texts=st.lists(ONE_WORD, min_size=1, max_size=8), data=st.data())
def test_dist_at_equal_length_is_the_mean_over_all_samples(texts: list[str], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(texts)))
    samples = list(combinations(texts, size))
    expected = sum(len(set(sample)) for sample in samples) / len(samples) / size
    assert distinct_of_sample(spoken(texts), 1, size) == pytest.approx(expected, abs=1e-9)


@given(texts=st.lists(ONE_WORD, min_size=2, max_size=60), n=st.integers(1, 3))
def test_dist_of_all_n_grams_is_dist_n_and_shorter_samples_are_more_varied(texts: list[str], n: int) -> None:
    total = max(0, len(texts) - n + 1)
    figures = [distinct_of_sample(spoken(texts), n, size) for size in range(1, total + 1)]
    assert figures[-1:] == [pytest.approx(distinct_n(spoken(texts), n))] * bool(total)
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(figures))


@pytest.mark.parametrize("total", [49, 3000, 40_000])
@pytest.mark.parametrize("size", [1, 7, 49])
def test_words_that_occur_once_are_all_distinct_at_any_length(total: int, size: int) -> None:
    found = distinct_of_sample(spoken([f"word{i}" for i in range(total)]), 1, size)
    assert found is not None
    assert 1 - 1e-12 <= found <= 1


vectors = st.integers(2, 6).flatmap(
    lambda size: st.lists(
        st.lists(st.floats(-3, 3).filter(lambda x: abs(x) > 0.01), min_size=3, max_size=3), min_size=size, max_size=size
    )
)


@given(vectors=vectors)
def test_vendi_is_the_entropy_of_the_kernels_eigenvalues(vectors: list[list[float]]) -> None:
    kernel = [[np.dot(a, b) / math.hypot(*a) / math.hypot(*b) for b in vectors] for a in vectors]
    shares = [value for value in scipy.linalg.eigvals(np.array(kernel) / len(vectors)).real if value > 1e-12]
    expected = math.exp(sum(share * math.log(1 / share) for share in shares))
    found = vendi_score(vectors)
    assert found == pytest.approx(expected, abs=1e-6)
    assert found == pytest.approx(vendi_score(vectors[::-1]), abs=1e-9)
    assert 1 - 1e-9 <= (found or 0) <= len(vectors) + 1e-9


def test_the_figures_of_cases() -> None:
    long = [
        ("Ana", "a lake and a boat and a heron"),
        ("Bo", "a lake and a boat, yes"),
        ("Ana", "A lake and a boat! Yes?"),
    ]
    short, mute = [("Ana", "no"), ("Bo", "oh no")], [("Ana", "…")]
    figures = variety_of_cases({"two": [long, short], "one": [short], "mute": [mute]}, LetterEmbedder())
    counts = Counter(word for dialogue in (long, short) for _, text in dialogue for word in words(text))
    expected = sum(1 - math.prod((23 - n - i) / (23 - i) for i in range(3)) for n in counts.values()) / 3
    assert sum(counts.values()) == 23
    two, one, mute_figures = figures.values()
    assert two.dist1_equal == pytest.approx(expected)
    assert (one.dist1_equal, one.dist2_equal, one.dist3_equal) == (2 / 3, 1, None)
    assert (two.dialogues, two.utterances, two.truncated) == (2, 5, 1)
    assert (one.vendi, one.truncated, mute_figures.dist1_equal, mute_figures.repeated_endings) == (
        None,
        None,
        None,
        None,
    )
    assert two.repeated_endings == 0.5
    assert two.vendi != two.vendi_untruncated
    mean = mean_variety(figures.values())
    assert (mean.dialogues, mean.utterances, mean.truncated) == (4, 8, 1)
    assert mean.dist1_equal == pytest.approx((expected + 2 / 3) / 2)
    assert variety_of_cases({"two": [long, short]}, None)["two"].vendi is None
    assert mean_variety([]).vendi is None


def test_a_last_utterance_repeats_whatever_its_case_and_punctuation() -> None:
    assert ends_in_repetition([("Ana", "See you!"), ("Bo", "Fine."), ("Bo", "see you…")]) is True
    assert ends_in_repetition([("Ana", "See you!"), ("Bo", "See you soon.")]) is False
    assert ends_in_repetition([("玛丽亚", "好，我们去。"), ("克劳斯", "好 我们去！")]) is True
    assert ends_in_repetition([("Ana", ""), ("Bo", "")]) is True
    assert ends_in_repetition([("Ana", "Alone.")]) is None
    assert ends_in_repetition([]) is None
    assert repeated_lines([("Ana", "What?"), ("Bo", "What"), ("Ana", "what?"), ("Bo", "No.")]) == 0.5
    assert (repeated_lines([("Ana", "Alone.")]), repeated_lines([])) == (None, None)
    assert repeated_endings([[("Ana", "a"), ("Bo", "a")], [("Ana", "a"), ("Bo", "b")], [("Ana", "a")]]) == 0.5
