"""Whether an embedder can read texts: whether it tells them from the same texts with their letters exchanged.

1. Each letter of the texts becomes another one of theirs: no word is left.
2. An embedder that knows the words puts the two far apart. One whose vocabulary has only the letters of a script, or
   none of them, does not: for it, any two texts in that script are alike.
3. A text in several scripts is read if each of its parts is: half Chinese, half English, it is not.
4. Embedders differ in the lowest cosine that they give to anything, so the likeness is taken above that.

`minilm` has, of two dialogues of two lines: English 0.0 to 0.1, German, French and Spanish 0.1 to 0.3; Russian 0.4 to
0.6, Arabic, Greek, Hindi, Japanese, Korean and Chinese 0.5 to 0.9, Thai 0.7 to 1.0.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from tertulia.metrics.diversity import Dialogue, dialogue_text, words
from tertulia.state.language_model import Embedder
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Record

R = TypeVar("R", bound=Record)

#: Returns the vector of each text.
Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]

#: Texts with a higher likeness can't be read.
_HIGHEST = 0.33

#: Exchanges of letters over which the likeness is a mean; texts that are read of a case, and letters of each.
_EXCHANGES, _TEXTS, _LETTERS = 4, 3, 400

#: The least range of cosines that is reckoned with: with less, an embedder tells nothing apart in any language.
_LEAST_RANGE = 0.05

#: An embedder of some fifty languages, on the hub (Reimers and Gurevych 2020).
MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"

#: With fewer letters, what is said can't be told from its form.
_FEWEST_LETTERS = 16

#: In the place of a likeness: no line has a word.
_WITHOUT_WORDS = math.inf

#: The share of a text's letters from which a script counts; a Chinese line has a third of an English line's letters.
_LEAST_SHARE = 1 / 8

#: How figures that are taken of vectors begin.
_OF_VECTORS = ("sim", "vendi", "max_sim")

#: Texts of which an embedder knows one, to find the lowest cosine that it gives.
_SAMPLES = (
    "Ann: The boat leaks at the bow again.\nBen: Then we need tar before the storm comes.",
    "安娜: 船头又漏水了。\n李明: 那我们得在暴风雨来之前找到柏油。",
    "Анна: Лодка опять течёт у носа.\nБорис: Значит, нужна смола, пока не пришла буря.",
)


def unread(cases: Mapping[str, Sequence[str]], embed: Embed) -> dict[str, float]:
    """Return the cases whose texts an embedder can't read, each with its likeness."""
    highest = {case: _highest_likeness(tuple(_some(texts)), embed) for case, texts in cases.items()}
    found = {case: likeness for case, likeness in highest.items() if likeness is not None}
    if not found:
        return {}
    lowest = min(_highest_likeness((text,), embed) or 0.0 for text in _SAMPLES)
    scale = max(1 - lowest, _LEAST_RANGE)
    found = {case: (likeness - lowest) / scale for case, likeness in found.items()}
    return {case: likeness for case, likeness in found.items() if likeness > _HIGHEST}


def unread_cases(cases: Mapping[str, Sequence[Dialogue]], embedder: Embedder | None) -> dict[str, float]:
    """Return the cases of several dialogues that an embedder can't read, each with its likeness; none without one.

    Lines without any word can't be read by any.
    """
    if embedder is None:
        return {}
    compared = {case: of_case for case, of_case in cases.items() if len(of_case) > 1}
    without_words = {
        case: _WITHOUT_WORDS
        for case, of_case in compared.items()
        if not any(words(text) for dialogue in of_case for _, text in dialogue)
    }
    texts = {case: [*map(dialogue_text, of_case)] for case, of_case in compared.items()}
    return unread(texts, embedder.embed) | without_words


def without_vectors(figures: R) -> R:
    """Return figures without those that are taken of vectors."""
    names = (name for name in type(figures).model_fields if name.startswith(_OF_VECTORS))
    return figures.model_copy(update=dict.fromkeys(names))


def why_unread(embedder: str, likeness: float, option: str = "--embedder ") -> str:
    """Return the reason why nothing is measured by an embedder, as a clause with the option that names another."""
    if likeness == _WITHOUT_WORDS:
        return "as their lines have no words"
    found = likeness_in_words(likeness)
    return f"as {embedder} can't read their language: {found}; name one that can: {option}{MULTILINGUAL}"


def likeness_in_words(likeness: float) -> str:
    """Return what was seen of texts that an embedder can't read, as a clause."""
    return f"with every letter exchanged for another, they stay {likeness:.2f} alike to it (1: equal)"


def _some(texts: Sequence[str]) -> Iterator[str]:
    """Yield the beginnings of some texts, from the first to the last, that have letters enough; else of all as one."""
    distinct = list(dict.fromkeys(texts))
    readable = [*filter(_has_letters, distinct)] or [*filter(_has_letters, ["\n".join(distinct)])]
    places = {round(part * (len(readable) - 1) / (_TEXTS - 1)) for part in range(_TEXTS)} if readable else ()
    yield from (readable[place][:_LETTERS] for place in sorted(places))


def _has_letters(text: str) -> bool:
    return sum(map(str.isalpha, text[:_LETTERS])) >= _FEWEST_LETTERS


def _by_script(texts: Sequence[str]) -> list[list[str]]:
    """Return the parts of texts in each script that has letters enough, of texts of which it is an eighth or more."""
    letters = [Counter(_script(sign) for sign in text if sign.isalpha()) for text in texts]
    return [
        ["".join(sign for sign in text if _script(sign) in (script, None)) for text in written]
        for script, count in sum(letters, Counter[str | None]()).items()
        if count >= _FEWEST_LETTERS
        and (written := [t for t, of in zip(texts, letters, strict=True) if of[script] >= _LEAST_SHARE * of.total()])
    ]


def _script(sign: str) -> str | None:
    """Return the script of a letter; Japanese has one."""
    script = unicodedata.name(sign, "").partition(" ")[0] if sign.isalpha() else None
    return "CJK" if script in ("HIRAGANA", "KATAKANA") else script


@lru_cache(maxsize=256)  # the runs of an experiment have the same texts
def _highest_likeness(texts: tuple[str, ...], embed: Embed) -> float | None:
    """Return the highest likeness of the parts of texts in each script; `None` if they have too few letters."""
    return max((_likeness(of_script, embed) for of_script in _by_script(texts)), default=None)


def _likeness(texts: Sequence[str], embed: Embed) -> float:
    """Return the mean cosine of texts with themselves after an exchange of their letters."""
    exchanged = (text for key in range(_EXCHANGES) for text in _exchanged(texts, key))
    vectors = np.array(embed([*texts, *exchanged]), dtype=np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    given, *others = vectors.reshape(_EXCHANGES + 1, len(texts), -1)
    return float(np.mean([(given * exchange).sum(axis=1) for exchange in others]))


def _exchanged(texts: Sequence[str], key: int) -> list[str]:
    """Return texts, in lower case, with each letter, and each mark, replaced by another one that occurs in them."""
    lower = [text.lower() for text in texts]
    others: dict[str, str | int | None] = {}
    for kind in "LM":
        found = sorted({sign for text in lower for sign in text if unicodedata.category(sign)[0] == kind})
        keyed_generator(key, node="exchanged letters").shuffle(found)
        others |= zip(found, found[1:] + found[:1], strict=True)
    return [text.translate(str.maketrans(others)) for text in lower]
