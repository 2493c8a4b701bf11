"""Measure repetition within a dialogue: of whole utterances, and of their words.

Source: APP §6, footnote 2 (the rate of duplicated final utterances).
"""

from collections.abc import Iterable

from tertulia.metrics.diversity import Dialogue, mean, words
from tertulia.state.text import folded


def ends_in_repetition(dialogue: Dialogue) -> bool | None:
    """Return whether the last utterance equals an earlier one; `None` if there is no earlier one.

    Case and punctuation do not count, nor does the speaker. Source: APP §6, footnote 2.
    """
    if len(dialogue) < 2:
        return None
    *earlier, last = (folded(text) for _, text in dialogue)
    return last in earlier


def repeated_endings(dialogues: Iterable[Dialogue]) -> float | None:
    """Return the rate of duplicated final utterances, in [0, 1]; `None` if no dialogue has two utterances."""
    return mean(ends_in_repetition(dialogue) for dialogue in dialogues)


def repeated_lines(dialogue: Dialogue) -> float | None:
    """Return the share of utterances that equal an earlier one, in [0, 1]; `None` of fewer than two utterances.

    Case and punctuation do not count, nor does the speaker. Lines of a word or two count, which have no 4-gram.
    """
    if len(dialogue) < 2:
        return None
    return sum(equals_earlier(dialogue)) / len(dialogue)


def equals_earlier(dialogue: Dialogue) -> list[bool]:
    """Return of each utterance whether it equals an earlier one. Case and punctuation do not count."""
    said = [folded(text) for _, text in dialogue]
    first = {text: at for at, text in reversed([*enumerate(said)])}
    return [first[text] < at for at, text in enumerate(said)]


def repeated_share(dialogue: Dialogue) -> float | None:
    """Return the share of 4-grams of words that an earlier utterance of the dialogue has, in [0, 1].

    A 4-gram that comes several times in an utterance counts once there. It is `None` if no utterance has four words.
    """
    seen: set[tuple[str, ...]] = set()
    found = total = 0
    for _, text in dialogue:
        spoken = words(text)
        grams = set(zip(*(spoken[skip:] for skip in range(4)), strict=False))
        found, total = found + len(grams & seen), total + len(grams)
        seen |= grams
    return found / total if total else None
