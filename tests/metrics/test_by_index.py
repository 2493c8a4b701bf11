"""Diversity at each index, and exclusiveness, recomputed by hand."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.letters import LetterEmbedder

from tertulia.metrics.by_index import by_index, mean_by_index
from tertulia.metrics.diversity import Dialogue, distinct_n, words_per_utterance
from tertulia.metrics.exclusiveness import (
    exclusiveness,
    exclusiveness_of_cases,
    mean_exclusiveness,
    mean_highest_cosine,
)

A = [[("Ana", "a lake"), ("Bo", "a boat")], [("Ana", "the lake"), ("Bo", "no"), ("Ana", "yes, a lake")]]
B = [[("Ana", "a boat")]]

texts = st.text("ab c.", max_size=12)
cases = st.lists(st.lists(st.tuples(st.sampled_from(["Ana", "Bo"]), texts), max_size=4), max_size=4)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


@given(dialogues=cases)
def test_every_index_is_measured_over_the_dialogues_that_reach_it(dialogues: list[Dialogue]) -> None:
    found = by_index({"x": dialogues}, LetterEmbedder())["x"]
    assert len(found) == max(map(len, dialogues), default=0)
    for index, figures in enumerate(found):
        spoken = [dialogue[index] for dialogue in dialogues if index < len(dialogue)]
        vectors = LetterEmbedder().embed([text for _, text in spoken])
        pairs = [cosine(a, b) for at, a in enumerate(vectors) for b in vectors[at + 1 :]]
        assert (figures.index, figures.n, figures.cases) == (index, len(spoken), 1)
        assert figures.sim == (pytest.approx(sum(pairs) / len(pairs), abs=1e-6) if pairs else None)
        assert [figures.dist1, figures.dist2, figures.dist3] == [distinct_n([spoken], n) for n in (1, 2, 3)]
        assert figures.len == words_per_utterance([spoken])


def test_the_mean_at_an_index_is_over_the_cases_that_reach_it() -> None:
    embedder = LetterEmbedder()
    figures = by_index({"a": A, "b": B, "none": []}, embedder)
    assert len(embedder.batches) == 1
    first, second, third = mean_by_index(figures.values())
    assert (first.cases, first.n, second.cases, second.n, third.cases, third.n) == (2, 3, 1, 2, 1, 1)
    assert first.dist1 == pytest.approx((3 / 4 + 1) / 2)
    assert first.sim == figures["a"][0].sim
    assert third.sim is None
    assert mean_by_index([]) == []
    assert by_index({"a": A}, None)["a"][0].sim is None


def test_exclusive_is_what_the_others_never_say() -> None:
    found = exclusiveness(A, [[("Ana", "a boat on the sea")], [("Bo", "no")]], LetterEmbedder())
    assert found.exclusive1 == pytest.approx(2 / 6)  # on, sea; not a, boat, the, no
    assert found.exclusive2 == pytest.approx(3 / 4)
    assert (found.exclusive3, found.n_a, found.n_b, found.cases) == (1.0, 2, 2, 1)


vectors = st.lists(st.lists(st.floats(0.1, 9), min_size=2, max_size=2), max_size=4)


@given(a=vectors, b=vectors)
def test_similarity_is_that_with_the_nearest(a: list[list[float]], b: list[list[float]]) -> None:
    nearest = [max(cosine(y, x) for x in a) for y in b] if a else []
    expected = pytest.approx(sum(nearest) / len(nearest), abs=1e-6) if nearest else None
    assert mean_highest_cosine(a, b) == expected


def test_exclusiveness_of_cases_is_of_those_that_both_have() -> None:
    found = exclusiveness_of_cases({"x": A, "y": B, "z": []}, {"y": A, "x": B, "z": B, "w": B}, LetterEmbedder())
    assert list(found) == ["y", "x", "z"]
    assert (found["z"].max_sim, found["z"].exclusive1) == (None, None)
    mean = mean_exclusiveness(found.values())
    assert mean.cases == 3
    assert mean.exclusive1 == pytest.approx(((found["x"].exclusive1 or 0) + (found["y"].exclusive1 or 0)) / 2)
    assert exclusiveness(A, B, None).max_sim is None
