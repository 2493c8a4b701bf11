"""The addressees of a line: the people it asks or names, or everybody. No model is asked.

The current speaker selects the next (Sacks, Schegloff and Jefferson 1974, rule 1a); ChatAgents App. A names mention
response as a module that may be added, and David speaks "when prompted" (§IV-C).

1. Names are found in any script; whether a person is *called* (`Jonas, …`, `…, Jonas?`) is told by the place of the
   name, also in any script. Pronouns and requests are those of English, German, French and Spanish (`address_words`);
   words that are names as well are those of English.
2. A name is matched in the case in which it is written, in capitals, or in any case in a text that has no case.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tertulia.nodes.meeting import address_words
from tertulia.state.names import Names
from tertulia.state.patterns import lazy_pattern
from tertulia.state.records import Turn

#: Scripts that do not part their words: Thai to Khmer, Chinese, Japanese; and Korean, which adds particles to a name.
_SPACELESS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HANGUL = r"\uac00-\ud7af"
_LETTER = rf"[^\W{_SPACELESS}{_HANGUL}]"
_IS_LETTER, _IS_SPACELESS, _IS_HANGUL, _IS_KATAKANA = map(
    lazy_pattern, (_LETTER, rf"[{_SPACELESS}]+", rf"[{_HANGUL}]+", r"[\u30a1-\u30fa\u30fc]+")
)

_SENTENCE = lazy_pattern(r"[^.!?…。！？؟\u037e;՞፧⁇⁈⁉‽।\n]*[.!?…。！？؟\u037e;՞፧⁇⁈⁉‽।\n]*[\"”’»)』」]*")
#: A question mark of any script (`;` is the Greek one), or a sentence of Japanese or Chinese that ends as questions do.
_QUESTION = lazy_pattern(r"[?？؟\u037e՞፧⁇⁈⁉‽]|(?:か|[吗嗎])[。．]?\s*$")
_GREEK_QUESTION = lazy_pattern(r"[\u0370-\u03ff].*;", re.DOTALL)

#: Words before a name, and behind it, that do not change its person.
_TITLES = frozenset(
    re.findall(r"\w+", "dr mr mrs ms miss prof professor sir lady father mother sister brother captain the old")
    + address_words.TITLES.split()
)
_HONORIFIC = r"(?:-?(?:さん|さま|様|君|くん|ちゃん|先生|氏|殿|老师|老師|小姐|씨|님|아|야))?"
#: Parts of a name that is taken out: an honorific, the ending of a possessive.
_SUFFIX = lazy_pattern(rf"{_HONORIFIC}(?:['’]s?(?!{_LETTER}))?")
#: Words between the beginning of a sentence, or a comma, and the name of the person called.
_CALLS = (
    r"(?:and|but|so|well|now|then|oh|ok|okay|hey|hi|hello|yes|yeah|no|please|thanks|thank you|sorry|dear|right|ah|what"
    r" about|how about|and you|go on|go ahead|over to you|your turn|good morning|good point|يا"
    rf"|{address_words.CALLS})"
)
_BEFORE_CALL = lazy_pattern(rf"(?:^|[,،、，;:—–(¿¡\"“«「]|\s-)\s*(?:{_CALLS}[\s,،]+)*@?$", re.IGNORECASE)
_MENTIONED = lazy_pattern(r"(?:^|[\s(])@$")
#: A call that ends an exchange, and gives no turn: `Thanks, Bob.`
_THANKS = lazy_pattern(rf"\s*(?:thanks|thank you|many thanks|cheers|{address_words.THANKS})\b", re.IGNORECASE)
_BEHIND_CALL = lazy_pattern(
    rf"{_HONORIFIC}\s*(?:$|[,،、，;:!?.…—–)。！？؟\u037e\"”»」՞፧⁇⁈⁉‽।]|-\s)"
    r"|\s+(?:what|where|when|who|why|how|which|your turn|go on|go ahead|please|you (?:first|next|start|begin)"
    r"|(?:can|could|will|would|do|did|are|were|have|should|shall|may) (?:you|we|it)"
    rf"|{address_words.BEHIND_CALL})\b",
    re.IGNORECASE,
)
#: `What do you think Jonas?`: behind these a name at the end of a question is that of the person asked.
_ASKS_LAST = lazy_pattern(rf"\b(?:you|think|say|reckon|prefer|mean|agree|{address_words.ASKS_LAST})\s+$", re.IGNORECASE)
_BETWEEN_NAMES = lazy_pattern(
    rf"{_HONORIFIC}\s*(?:,|、|，|،|&|\band\b|\bor\b|{address_words.JOINTS}|と|和|\s)+", re.IGNORECASE
)
_POSSESSIVE = lazy_pattern(r"['’]s?\s+\w|s['’]\s")

#: In a question with one of these, a person named without being called is only talked about.
_OTHERS_MEANT = lazy_pattern(
    r"\b(?:you|your|yours|we|us|our|i|me|my|who|whom|anybody|anyone|somebody|someone|everybody|everyone"
    rf"|{address_words.OTHERS_MEANT})\b",
    re.IGNORECASE,
)
_TO_ALL = lazy_pattern(
    r"\b(?:anybody|anyone|everybody|everyone|you all|you both|you two|you guys|others|else|folks"
    r"|(?:all|both|each|any|one|none|some|the rest|the two|the others|most) of (?:you|us)"
    rf"|{address_words.TO_ALL})\b",
    re.IGNORECASE,
)
_TO_ONE = lazy_pattern(rf"\b(?:you|your|yours|{address_words.TO_ONE})\b", re.IGNORECASE)
#: A question in these languages talks of a person (`Why did Bo leave?`), and asks them only for their view (`Does Bo
#: agree?`, `What would Bo do?`), or for what they might do (`Can Bo come?`). A name in it is `_NAME`.
_NAME, _ROW = address_words.NAME, address_words.ROW
_IN_KNOWN_LANGUAGE = lazy_pattern(
    r"\b(?:what|when|where|who|why|how|which|do|does|did|is|are|were|has|have|had|can|could|would|should|the|that|there"
    rf"|{address_words.FUNCTION_WORDS})\b|\b(?:was|will|shall)\s+{_NAME}",
    re.IGNORECASE,
)
_ASKS_FOR_VIEW = lazy_pattern(
    rf"\b(?:do|does|would|should|could|is|are)\s+{_ROW}{_NAME}(?:\s+(?:also|both|still|really|even|not|\w+ly))?\s+"
    r"(?:think|say|see|feel|want|prefer|suggest|propose|agree|mean|know|remember|reckon|believe|like|need|mind|do|object"
    r"|ready|happy|willing|able|fine|content|free|all right|ok|okay|for|against|in)\b"
    rf"|^\W*(?:(?:so|and|but|or|then|well|now|ok|okay)\b\W*)*(?:can|could|will|would|should|shall)\s+{_ROW}{_NAME}\s"
    rf"|{address_words.ASKS_FOR_VIEW}",
    re.IGNORECASE,
)
#: Behind these, a person not spoken to is given the turn: `Let's hear from Jonas.`
_HANDS_ON = lazy_pattern(
    r"\b(?:let['’]?s|let us|like to|love to|want to|should|shall we|can we|could we) (?:all )?hear (?:from|what) $"
    rf"|{address_words.HANDS_ON}",
    re.IGNORECASE,
)
_REQUEST = lazy_pattern(
    r"\b(?:tell (?:us|me)|say|explain|describe|answer|speak|go on|go ahead|share|let (?:us|me) (?:know|hear)|your turn|"
    rf"you (?:first|start|begin)|over to you|remind us|{address_words.REQUEST})\b",
    re.IGNORECASE,
)

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
#: `Will is here`: behind these a capital letter at the beginning is that of a name.
_VERB_BEHIND = lazy_pattern(
    r"\s+(?:is|was|has|had|can|could|would|should|said|says|thinks|knows|wants|told|asked)\b|['’]s\b|\s+(?:and|or)\s+[A-Z]"
)

#: Letters at the beginning of a name by which it is looked up: few names share as many.
_FIRST_LETTERS = 4


@dataclass(frozen=True)
class Address:
    """The addressees of a line.

    Attributes:
        asked: Names of those whom it asks something, or asks to speak.
        named: Names of all whom it names, those it asks among them.
        is_open_question: Whether it has a question to all hearers.
    """

    asked: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    is_open_question: bool = False


def address_of(line: Turn | None, listeners: Sequence[str]) -> Address:
    """Return the addressees of a line.

    A question asks whom it calls, else whom it names without speaking to others; a question that names nobody asks the
    person called before it, or after. A person that is called and requested to speak is asked, too.

    Args:
        line: The line; `None`, and a silence, speak to nobody.
        listeners: Names of its possible hearers; the speaker among them does not count.
    """
    if line is None or line.speaker is None:
        return Address()
    return _address(line.text, tuple(name for name in listeners if name != line.speaker))


def is_named(name: str, text: str) -> bool:
    """Whether a text contains a person's full name or first name as a whole word."""
    return bool(mentions(name, unicodedata.normalize("NFC", text)))


