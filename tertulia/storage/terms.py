"""The query language of search, the same over every database: which words and phrases a text must hold.

White space and punctuation separate words. In scripts without spaces that is a whole clause, so texts that hold such
signs are also looked through by the words of `state.words`: 公园 is in 去公园吧, not in 公司在园区.

The indexes part words at marks, such as the vowels of Hindi, so passages that they find for a term of such a script are
looked through likewise: हाँ is not in कहाँ.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tertulia.state.words import word_spans

#: The first and the last of the signs of scripts without spaces.
UNSPACED = (
    *(("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u2e80", "\ud7ff"), ("\uf900", "\ufaff")),
    ("\U00020000", "\U0003ffff"),
)


#: Signs of scripts in which marks other than accents are parts of words: beyond European letters, and in none of the
#: blocks that all scripts share.
_MARKED = re.compile("[\u0590-\u1cff\ua640-\ufdff\ufe70-\ufefc\U00010000-\U0001efff]")


@dataclass(frozen=True)
class Term:
    """A word, or several in their order; with `is_prefix` the last is the beginning of a word."""

    text: str
    is_prefix: bool


def terms_of(query: str) -> list[Term]:
    """Return the terms of a query: words, and "several words" in quotes; a word that ends in `*` begins one."""
    parts = query.split('"')
    phrases = [Term(part.strip(), False) for part in parts[1::2] if part.strip()]
    words = [word for part in parts[0::2] for word in part.split()]
    return phrases + [Term(word.rstrip("*"), word.endswith("*")) for word in words if word.strip("*")]


def marked_terms(terms: Sequence[Term]) -> list[Term]:
    """Return the terms that an index may find in other words, as it parts words at marks."""
    return [term for term in terms if _MARKED.search(term.text)]


def holds_terms(text: str, terms: Sequence[Term]) -> bool:
    """Whether a text holds all terms, each as words that follow each other as they do in the term."""
    words = _words(text)
    found = [(wanted, term.is_prefix) for term in terms if (wanted := _words(term.text))]
    return bool(found) and all(_holds(words, wanted, is_prefix) for wanted, is_prefix in found)


def _holds(words: Sequence[str], wanted: Sequence[str], is_prefix: bool) -> bool:
    *all_but_last, last = wanted
    return any(
        words[first : first + len(wanted) - 1] == all_but_last
        and (words[first + len(wanted) - 1] == last or (is_prefix and words[first + len(wanted) - 1].startswith(last)))
        for first in range(len(words) - len(wanted) + 1)
    )


@lru_cache(maxsize=64)
def _words(text: str) -> list[str]:
    """Return the words of a text in the form for comparison, with an empty one for each gap between two of them."""
    words: list[str] = []
    last = None
    for begin, end in word_spans(text):
        if last is not None and begin > last:
            words.append("")
        words.append(unicodedata.normalize("NFKC", text[begin:end]).casefold())
        last = end
    return words
