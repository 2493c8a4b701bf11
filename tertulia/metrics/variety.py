"""Measure variety without the effects of the number of words, or of dialogues that resemble each other.

1. *dist-N at equal length*: dist-N falls as texts get longer, with any words. So it is taken for a sample of as many
   n-grams as the shortest of the compared texts has: the expectation over all such samples, not a draw.
2. *Vendi score*: the number of dialogues that are as different as can be and have the same diversity. It is 1 if all
   are equal, and at most their number; so it is compared between equally many dialogues only.

Source: Hurlbert 1971, Eq. 4 (the expected number of kinds in a sample of a given size); Friedman and Dieng 2023, "The
Vendi Score: A Diversity Evaluation Metric for Machine Learning", Def. 3.1.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pydantic import Field

from tertulia.metrics.diversity import Dialogue, dialogue_text, directions_of, mean, mean_record, n_grams
from tertulia.metrics.repetition import repeated_endings, repeated_lines, repeated_share
from tertulia.state.language_model import Embedder
from tertulia.state.records import Record

#: Lengths of n-grams.
LENGTHS = (1, 2, 3)

#: An eigenvalue below this is a rounding error of 0.
_ROUNDING = 1e-12


class VarietyFigures(Record):
    """Further figures of a case besides its diversity, or their mean over cases; `None` without data."""

    dialogues: int = Field(description="number of dialogues")
    utterances: int = Field(description="number of utterances of them together")
    dist1_equal: float | None = Field(description="dist-1 expected of equally many words of every case")
    dist2_equal: float | None = Field(description="dist-2 expected of equally many pairs of words of every case")
    dist3_equal: float | None = Field(description="dist-3 expected of equally many triples of words of every case")
    vendi: float | None = Field(
        description="Vendi score of the dialogues, from 1 (all equal) to their number, at the embedder's length limit"
    )
    vendi_untruncated: float | None = Field(description="the same with each dialogue embedded whole")
    repeated_endings: float | None = Field(
        description="share of dialogues whose last utterance equals an earlier one of theirs, in [0, 1]"
    )
    repeated_lines: float | None = Field(
        description="share of utterances that equal an earlier one of their dialogue, mean over dialogues"
    )
    repeated_4grams: float | None = Field(
        description="share of 4-grams of words that an earlier utterance of the dialogue has, mean over dialogues"
    )
    truncated: int | None = Field(
        description="number of dialogues longer than the embedder reads; None where none was embedded"
    )


def variety_of_cases(cases: Mapping[str, Sequence[Dialogue]], embedder: Embedder | None) -> dict[str, VarietyFigures]:
    """Return the figures of every case, without an embedder no Vendi score.

    Dist-N at equal length is for as many n-grams as the case with the fewest has, of the cases that have any.
    """
    counts = {n: [len(n_grams(dialogues, n)) for dialogues in cases.values()] for n in LENGTHS}
    sizes = {n: min(filter(None, found), default=0) for n, found in counts.items()}
    return {case: _variety(dialogues, embedder, sizes) for case, dialogues in cases.items()}


def _variety(dialogues: Sequence[Dialogue], embedder: Embedder | None, sizes: Mapping[int, int]) -> VarietyFigures:
    embeds = embedder is not None and len(dialogues) > 1
    texts = [dialogue_text(dialogue) for dialogue in dialogues] if embeds else []
    cut, whole = (embedder.embed(texts), embedder.embed_untruncated(texts)) if embedder and texts else ([], [])
    equal = {f"dist{n}_equal": distinct_of_sample(dialogues, n, sizes[n]) for n in LENGTHS}
    return VarietyFigures(
        dialogues=len(dialogues),
        utterances=sum(map(len, dialogues)),
        **equal,
        vendi=vendi_score(cut),
        vendi_untruncated=vendi_score(whole),
        repeated_endings=repeated_endings(dialogues),
        repeated_lines=mean(repeated_lines(dialogue) for dialogue in dialogues),
        repeated_4grams=mean(repeated_share(dialogue) for dialogue in dialogues),
        # A text within the limit is embedded in one way only, to the last digit.
        truncated=sum(a != b for a, b in zip(cut, whole, strict=True)) if texts else None,
    )


def mean_variety(figures: Iterable[VarietyFigures]) -> VarietyFigures:
    """Return the mean of each figure over the cases that have it; counts are summed."""
    figures = list(figures)
    counted = [case.truncated for case in figures if case.truncated is not None]
    truncated = sum(counted) if counted else None
    return mean_record(VarietyFigures, figures, ("dialogues", "utterances"), truncated=truncated)


# --- dist-N at equal length -----------------------------------------------------------------------------------------


def distinct_of_sample(dialogues: Iterable[Dialogue], n: int, size: int) -> float | None:
    """Return the expected dist-N (n from 1) of a sample of n-grams, drawn without replacement, in (0, 1].

    It is `None` if there are fewer n-grams than `size`, or `size` is 0.
    """
    counts = Counter(n_grams(dialogues, n))
    if not 0 < size <= counts.total():
        return None
    return expected_distinct(Counter(counts.values()), counts.total(), size)


def expected_distinct(kinds: Mapping[int, int], total: int, size: int | None) -> float:
    """Return the share of distinct n-grams in a sample of so many of them, of all without a size.

    Args:
        kinds: By how often an n-gram occurs, how many do.
        size: Of the sample, drawn without replacement; no more than `total`.
    """
    if size is None:
        return sum(kinds.values()) / total
    earlier = np.arange(max(kinds, default=0), dtype=np.float64)  # occurrences of an n-gram before one of it
    missed = np.cumprod(np.append(1.0, (total - size - earlier[:-1]) / (total - earlier[:-1])))
    share = np.cumsum(missed / (total - earlier))  # by occurrences: the chance that the sample has one, by its size
    return float(sum(number * share[count - 1] for count, number in kinds.items()))


# --- Vendi score ----------------------------------------------------------------------------------------------------


def vendi_score(vectors: Sequence[Sequence[float]]) -> float | None:
    """Return the Vendi score of N nonzero vectors: e to the entropy of the eigenvalues of K / N, K their cosines.

    It is 1 if all directions are equal, N if all are at right angles, and `None` if N < 2.
    """
    if len(vectors) < 2:
        return None
    directions = directions_of(vectors)
    gram = directions @ directions.T if len(directions) <= directions.shape[1] else directions.T @ directions
    shares = np.linalg.eigvalsh(gram / len(directions))  # both have the same eigenvalues besides zeros
    shares = shares[shares > _ROUNDING]
    return float(np.exp(-(shares * np.log(shares)).sum()))