def mentions(name: str, text: str) -> list[tuple[int, int]]:
    """Return the places of a person's full name or first name as a whole word in a text (in NFC), in order."""
    return _places(name, text)


def mentions_of(names: Sequence[str], text: str) -> dict[str, list[tuple[int, int]]]:
    """Return the places of people's names (see `mentions`) in a text (in NFC), if it has any, in the order of names.

    Of thousands, those alone are looked for whose names' first letters it has.
    """
    folded, given = text.casefold(), Names.of(names)
    parts = {folded[at : at + size] for size in range(1, _FIRST_LETTERS + 1) for at in range(len(folded) - size + 1)}
    by_letters = _by_first_letters(given)
    possible = sorted({place for letters in parts & by_letters.keys() for place in by_letters[letters]})
    return {given[place]: found for place in possible if (found := mentions(given[place], text))}


@lru_cache(maxsize=16)
def _by_first_letters(names: Names) -> dict[str, list[int]]:
    """Return the places of names, by the first letters of the full name and of the one that a person is called by."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        full = unicodedata.normalize("NFC", name).strip()
        for letters in {form.casefold()[:_FIRST_LETTERS] for form in (full, _called_name(full)) if form}:
            found.setdefault(letters, []).append(place)
    return found


@lru_cache(maxsize=4096)
def without_names(text: str, names: tuple[str, ...]) -> str:
    """Return a text without these people's names, in part or whole; empty if nothing else is in it."""
    text = unicodedata.normalize("NFC", text)
    for name in sorted(_possible(text, names), key=len, reverse=True):
        parts = [part for part in _parts(name) if not _is_title(part) and not part[0].islower()]
        for form in dict.fromkeys((name, *parts)):
            for start, end in reversed(_places(form, text)):
                behind = _SUFFIX.match(text, end)
                text = f"{text[:start]} {text[behind.end() if behind else end :]}"
    text = re.sub(r"\s+(?=[,.!?;:])", "", " ".join(text.split()))
    text = re.sub(r"[,;:](?:\s*[,;:])*(?=\s*[,.!?;:])", "", text)
    return re.sub(r"^[\s,.:;!?、，。！？]+", "", text)


