"""Measure recitation: whether a line repeats a run of words from one unit of its prompt."""

from collections.abc import Iterable

from tertulia.state.words import words

#: Words in a row that count as recited.
RECITED = 6


def recites(text: str, units: Iterable[str], length: int = RECITED) -> bool:
    """Return whether a text has so many words in a row from one unit; case and punctuation do not count."""
    spoken = word_grams(text, length)
    return any(not spoken.isdisjoint(word_grams(unit, length)) for unit in units)


def word_grams(text: str, length: int) -> set[tuple[str, ...]]:
    """Return the runs of so many words of a text."""
    spoken = [word.casefold() for word in words(text)]
    return {tuple(spoken[at : at + length]) for at in range(len(spoken) - length + 1)}
