"""Retrieval from a memory stream by relevance, recency and importance. Source: Park et al. 2023, §4.1."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from state.contracts import Embedder
from state.parameters import Parameters
from state.records import Memory


def retrieve_memories(
    memories: Sequence[Memory], points: Sequence[str], now: datetime, embedder: Embedder, parameters: Parameters
) -> list[Memory]:
    """Return the memories that bear on the focal points, oldest first.

    Each memory has a score for each focal point: relevance (cosine), recency (decay per hour) and importance, each
    scaled to [0, 1] over the stream, weighted and summed. Every focal point brings its best memories in equal parts,
    up to `memory_items_max` together; if they overlap so much that fewer than `memory_items_min` are left, the next
    best fill up. Chats stand in a block of their own, and of memories with the same text only the latest counts.

    Args:
        memories: The stream; what is not from before `now` is left out.
        points: Focal points, at least one.
        now: The present moment.
        embedder: For relevance.
        parameters: Weights, decay and limits.
    """
    eligible = (m for m in memories if m.created < now and m.kind != "chat" and not m.text.endswith(" is idle"))
    stream = list({memory.text: memory for memory in sorted(eligible, key=lambda memory: memory.created)}.values())
    if not stream:
        return []
    ages_h = np.array([(now - memory.created).total_seconds() / 3600 for memory in stream])
    recency = _scaled(parameters.recency_decay**ages_h)
    importance = _scaled(np.array([memory.importance for memory in stream]))
    vectors = np.array(embedder.embed([memory.text for memory in stream]))
    rankings = []
    for point in np.array(embedder.embed(list(points))):
        score = (
            parameters.retrieval_relevance * _scaled(vectors @ point)
            + parameters.retrieval_recency * recency
            + parameters.retrieval_importance * importance
        )
        rankings.append([int(i) for i in np.argsort(-score, kind="stable")])
    share = max(1, parameters.memory_items_max // len(rankings))
    chosen = dict.fromkeys(i for ranking in rankings for i in ranking[:share])
    by_rank = (ranking[place] for place in range(share, len(stream)) for ranking in rankings)
    for index in by_rank:
        if len(chosen) >= parameters.memory_items_min:
            break
        chosen.setdefault(index)
    return [stream[i] for i in sorted(list(chosen)[: parameters.memory_items_max])]


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = values.min(), values.max()
    return np.zeros_like(values) if high == low else (values - low) / (high - low)