# --- whom a line asks -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _address(text: str, others: tuple[str, ...]) -> Address:
    text = unicodedata.normalize("NFC", text)
    others = tuple(_possible(text, others))
    named = tuple(name for name in others if is_named(name, _without_longer(name, text, others)))
    asked: set[str] = set()
    called: tuple[str, ...] = ()  # whom the line has called so far
    thanked = False  # whether it did so only to thank them
    waiting = False  # whether a question has not found its addressee yet
    is_open = False
    for sentence in filter(None, map(str.strip, _SENTENCE.findall(text))):
        mentions = [(place, name) for name in named for place in _places(name, _without_longer(name, sentence, others))]
        now_called = _called(sentence, sorted(mentions))
        if waiting and now_called and not _is_question(sentence):
            asked.update(now_called)
            waiting = False
        if now_called:
            called, thanked = now_called, bool(_THANKS.match(sentence))
        if _is_question(sentence):
            addressees = now_called or _talked_of(sentence, mentions)
            if not addressees and not _TO_ALL.search(sentence) and (not thanked or _TO_ONE.search(sentence)):
                addressees = called
            asked.update(addressees)
            is_open = is_open or waiting or (not addressees and bool(_TO_ALL.search(sentence)))
            waiting = not addressees and not _TO_ALL.search(sentence)
        elif now_called and _REQUEST.search(sentence):
            asked.update(now_called)
        asked.update(name for (start, _), name in mentions if _HANDS_ON.search(sentence[:start]))
    return Address(tuple(name for name in named if name in asked), named, is_open or waiting)


def _is_question(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence) or _GREEK_QUESTION.search(sentence))


