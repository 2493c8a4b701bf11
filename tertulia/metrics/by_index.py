"""Measure diversity by utterance index: over the utterances at the same place in the dialogues of a case.

An utterance is embedded by itself, without its speaker. Indices count from 0; at an index count the dialogues that
reach it, so later figures are of fewer and longer dialogues.

Source: APP App. D, Fig. 9.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from pydantic import Field

from tertulia.metrics.diversity import Dialogue, distinct_n, mean_pairwise_cosine, mean_record, words_per_utterance
from tertulia.state.language_model import Embedder
from tertulia.state.records import Record


class IndexFigures(Record):
    """The figures at an index of a case's dialogues, or their mean over cases."""

    index: int = Field(ge=0, description="place of the utterance in its dialogue")
    cases: int = Field(description="number of cases that have a dialogue as long")
    n: int = Field(description="number of dialogues that are as long, of all cases")
    sim: float | None = Field(description="mean cosine over all pairs of utterances; None for fewer than two")
    dist1: float | None = Field(description="distinct words over all words of these utterances")
    dist2: float | None = Field(description="distinct pairs of words over all pairs")
    dist3: float | None = Field(description="distinct triples of words over all triples")
    len: float | None = Field(description="words per utterance")


def by_index(cases: Mapping[str, Sequence[Dialogue]], embedder: Embedder | None) -> dict[str, list[IndexFigures]]:
    """Return the figures of every case by index; all utterances that have a pair are embedded in one batch.

    Without an embedder, similarities are `None`.
    """
    columns = {case: _columns(dialogues) for case, dialogues in cases.items()}
    paired = (text for utterances in chain(*columns.values()) if len(utterances) > 1 for _, text in utterances)
    texts = list(dict.fromkeys(paired)) if embedder else []
    vectors = dict(zip(texts, embedder.embed(texts), strict=True)) if embedder and texts else {}
    return {
        case: [_figures(index, utterances, vectors) for index, utterances in enumerate(of_case)]
        for case, of_case in columns.items()
    }


def mean_by_index(figures: Iterable[Sequence[IndexFigures]]) -> list[IndexFigures]:
    """Return the mean of each figure at each index (from 0) over the cases that have it."""
    figures = list(figures)
    longest = max(map(len, figures), default=0)
    reached = [[case[index] for case in figures if len(case) > index] for index in range(longest)]
    return [mean_record(IndexFigures, of_index, ("cases", "n"), index=index) for index, of_index in enumerate(reached)]


def _columns(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    longest = max(map(len, dialogues), default=0)
    return [[dialogue[index] for dialogue in dialogues if len(dialogue) > index] for index in range(longest)]


def _figures(index: int, utterances: Dialogue, vectors: Mapping[str, Sequence[float]]) -> IndexFigures:
    return IndexFigures(
        index=index,
        cases=1,
        n=len(utterances),
        sim=mean_pairwise_cosine([vectors[text] for _, text in utterances])
        if vectors and len(utterances) > 1
        else None,
        **{f"dist{n}": distinct_n([utterances], n) for n in (1, 2, 3)},
        len=words_per_utterance([utterances]),
    )
