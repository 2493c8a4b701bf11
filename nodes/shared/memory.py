"""Retrieval from a memory stream by relevance, recency and importance. Source: Park et al. 2023, §4.1."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tertulia.nodes.shared.called_up import called_up
from tertulia.state.language_model import Embedder
from tertulia.state.parameters import Parameters
from tertulia.state.recall import may_be_recalled, recency
from tertulia.state.records import Memory, Participant
from tertulia.state.same import Same
from tertulia.state.store import Recollection, Store

Numbers = NDArray[np.float64]

#: The query of retrieval: a text, or several texts that count as one, each embedded by itself.
Point = str | tuple[str, ...]


def recall(
    participant: Participant,
    points: Sequence[Point],
    now: datetime,
    embedder: Embedder,
    store: Store,
    parameters: Parameters,
    calling: Sequence[str] = (),
) -> list[Memory]:
    """Return the memories of a participant for one or more focal points, from their memories and their stream.

    Args:
        calling: Texts that call up memories by their keys; those without keys fill the places left.
    """
    least, most = parameters.memory_items
    free = tuple(memory for memory in participant.memories if not memory.keys)
    if len(free) < len(participant.memories):
        called = called_up(participant.memories, calling, now, most)
        left = {"memory_items_min": max(0, least - len(called)), "memory_items_max": most - len(called)}
        others, narrowed = participant.model_copy(update={"memories": free}), parameters.model_copy(update=left)
        filled = recall(others, points, now, embedder, store, narrowed) if len(called) < most else []
        return sorted([*called, *filled], key=lambda memory: memory.created)
    stream, memories = participant.stream, participant.memories
    if stream is None:
        return retrieve_memories(memories, points, now, embedder, parameters)
    if stream.embedder != embedder.id:  # a fork has another embedder: vectors of two can't be compared
        candidates = [*store.remembered(stream), *memories]
        return retrieve_memories(candidates, points, now, embedder, parameters)
    found = store.recollect(stream, point_vectors(embedder, points).tolist(), parameters)
    if memories or not found.numbers:
        candidates = [*store.remembered(stream, found.numbers), *memories]
        return retrieve_memories(candidates, points, now, embedder, parameters)
    return [*store.remembered(stream, best_of(found, parameters))]


def retrieve_memories(
    memories: Sequence[Memory], points: Sequence[Point], now: datetime, embedder: Embedder, parameters: Parameters
) -> list[Memory]:
    """Return the memories that bear on the focal points, oldest first.

    Each memory has a score for each focal point: relevance (cosine), recency (decay per hour) and importance, each
    scaled to [0, 1] over the stream, weighted and summed. Every focal point brings its best memories in equal parts,
    up to `memory_items_max` together; if they overlap so much that fewer than `memory_items_min` are left, the next
    best fill up. Chats stand in a block of their own, and of memories with the same text only the latest counts.

    Args:
        memories: The stream; memories that are not from before `now` are passed over.
        points: Focal points, at least one.
    """
    stream = _stream_of(memories, now)
    if not stream.memories:
        return []
    vectors = _vectors(embedder, stream.texts)  # type: ignore[arg-type]  # it is hashable
    focal_points = point_vectors(embedder, points)
    best = best_of_stream(stream.ages_s, stream.importance, vectors, focal_points, parameters)
    return [stream.memories[index] for index in best]


class _Stream(NamedTuple):
    """The memories that may be recalled at a moment, oldest first, of the same text only the latest."""

    memories: list[Memory]
    texts: tuple[str, ...]
    ages_s: Numbers
    importance: Numbers

    @classmethod
    def of(cls, memories: Sequence[Memory], now: datetime) -> "_Stream":
        eligible = (memory for memory in memories if memory.created < now and may_be_recalled(memory))
        stream = list({memory.text: memory for memory in sorted(eligible, key=lambda memory: memory.created)}.values())
        ages_s = np.array([(now - memory.created).total_seconds() for memory in stream])
        importance = np.array([memory.importance for memory in stream])
        return cls(stream, tuple(memory.text for memory in stream), ages_s, importance)


def _stream_of(memories: Sequence[Memory], now: datetime) -> _Stream:
    return _kept_stream(Same(memories), now) if isinstance(memories, tuple) else _Stream.of(memories, now)


@lru_cache(maxsize=64)  # in every turn the same memories are looked through
def _kept_stream(memories: Same[tuple[Memory, ...]], now: datetime) -> _Stream:
    return _Stream.of(memories.held, now)


def texts_before(memories: Sequence[Memory], now: datetime) -> list[str]:
    """Return the texts of memories that may be recalled at a moment, each once."""
    return [*_stream_of(memories, now).texts]


def texts_of(points: Sequence[Point]) -> list[str]:
    """Return the texts of focal points, in their order."""
    return [text for point in points for text in ((point,) if isinstance(point, str) else point)]


def point_vectors(embedder: Embedder, points: Sequence[Point]) -> Numbers:
    """Return the vectors `(P, D)` of focal points: that of its text, or the mean of its texts' at unit length.

    Texts count by their characters, nearly as tokens do if they are one text.
    """
    vectors = iter(np.array(embedder.embed(texts_of(points))))
    return np.array([next(vectors) if isinstance(point, str) else _mean(point, vectors) for point in points])


def _mean(texts: Sequence[str], vectors: Iterator[Numbers]) -> Numbers:
    mean: Numbers = np.sum([len(text) * next(vectors) for text in texts], axis=0)
    return mean / (float(np.linalg.norm(mean)) or 1.0)


@lru_cache(maxsize=64)  # in every turn the same memories are looked through: ten thousands of numbers
def _vectors(embedder: Embedder, texts: tuple[str, ...]) -> Numbers:
    return np.array(embedder.embed(texts))


def best_of_stream(
    ages_s: Numbers, importance: Numbers, vectors: Numbers, focal_points: Numbers, parameters: Parameters
) -> list[int]:
    """Return the indices of the memories that bear on the focal points, of `N` with different texts, ascending.

    Args:
        ages_s: `(N,)`, their age in simulated seconds.
        importance: `(N,)`, from 0 to 10.
        vectors: `(N, D)`, their embeddings.
        focal_points: `(P, D)`, those of the points.
    """
    recent = recency(ages_s)
    relevance = np.array([vectors @ point for point in focal_points])
    spans = [_span(values) for values in (*relevance, recent, importance)]
    return _best(relevance, recent, importance, spans, parameters)


def best_of(found: Recollection, parameters: Parameters) -> list[int]:
    """Return the numbers that `retrieve_memories` would choose of these; scores are scaled over the whole stream."""
    oldest, newest = found.created_span_s
    # Scaled to [0, 1], recency does not depend on the moment at which it is computed.
    recent = recency(newest - np.array(found.created_s))
    recency_span = recency(newest - oldest), 1.0
    spans = [*found.relevance_spans, recency_span, found.importance_span]
    best = _best(np.array(found.relevance), recent, np.array(found.importance), spans, parameters)
    return [found.numbers[index] for index in best]


def _best(
    relevance: Numbers,
    recent: Numbers,
    importance: Numbers,
    spans: Sequence[tuple[float, float]],
    parameters: Parameters,
) -> list[int]:
    """Return the indices of the best of `N` memories for `P` focal points, ascending.

    Args:
        relevance: `(P, N)` cosines.
        recent: `(N,)` recency.
        importance: `(N,)`.
        spans: The range over which each is scaled to [0, 1]: `P` of relevance, then those of the other two.
    """
    least, most = parameters.memory_items
    *relevance_spans, recency_span, importance_span = spans
    scaled_recency, scaled_importance = _scaled(recent, recency_span), _scaled(importance, importance_span)
    rankings = []
    for cosines, span in zip(relevance, relevance_spans, strict=True):
        score = (
            parameters.retrieval_relevance * _scaled(cosines, span)
            + parameters.retrieval_recency * scaled_recency
            + parameters.retrieval_importance * scaled_importance
        )
        rankings.append(_highest(score, most))
    share = max(1, most // len(rankings))
    chosen = dict.fromkeys(index for ranking in rankings for index in ranking[:share])
    by_rank = (ranking[rank] for rank in range(share, len(rankings[0])) for ranking in rankings)
    for index in by_rank:
        if len(chosen) >= least:
            break
        chosen.setdefault(index)
    return sorted(list(chosen)[:most])


def _highest(scores: Numbers, count: int) -> list[int]:
    """Return the indices of the highest scores, from the highest down; of equal scores the earlier first."""
    indices = np.arange(len(scores))
    if count < len(scores):
        least = np.partition(scores, -count)[-count]
        indices = np.flatnonzero(scores >= least)
    ranking: list[int] = indices[np.argsort(-scores[indices], kind="stable")][:count].tolist()
    return ranking


def _span(values: Numbers) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _scaled(values: Numbers, span: tuple[float, float]) -> Numbers:
    low, high = span
    return np.zeros_like(values) if high == low else (values - low) / (high - low)
