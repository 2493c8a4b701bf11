"""Quotes, shares and lists as they stand in the sentence about a turn."""

from collections.abc import Sequence

from tertulia.state.text import beside, clean

#: The most characters of a text that a sentence quotes, and that it quotes if it tells of more than an utterance.
QUOTED, QUOTED_IN_SHORT = 60, 42

#: Above this, a number of times says no more.
_MOST_TIMES = 1000

#: The most people that a sentence names.
_NAMED = 6


def quoted(text: str, most: int = QUOTED) -> str:
    """Return a text in quotation marks, on one line, cut behind a word if it is longer than `most` characters.

    Marks inside become single ones, and a full stop at the end goes. A first word that is too long itself (Chinese has
    no spaces) is cut within.
    """
    text = clean(text).removeprefix("- ").replace("“", "‘").replace("”", "’")
    text = text.removesuffix(".") if not text.endswith("..") else text
    if len(text) <= most:
        return f"“{text}”"
    cut, _, _ = text[:most].rpartition(" ")
    return f"“{(cut or text[: most - 1]).rstrip(' .,;:–-')}…”"


def percentage(share: float) -> str:
    """Return a share as a percentage with one digit behind the point, which is left out if it is 0."""
    return f"{share * 100:.1f}".removesuffix(".0") + "%"


def percentage_beside(share: float, other: float) -> str:
    """Return a share as a percentage with one digit, or with so many that it is not read as another share."""
    return beside(share * 100, other * 100, 1).removesuffix(".0") + "%"


def willingness_beside(willingness: float, threshold: float) -> str:
    """Return W so that rounding does not bring it across θ."""
    return beside(round(willingness, 9), threshold)  # so far as `reaches` looks


def times(number: int) -> str:
    """Return `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def times_in_words(factor: float) -> str:
    """Return `1.4 times`, `9 times`, `120 times`, `over 1,000 times`."""
    if factor > _MOST_TIMES:
        return f"over {_MOST_TIMES:,} times"
    return f"{factor:.1f}".removesuffix(".0") + " times" if factor < 3 else f"{float(f'{factor:.2g}'):,.0f} times"


def people(names: Sequence[str]) -> str:
    """Return names as they stand in a sentence; of many, the first ones and how many others there are."""
    shown = list(names) if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} others"]
    return listed(shown)


def listed(phrases: Sequence[str]) -> str:
    """Return phrases as they stand in a sentence: `A`, `A and B`, `A, B and C`."""
    *others, last = phrases
    return f"{', '.join(others)} and {last}" if others else last
