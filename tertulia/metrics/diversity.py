"""Measure how varied dialogues are: similarity, distinct-N and length.

A case is a starting point (the same agents at the same time); its dialogues are those of several runs from there.
The figures are taken over a case's dialogues together, and averaged over cases.

Source: APP §2 (the figures and how they are averaged); Li et al. 2016, "A Diversity-Promoting Objective Function for
Neural Conversation Models" (distinct-N).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tertulia.state.language_model import Embedder
from tertulia.state.records import Record, Turn
from tertulia.state.words import words as words_of

R = TypeVar("R", bound=Record)

#: Rows and columns of the largest matrix of cosines, of 134 MB. Those of more vectors are summed, or taken in parts.
LARGEST_MATRIX = 4096

#: The lines of a dialogue: pairs of speaker and text.
Dialogue = Sequence[tuple[str, str]]


def dialogue_of(turns: Iterable[Turn]) -> Dialogue:
    """Return the utterances of turns as pairs of speaker and text, without recorded silences."""
    return [(turn.speaker, turn.text) for turn in turns if turn.speaker is not None]


class DiversityFigures(Record):
    """The figures of a case, or their mean over cases; `None` if there is nothing to take them of."""

    sim: float | None = Field(description="mean cosine over all pairs of dialogues, at the embedder's length limit")
    sim_untruncated: float | None = Field(description="the same with each dialogue embedded whole")
    dist1: float | None = Field(description="distinct words over all words, in (0, 1]")
    dist2: float | None = Field(description="distinct pairs of words over all pairs")
    dist3: float | None = Field(description="distinct triples of words over all triples")
    len: float | None = Field(description="words per utterance")


def metrics_of_cases(cases: Mapping[str, Sequence[Dialogue]], embedder: Embedder | None) -> dict[str, DiversityFigures]:
    """Return the figures of every case; all dialogues are embedded in one batch. Similarities need an embedder."""
    # A case with a single dialogue has no pair, so nothing of it is embedded.
    texts = {
        case: [dialogue_text(dialogue) for dialogue in dialogues] if embedder and len(dialogues) > 1 else []
        for case, dialogues in cases.items()
    }
    batch = list(chain.from_iterable(texts.values()))
    truncated = embedder.embed(batch) if embedder and batch else []
    untruncated = embedder.embed_untruncated(batch) if embedder and batch else []
    bounds = pairwise(accumulate(map(len, texts.values()), initial=0))
    return {
        case: DiversityFigures(
            sim=mean_pairwise_cosine(truncated[first:past_last]),
            sim_untruncated=mean_pairwise_cosine(untruncated[first:past_last]),
            **figures_of_words(dialogues),
        )
        for (case, dialogues), (first, past_last) in zip(cases.items(), bounds, strict=True)
    }


def mean_over_cases(figures: Iterable[DiversityFigures]) -> DiversityFigures:
    """Return the mean of each figure over the cases that have it; `None` if no case has it. Source: APP §2."""
    return mean_record(DiversityFigures, figures)


# --- words ----------------------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case.

    Words are matched first: lower case may split a letter into a letter and a mark that is no part of a word (`İ`).
    """
    return [word.lower() for word in words_of(text)]


def distinct_n(dialogues: Iterable[Dialogue], n: int) -> float | None:
    """Return distinct n-grams over all n-grams (n words, from 1) of these dialogues together, in (0, 1].

    N-grams stay within an utterance. It is `None` if no utterance has n words. Source: Li et al. 2016, §5.1.
    """
    return _distinct_n(_utterances(dialogues), n)


def figures_of_words(dialogues: Iterable[Dialogue]) -> dict[str, float | None]:
    """Return `distinct_n` of 1, 2 and 3 as `dist1` to `dist3`, and `words_per_utterance` as `len`.

    The words of each utterance are found once: there may be more of them than are remembered.
    """
    utterances = _utterances(dialogues)
    return {f"dist{n}": _distinct_n(utterances, n) for n in (1, 2, 3)} | {"len": mean([*map(len, utterances)])}


def _distinct_n(utterances: Sequence[Sequence[str]], n: int) -> float | None:
    count = sum(max(0, len(words) - n + 1) for words in utterances)
    distinct: set[Any] = set()
    for words in utterances:
        distinct.update(zip(*(words[skip:] for skip in range(n)), strict=False) if n > 1 else words)
    return len(distinct) / count if count else None


def n_grams(dialogues: Iterable[Dialogue], n: int) -> list[tuple[str, ...]]:
    """Return all n-grams of words (n from 1) of these dialogues, none of which goes beyond an utterance."""
    utterances = _utterances(dialogues)
    return [gram for words in utterances for gram in zip(*(words[skip:] for skip in range(n)), strict=False)]


def words_per_utterance(dialogues: Iterable[Dialogue]) -> float | None:
    """Return the mean length of an utterance of these dialogues, in words; `None` if there is no utterance."""
    return mean([len(words) for words in _utterances(dialogues)])


def _utterances(dialogues: Iterable[Dialogue]) -> list[list[str]]:
    return [_known_words(text) for dialogue in dialogues for _, text in dialogue]


@lru_cache(maxsize=4096)  # each figure of a case is about the same utterances
def _known_words(text: str) -> list[str]:
    return words(text)


# --- similarity -----------------------------------------------------------------------------------------------------


def dialogue_text(dialogue: Dialogue) -> str:
    """Return a dialogue as the text to embed: lines `Speaker: text`."""
    return "\n".join(f"{speaker}: {text}" for speaker, text in dialogue)


def mean_pairwise_cosine(vectors: Sequence[Sequence[float]]) -> float | None:
    """Return the mean cosine over the N(N−1)/2 pairs of N nonzero vectors, in [−1, 1]; `None` if N < 2.

    Source: APP §2.
    """
    if len(vectors) < 2:
        return None
    directions = directions_of(vectors)
    count = len(directions)
    if count > LARGEST_MATRIX:  # the square of the sum has every pair twice, and every vector with itself
        of_all = float(np.square(directions.sum(axis=0)).sum() - np.square(directions).sum())
        return of_all / (count * (count - 1))
    cosines = directions @ directions.T  # (N, N)
    return float(cosines[np.triu_indices(len(vectors), k=1)].mean())


def directions_of(vectors: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return vectors, none of them zero, brought to unit length: an array `(N, D)` of at least one row."""
    directions = np.asarray(vectors, dtype=np.float64)
    unit: NDArray[np.float64] = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return unit


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not `None`; `None` if there is none."""
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def mean_record(kind: type[R], records: Iterable[R], summed: Collection[str] = (), **given: Any) -> R:
    """Return a record with the mean of each figure over the records that have it; some are summed, and others given."""
    listed = list(records)
    columns = {name: [getattr(record, name) for record in listed] for name in kind.model_fields if name not in given}
    means = {name: sum(column) if name in summed else mean(column) for name, column in columns.items()}
    return kind.model_validate(means | given)
