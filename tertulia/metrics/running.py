"""Measure a single dialogue over time: distinct-N over all utterances so far.

The figure at an utterance equals `metrics.diversity` over the dialogue up to it; each utterance is read once.
"""

from tertulia.metrics.diversity import n_grams


class CumulativeDistinctN:
    """`distinct_n` (n from 1) of a dialogue up to and with each of its utterances. Source: Li et al. 2016, §5.1."""

    def __init__(self, n: int) -> None:
        """Begin with no utterance."""
        self._n, self._total = n, 0
        self._seen: set[tuple[str, ...]] = set()

    def add(self, utterance: str) -> float | None:
        """Return the ratio with another utterance, in (0, 1]; `None` until one has n words."""
        grams = n_grams([[("", utterance)]], self._n)
        self._seen.update(grams)
        self._total += len(grams)
        return len(self._seen) / self._total if self._total else None
