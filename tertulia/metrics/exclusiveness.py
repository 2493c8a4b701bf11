"""Measure how much of the content under a setting B does not occur under a setting A.

Source: APP App. D, "Measuring the exclusiveness of content across settings", Table 6.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tertulia.metrics.diversity import LARGEST_MATRIX, Dialogue, dialogue_text, directions_of, mean_record, n_grams
from tertulia.state.language_model import Embedder
from tertulia.state.records import Record


class Exclusiveness(Record):
    """How exclusive the dialogues of B are against those of A, of a case or as the mean over cases."""

    cases: int = Field(description="number of cases that both have")
    n_a: int = Field(description="number of dialogues of A")
    n_b: int = Field(description="number of dialogues of B")
    max_sim: float | None = Field(
        description="mean over the dialogues of B of the highest cosine with one of A, at the embedder's length limit"
    )
    max_sim_untruncated: float | None = Field(description="the same with each dialogue embedded whole")
    exclusive1: float | None = Field(description="share of the distinct words of B that A does not have, in [0, 1]")
    exclusive2: float | None = Field(description="share of the distinct pairs of words of B that A does not have")
    exclusive3: float | None = Field(description="share of the distinct triples of words of B that A does not have")


def exclusiveness(a: Sequence[Dialogue], b: Sequence[Dialogue], embedder: Embedder | None) -> Exclusiveness:
    """Return how exclusive the dialogues of B are against other ones, A, which start from the same case.

    Similarities are `None` without an embedder.
    """
    texts_a, texts_b = ([dialogue_text(dialogue) for dialogue in dialogues] for dialogues in (a, b))
    cut = whole = None
    if embedder is not None and a and b:
        texts = [*texts_a, *texts_b]
        for_cut, for_whole = embedder.embed(texts), embedder.embed_untruncated(texts)
        cut, whole = (mean_highest_cosine(vectors[: len(a)], vectors[len(a) :]) for vectors in (for_cut, for_whole))
    return Exclusiveness(
        cases=1,
        n_a=len(a),
        n_b=len(b),
        max_sim=cut,
        max_sim_untruncated=whole,
        **{f"exclusive{n}": exclusive_share(a, b, n) for n in (1, 2, 3)},
    )


def exclusiveness_of_cases(
    a: Mapping[str, Sequence[Dialogue]], b: Mapping[str, Sequence[Dialogue]], embedder: Embedder | None
) -> dict[str, Exclusiveness]:
    """Return how exclusive B is against A, for every case that both have, in the order of B."""
    return {case: exclusiveness(a[case], dialogues, embedder) for case, dialogues in b.items() if case in a}


def mean_exclusiveness(figures: Iterable[Exclusiveness]) -> Exclusiveness:
    """Return the mean of each figure over the cases (or pairs of seeds) that have it; counts are summed."""
    return mean_record(Exclusiveness, figures, ("cases", "n_a", "n_b"))


def exclusive_share(a: Iterable[Dialogue], b: Iterable[Dialogue], n: int) -> float | None:
    """Return the share of the distinct n-grams (n words, from 1) of B that A does not have, in [0, 1].

    It is `None` if B has no n-gram, or A has none: then there is nothing to be exclusive against.
    """
    known, found = set(n_grams(a, n)), set(n_grams(b, n))
    return len(found - known) / len(found) if known and found else None


def mean_highest_cosine(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> float | None:
    """Return the mean over the vectors of B of the highest cosine with one of A; `None` if either has none."""
    if not a or not b:
        return None
    of_a, of_b = directions_of(a), directions_of(b)
    highest = [
        np.max([(part @ other.T).max(axis=1) for other in _in_parts(of_a)], axis=0)  # (LARGEST_MATRIX,)
        for part in _in_parts(of_b)
    ]
    return float(np.concatenate(highest).mean())


def _in_parts(directions: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [directions[first : first + LARGEST_MATRIX] for first in range(0, len(directions), LARGEST_MATRIX)]
