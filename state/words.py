"""The words of a text, in any script: the units that diversity, lengths and search count.

1. Letters and digits are words, with apostrophes inside; marks belong to the letter before them. In texts without marks
   that is `[^\\W_]+(?:['’][^\\W_]+)*`.
2. In scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) such a match is a whole
   clause. It is cut at the word boundaries of Unicode's default rules (UAX #29), which know no dictionary: every sign
   is a word, but katakana, Latin letters and digits stay whole.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Any

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

#: All that is beyond European letters and signs.
_IS_BEYOND = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0590-\u1cff\u1dc0-\u1dff\u200c\u200d\u2e80-\uf8ff\uf900-\ufdff\ufe20-\uffff\U00010000-\U0003ffff]"
)

#: Points of Hebrew and Arabic, which may be left out and change no word.
_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670]")

_LETTER = r"[\p{L}\p{N}]"
_LETTER_OR_MARK = r"[\p{L}\p{N}[\p{Mn}\p{Mc}--\p{Variation_Selector}]\u200c\u200d]"
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{LB=SA}]"


@lru_cache
def _patterns() -> tuple[Any, Any, Any]:
    """Return the patterns of a word, of a sign of a script without spaces, and of UAX #29's word boundaries."""
    import regex  # when it is needed first: English goes without

    word = rf"(?V1){_LETTER}{_LETTER_OR_MARK}*(?:['’]{_LETTER}{_LETTER_OR_MARK}*)*"
    return regex.compile(word), regex.compile(rf"(?V1){_UNSPACED}"), regex.compile(r"(?V1w)\b")


def is_beyond_europe(text: str) -> bool:
    """Return whether a text may hold marks, or signs of a script without spaces."""
    return _IS_BEYOND.search(text) is not None


def words(text: str) -> list[str]:
    """Return the words of a text, as they are written."""
    return [text[begin:end] for begin, end in word_spans(text)]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and the end of each word of a text."""
    if not is_beyond_europe(text):
        return [match.span() for match in _WORD.finditer(text)]
    word, unspaced, boundary = _patterns()
    spans: list[tuple[int, int]] = []
    for match in word.finditer(text):
        begin, end = match.span()
        if not unspaced.search(match[0]):
            spans.append((begin, end))
            continue
        cuts = [begin, *(cut.start() for cut in boundary.finditer(text, begin, end) if begin < cut.start() < end), end]
        spans += [(a, b) for a, b in pairwise(cuts) if text[a].isalnum()]
    return spans


def goes_on(sign: str) -> bool:
    """Return whether a word goes on with a sign: a letter, a digit, or a mark of the letter before; not with none."""
    return sign.isalnum() or (sign != "" and unicodedata.category(sign)[0] == "M" and not _POINTS.match(sign))


def without_case(text: str) -> str:
    """Return a text as it is compared where letter case makes no difference: composed, and without points.

    Both of Turkish's letters *i* are one then, as in other languages there is one.
    """
    folded = unicodedata.normalize("NFC", text).casefold().replace("i\u0307", "i").replace("ı", "i")
    return _POINTS.sub("", folded) if is_beyond_europe(folded) else folded


def has_unspaced(text: str) -> bool:
    """Whether a text holds signs of a script that is written without spaces."""
    return is_beyond_europe(text) and bool(_patterns()[1].search(text))


def spoken_words(text: str) -> int:
    """Return the number of words of a text as it is spoken.

    White space separates words; in scripts without spaces they are those of `words`.
    """
    parts = text.split()
    if not has_unspaced(text):
        return len(parts)
    return sum(max(1, len(words(part))) if has_unspaced(part) else 1 for part in parts)


def segmenter() -> str:
    """Return the name of the word segmenter, for comparing figures."""
    import regex

    return f"UAX #29, signs of scripts without spaces one by one (regex {regex.__version__})"
