"""Whether a line makes no sense at its place, by its words and names in any language: no model is asked.

| fault | a line |
|---|---|
| `repeats` | nearly word for word as an earlier one; of up to three words, as the two before it |
| `misnames` | of two people that talks to the partner about the partner: *I'll tell Leila*, said to Leila |

docs/measuring.md says how often real dialogues have these faults, and how much of a small model's nonsense they are.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

from tertulia.nodes.shared.names_in_text import IS_HANGUL, places_of
from tertulia.state.meeting import Start
from tertulia.state.store import Store
from tertulia.state.text import folded_words
from tertulia.state.words import goes_on, has_unspaced

Fault = Literal["repeats", "misnames"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

#: The latest lines with which a line is compared.
LINES_SEEN = 32
#: The number of lines in a row that only repeat, from which a conversation turns in a circle.
_LOOP = 3
#: The share of a line's triples of words that make it an earlier line said again: of a line of a dozen words or more,
#: and of a shorter one (people use the same phrases, and ask the same short questions).
_SAME_LONG, _SAME_SHORT, _LONG = 0.4, 0.9, 12
#: Lines of at most so many words are said again by anybody, and repeat only the lines just before.
_SHORT = 3
#: Signs of a word in scripts without spaces, in which each sign is counted.
_SIGNS = 2

Lines = Sequence[tuple[str, str]]


def faults_of(text: str, speaker: str, people: Sequence[str], before: Lines) -> tuple[Fault, ...]:
    """Return the faults of a line.

    Args:
        people: The names of all participants.
        before: The latest lines before it, as pairs of speaker and text, oldest first.
    """
    found: dict[Fault, bool] = {"repeats": _repeats(text, before), "misnames": _misnames(text, speaker, people)}
    return tuple(fault for fault, is_there in found.items() if is_there)


def lines_before(store: Store, run: str, start: Start, turn: int) -> list[tuple[str, str]]:
    """Return the latest lines before a turn as pairs of speaker and text; none in an album chat."""
    if start.kind == "album_chat":
        return []
    turns = store.turns(run, max(1, turn - LINES_SEEN), turn - 1) if turn > 1 else []
    return [(line.speaker, line.text) for line in turns if line.speaker is not None]


def is_loop(lines: Lines) -> bool:
    """Return whether each of the last three lines of a conversation only repeats earlier ones."""
    last = range(len(lines) - _LOOP, len(lines))
    return len(lines) > _LOOP and all(_repeats(lines[at][1], lines[:at]) for at in last)


def _repeats(text: str, before: Lines) -> bool:
    line, said = tuple(folded_words(text)), [tuple(folded_words(earlier)) for _, earlier in before]
    signs = _SIGNS if has_unspaced(text) else 1
    if len(line) <= _SHORT * signs:
        return bool(line) and len(said) > 1 and all(earlier == line for earlier in said[-2:])
    triples, same = _triples(line, signs), _SAME_LONG if len(line) >= _LONG * signs else _SAME_SHORT
    compared = (_triples(earlier, signs) for earlier in said if len(earlier) > _SHORT * signs)
    return any(len(triples & earlier) >= same * len(triples) for earlier in compared)


@lru_cache(maxsize=512)
def _triples(line: tuple[str, ...], signs: int) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(*(line[skip:] for skip in range(3 * signs)), strict=False))


def _misnames(text: str, speaker: str, people: Sequence[str]) -> bool:
    """Return whether the partner is named between two words: a called name has a mark, or an end, beside it.

    In scripts without spaces, and in Korean, people are spoken to by their names in place of *you*.
    """
    text = unicodedata.normalize("NFC", text)
    if len(people) != 2 or has_unspaced(text) or IS_HANGUL.search(text):
        return False
    partner = next((name for name in people if name != speaker), speaker)
    for start, end in places_of(partner, text):
        before, behind = text[:start].rstrip(), text[end:].lstrip()
        if goes_on(before[-1:]) and goes_on(behind[:1]):
            return True
    return False