def _called(sentence: str, mentions: Sequence[tuple[tuple[int, int], str]]) -> tuple[str, ...]:
    """Return whom a sentence calls; names in a row (`Ana, Bo and Cy, …`) are called, or not, all at once."""
    groups: list[list[tuple[tuple[int, int], str]]] = []
    for mention in mentions:
        between = sentence[groups[-1][-1][0][1] : mention[0][0]] if groups else ""
        if groups and _BETWEEN_NAMES.fullmatch(between):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    names: list[str] = []
    for group in groups:
        before, behind = sentence[: group[0][0][0]], sentence[group[-1][0][1] :]
        is_last = not re.search(r"\w", behind)
        begins = bool(_BEFORE_CALL.search(before))
        is_called = _BEHIND_CALL.match(behind) or _MENTIONED.search(before)
        if (begins and is_called) or (is_last and _ASKS_LAST.search(before)):
            names += [name for _, name in group]
        elif begins and len(group) > 1:  # `Bo, did Ana …?` reads as a row only if a comma parts them
            between = sentence[group[0][0][1] : group[1][0][0]]
            names += [group[0][1]] if "," in between else []
    return tuple(dict.fromkeys(names))


def _talked_of(question: str, mentions: Sequence[tuple[tuple[int, int], str]]) -> tuple[str, ...]:
    """Return the people that a question asks without calling them: `What does Jonas think?`."""
    if _OTHERS_MEANT.search(question):
        return ()
    owners = [place for place, _ in mentions if _POSSESSIVE.match(question[place[1] :])]
    masked, shift, at = question, 0, {}
    for place, name in sorted(mentions):
        if place not in owners:
            start, end = place[0] - shift, place[1] - shift
            masked = masked[:start] + _NAME + masked[end:]
            shift += end - start - len(_NAME)
            at[start] = name
    if not _IN_KNOWN_LANGUAGE.search(masked):
        return tuple(at.values())
    asked = [found.span() for found in _ASKS_FOR_VIEW.finditer(masked)]
    return tuple(name for start, name in at.items() if any(begin <= start < end for begin, end in asked))


# --- names in a text ------------------------------------------------------------------------------------------------


def _possible(text: str, names: tuple[str, ...]) -> list[str]:
    """Return those of many names that a text may have a part of: only these are looked for in earnest."""
    folded = text.casefold()
    return [name for name, parts in _folded(names) if any(part in folded for part in parts)]


@lru_cache(maxsize=16)
def _folded(names: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    composed = ((name, unicodedata.normalize("NFC", name).casefold()) for name in names)
    return [(name, _parts(folded) or [folded]) for name, folded in composed]


def _without_longer(name: str, text: str, others: Sequence[str]) -> str:
    """Return a text in which others' full names are blank if they begin like a name: `Anna Holm` for `Anna Berg`."""
    first = _called_name(name)
    for other in others:
        if other != name and other != first and len(_parts(other)) > 1 and first in _parts(other):
            for start, end in _places(other, text, whole=True):
                text = text[:start] + " " * (end - start) + text[end:]
    return text


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\s・·]+", name) if part]


def _called_name(name: str) -> str:
    """Return the name that a person is called by: the first that is no title."""
    parts = _parts(name)
    return next((part for part in parts if not _is_title(part)), name)


def _is_title(part: str) -> bool:
    return part.endswith(".") or part.casefold() in _TITLES


def _places(name: str, text: str, whole: bool = False) -> list[tuple[int, int]]:
    """Return the places of a person's full name in a text or, unless it must be whole, of their called name."""
    name = unicodedata.normalize("NFC", name).strip()
    folded = text.casefold()
    places: list[tuple[int, int]] = []
    for form in dict.fromkeys((name, *(() if whole else (_called_name(name),)))):
        if not form or form.casefold() not in folded:
            continue
        is_cased = _is_cased(text)
        for found in re.finditer(re.escape(form), text, re.IGNORECASE):
            taken = any(start < found.end() and found.start() < end for start, end in places)
            if taken or _is_part_of_word(form, text, *found.span()):
                continue
            is_written_so = not is_cased or found.group() in (form, form[:1].upper() + form[1:], form.upper())
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
    if _IS_HANGUL.fullmatch(form):
        return before[-1:].isalnum() or (len(form) == 1 and bool(_IS_HANGUL.match(behind)))
    if before[-1:] == "-":
        before = before[:-1]
    behind = behind.removeprefix("-")
    return bool(_IS_LETTER.match(before[-1:]) or _IS_LETTER.match(behind))


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
