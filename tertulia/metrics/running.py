"""Measure a single dialogue over time: distinct-N over all utterances so far, and the mean length of the last few.

The figure at an utterance equals `metrics.diversity` over the dialogue up to it; each utterance is read once.
"""

from collections.abc import Sequence

from tertulia.metrics.diversity import Dialogue, mean, n_grams, words


def cumulative_distinct_n(dialogue: Dialogue, n: int) -> list[float | None]:
    """Return `distinct_n` (n from 1) of a dialogue up to and with each of its utterances. Source: Li et al. 2016, §5.1.

    The ratios are in (0, 1], and `None` until an utterance has n words.
    """
    seen: set[tuple[str, ...]] = set()
    total = 0
    figures = []
    for utterance in dialogue:
        grams = n_grams([[utterance]], n)
        seen.update(grams)
        total += len(grams)
        figures.append(len(seen) / total if total else None)
    return figures


def utterance_lengths(dialogue: Dialogue) -> list[int]:
    """Return the number of words of each utterance, as `words_per_utterance` counts them."""
    return [len(words(text)) for _, text in dialogue]


def running_mean(values: Sequence[float], window: int) -> list[float | None]:
    """Return at each value the mean of it and those before it, at most `window` (from 1) of them."""
    return [mean(values[max(0, past_last - window) : past_last]) for past_last in range(1, len(values) + 1)]
