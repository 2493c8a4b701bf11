"""Names in a text: their places, in any script, and the text without them.

A name is matched in the case in which it is written, in capitals, or in any case in a text that has no case. Words that
are names as well are those of English.
"""

import itertools
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from tertulia.state.patterns import lazy_pattern
from tertulia.state.words import goes_on, without_case
from tertulia.state.wrong_arguments import check_argument, texts_of, with_named_arguments

#: Scripts that do not part their words: Thai to Khmer, Chinese, Japanese; and Korean, which adds particles to a name.
_SPACELESS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HANGUL = r"\uac00-\ud7af"
_LETTER = rf"[^\W{_SPACELESS}{_HANGUL}]"
_IS_SPACELESS, IS_HANGUL, _IS_OTHER_SCRIPT, _IS_KATAKANA = map(
    lazy_pattern, (rf"[{_SPACELESS}]+", rf"[{_HANGUL}]+", rf"[{_SPACELESS}{_HANGUL}]", r"[\u30a1-\u30fa\u30fc]+")
)

#: Words before a name that do not change its person.
_TITLES = frozenset(
    re.findall(
        r"\w+",
        "dr mr mrs ms miss prof professor sir lady father mother sister brother captain the old herr frau fräulein "
        "monsieur madame mademoiselle señor señora señorita don doña",
    )
)
#: Capital words before a name by which alone nobody is called; in small letters, as of *von der Heide*, any is one.
_ARTICLES = frozenset(("El", "La", "Los", "Las", "Le", "Les"))
#: Two initials or more, which a person is called by; one stands for a name.
_INITIALS = lazy_pattern(rf"(?:{_LETTER}\.){{2,}}")
#: A way to write `Tanaka-san` in Latin letters.
_HONORIFIC = rf"-(?:san|sama|kun|chan|sensei|ssi|nim)(?!{_LETTER})"
_IS_HONORIFIC = lazy_pattern(_HONORIFIC)
#: Parts of a name that is taken out: an honorific, the ending of a possessive.
_SUFFIX = lazy_pattern(
    rf"(?:-?(?:さん|さま|様|君|くん|ちゃん|先生|氏|殿|老师|老師|小姐|씨|님|아|야)|{_HONORIFIC})?(?:['’]s?(?!{_LETTER}))?"
)
#: The apostrophes of a name and of a text are one sign; places stay the same.
_ONE_APOSTROPHE = str.maketrans("’ʼ", "''")

#: Names that are English words as well: if a capital letter tells nothing, only a call counts.
_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    angel april art august bill chance chase christian clay cliff dale dawn dean drew duke earnest eve faith
    frank gene glen grace grant guy hank heather holly hope hunter ivy jack jade jewel joy june king lance
    lily mark mason max may melody mercy miles norm olive page pat patience pearl penny pierce porter prince
    rain ray reed rich rob robin rose ruby rusty sage sandy sky skip sterling stone sue summer trip vale
    victor violet wade ward warren will winter wood young
        """,
    )
)
_MONTHS = frozenset(("april", "may", "june", "august"))
_MONTH_BEFORE = lazy_pattern(
    r"(?:\b(?:in|of|by|since|until|till|before|after|early|late|mid|this|next|last|from|to|every|during|through)|\d\w*|-)\s*$",
    re.IGNORECASE,
)
#: `Hey will, …`: behind a comma or these, and before a mark, such a word calls a person.
_BEFORE_CALL = lazy_pattern(
    r"(?:^|[,،、，;:—–(¿¡\"“«「]|\s-)\s*"
    r"(?:(?:and|but|so|well|now|then|oh|ok|okay|hey|hi|hello|yes|no|please|thanks|sorry|dear|what about)[\s,،]+)*@?$",
    re.IGNORECASE,
)
#: `Will is here`: behind these a capital letter at the beginning is that of a name.
_VERB_BEHIND = lazy_pattern(
    r"\s+(?:is|was|has|had|can|could|would|should|said|says|thinks|knows|wants|told|asked)\b|['’]s\b|\s+(?:and|or)\s+[A-Z]"
)


def is_named(name: str, text: str, among: tuple[str, ...] = ()) -> bool:
    """Whether a text mentions a person, of all these people or alone (`mentions`)."""
    return name in named_in(text, among or (name,))


@with_named_arguments
def mentions(text: str, names: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the people whose full name or first name a text has as a whole word, each with its places.

    Places are pairs of the first position and the one behind the last, in order. The full name of one person is no
    mention of another with the same first name. Positions are those in Unicode's composed form of the text (NFC).

    Raises:
        UsageError: The text is none, or the names are no list of texts.
    """
    check_argument("text", text, str, "a text is expected", optional=False)
    return _mentioned(text, tuple(texts_of("names", names)))


def _mentioned(text: str, names: tuple[str, ...]) -> dict[str, list[tuple[int, int]]]:
    """Return the places of the people whom a text mentions (see `mentions`)."""
    text = unicodedata.normalize("NFC", text)
    possible = _possible(text, names)
    found = ((name, places_of(name, _without_longer(name, text, possible))) for name in possible)
    return {name: places for name, places in found if places}


@lru_cache(maxsize=1024)
def named_in(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the people of these names whom a text mentions."""
    return tuple(_mentioned(text, names))


@lru_cache(maxsize=4096)
def without_names(text: str, names: tuple[str, ...]) -> str:
    """Return a text without these people's names, in part or whole; empty if nothing else is in it."""
    text = unicodedata.normalize("NFC", text)
    for name in sorted(_possible(text, names), key=len, reverse=True):
        parts = [part for part in _parts(name) if not _is_title(part) and not part[0].islower()]
        for form in dict.fromkeys((name, *parts)):
            for start, end in reversed(places_of(form, text)):
                behind = _SUFFIX.match(text, end)
                text = f"{text[:start]} {text[behind.end() if behind else end :]}"
    text = re.sub(r"\s+(?=[,.!?;:])", "", " ".join(text.split()))
    text = re.sub(r"[,;:](?:\s*[,;:])*(?=\s*[,.!?;:])", "", text)
    return re.sub(r"^[\s,.:;!?、，。！？]+", "", text)


def _possible(text: str, names: tuple[str, ...]) -> list[str]:
    """Return those of many names that a text may have a part of: only these are looked for in earnest."""
    folded = without_case(text.translate(_ONE_APOSTROPHE))
    return [name for name, parts in _folded(names) if any(part in folded for part in parts)]


@lru_cache(maxsize=16)
def _folded(names: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    composed = ((name, without_case(name.translate(_ONE_APOSTROPHE))) for name in names)
    return [(name, _parts(folded) or [folded]) for name, folded in composed]


def _without_longer(name: str, text: str, others: Sequence[str]) -> str:
    """Return a text in which others' full names are blank if they begin like a name: `Anna Holm` for `Anna Berg`."""
    called = _called_names(name)
    for other in others:
        parts = f" {' '.join(_parts(other))} "
        if other != name and " " in parts.strip() and any(f" {first} " in parts for first in called if first != other):
            for start, end in places_of(other, text, whole=True):
                text = text[:start] + " " * (end - start) + text[end:]
    return text


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\s・·]+", name) if part]


def _called_names(name: str) -> tuple[str, ...]:
    """Return the names that a person is called by: the first that is no title; and `Don`, which may be a name.

    Particles belong to the name behind them: `von der Heide`, `El Cid`.
    """
    parts = _parts(name)
    named = [*itertools.dropwhile(_is_title, parts)]
    last = next((at for at, part in enumerate(named) if not _is_particle(part)), 0)
    first = " ".join(named[: last + 1]) or name
    return ("Don", first) if parts[:1] == ["Don"] else (first,)


def _is_particle(part: str) -> bool:
    return part.islower() or part in _ARTICLES


def _is_title(part: str) -> bool:
    return (part.endswith(".") and not _INITIALS.fullmatch(part)) or part.casefold() in _TITLES


def places_of(name: str, text: str, whole: bool = False) -> list[tuple[int, int]]:
    """Return the places of a person's name as a whole word in a text (in NFC), in order.

    Args:
        whole: Whether their full name alone counts, and not the name that they are called by.
    """
    name = unicodedata.normalize("NFC", name).strip().translate(_ONE_APOSTROPHE)
    text = text.translate(_ONE_APOSTROPHE)
    folded = without_case(text)
    places: list[tuple[int, int]] = []
    for form in dict.fromkeys((name, *(() if whole else _called_names(name)))):
        if not form or without_case(form) not in folded:
            continue
        is_cased = _is_cased(text)
        capitals = (form.upper(), form.replace("i", "İ").upper())  # `Ali` is `ALİ` in Turkish
        for found in re.finditer("|".join(map(re.escape, (form, *capitals))), text, re.IGNORECASE):
            taken = any(start < found.end() and found.start() < end for start, end in places)
            if taken or _is_part_of_word(form, text, *found.span()):
                continue
            is_written_so = not is_cased or found.group() in (form, form[:1].upper() + form[1:], *capitals)
            if is_written_so and not _is_word(form, found, is_cased):
                places.append(found.span())
    return sorted(places)


def _is_part_of_word(form: str, text: str, start: int, end: int) -> bool:
    """Whether a name's letters at a place of a text are a part of a longer word there, by its script."""
    before, behind = text[max(0, start - 2) : start], text[end : end + 2]
    if _IS_KATAKANA.fullmatch(form):
        return bool(_IS_KATAKANA.match(before[-1:]) or _IS_KATAKANA.match(behind))
    if _IS_SPACELESS.fullmatch(form):
        return len(form) == 1 and before[-1:].isalnum()
    if IS_HANGUL.fullmatch(form):
        return before[-1:].isalnum() or (len(form) == 1 and bool(IS_HANGUL.match(behind)))
    if before[-1:] == "-" or (before[-1:] == "'" and before[:1].isupper()):  # `O'Neil`, but `d'Anna`
        before = before[:-1]
    if behind == "'t" and not goes_on(text[end + 2 : end + 3]):  # `Don't`, but `Mehmet'ten`
        return True
    behind = "" if _IS_HONORIFIC.match(text, end) else behind.removeprefix("-")
    return any(goes_on(sign) and not _IS_OTHER_SCRIPT.match(sign) for sign in (before[-1:], behind[:1]))


def _is_cased(text: str) -> bool:
    """Whether a text has capital and small letters, `I` by itself not counted."""
    letters = re.sub(r"\bI\b", "", text)
    return any(char.isupper() for char in letters) and any(char.islower() for char in letters)


def _is_word(form: str, found: re.Match[str], is_cased: bool) -> bool:
    """Whether a name that is also an English word is used as that word."""
    word = form.casefold()
    if word not in _WORDS:
        return False
    before, behind = found.string[: found.start()], found.string[found.end() :]
    if word in _MONTHS and (_MONTH_BEFORE.search(before) or re.match(r",?\s+\d", behind)):
        return True
    begins = not before.strip() or bool(re.search(r"[.!?…:\"“(]\s*$", before))
    if is_cased and not begins:
        return False
    if _BEFORE_CALL.search(re.split(r"[.!?…]", before)[-1]) and re.match(r"\s*(?:$|[,:!?.…—–])", behind):
        return False
    return not (is_cased and _VERB_BEHIND.match(behind))
