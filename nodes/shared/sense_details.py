"""Whether a line is against a detail that is known where it is said, by rules over its words: no model is asked.

A sentence is against what is known if it is about the same as something that its speaker knows or has heard, and has
another number, weekday, hour, month, season, part of the day, relative or place than all of that. Besides, a line may
greet, or tell the hour, the day, the month or the place, as they are not. The rules know English words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from tertulia.nodes.shared.sense_now import is_at_another_place, is_at_another_time
from tertulia.nodes.shared.sense_stems import STOP, name_words, sentences, stem, stems
from tertulia.nodes.shared.sense_times import DAYS, MONTHS, NUMBER, ONES, PLACES, hours_in
from tertulia.nodes.shared.situation import Situation
from tertulia.state.text import folded_words

#: How many words two sentences share that are about one thing; or which share of the words of both.
_SHARED, _OF_TOLD, _OF_FACT = 2, 0.75, 0.5
#: Units of measure, whose numbers differ from sentence to sentence.
MEASURES = frozenset(
    map(
        stem,
        re.findall(
            r"\w+",
            "minutes minute hours hour days day weeks week months month years year times miles kilos metres "
            "kilometres grams litres percent euros dollars pounds",
        ),
    )
)
#: What is counted where somebody says how old they are.
_AGE = "age"
#: What leaves open what a sentence says of a thing; what only tells that it may be another thing.
LEAVES_OPEN = re.compile(
    r"\?|\b(?:or|instead|rather|not|another|other|if|could|would|(?-i:may)|might|next|change|move|more|than)\b|n['’]t\b",
    re.IGNORECASE,
)
_OTHER_THING = re.compile(
    r"\b(?:about|half|only|first|can|every|each|later|earlier|last|least|still|left)\b", re.IGNORECASE
)

_SEASONS = ("spring", "summer", "autumn", "winter")
_PARTS = {
    "morning": "morning",
    "afternoon": "afternoon",
    "evening": "evening",
    "night": "evening",
    "tonight": "evening",
}
_RELATIVES = frozenset(
    re.findall(
        r"\w+",
        "mother father sister brother daughter son uncle aunt grandmother grandfather wife husband "
        "nephew niece cousin grandson granddaughter",
    )
)
_OF_ONESELF = re.compile(r"\b(?:I|[Mm]y|[Mm]ine|[Mm]e)\b")
_NAMED_PLACE = re.compile(r"\b(?:in|from|to|near|at|of) ((?:[A-Z]\w+)(?: [A-Z]\w+)*)")
_DETAIL_WORDS = frozenset(
    ("half", "past", "quarter", "clock", *DAYS, *MONTHS, *_SEASONS, *_PARTS, *_RELATIVES, *NUMBER)
)
_DETAIL_STEMS = frozenset(map(stem, _DETAIL_WORDS))


def contradicts_facts(text: str, situation: Situation) -> bool:
    """Whether a line has another detail than is known, or tells another time or place than that where it is said."""
    if situation.time is not None and is_at_another_time(text, situation.time):
        return True
    if is_at_another_place(text, situation):
        return True
    names = name_words(situation)
    facts = _facts_of(situation.known.get(situation.speaker, ()), names)
    for part in sentences(text):
        told = Details.of(part, names)
        if LEAVES_OPEN.search(part) or not (told.values or told.numbers):
            continue
        of_oneself = bool(_OF_ONESELF.search(part))  # what another says of themselves is no fact about who speaks
        heard = (
            said
            for who, line in situation.before
            for said in sentences(line)
            if who == situation.speaker or not (of_oneself and _OF_ONESELF.search(said))
        )
        if _differs(told, [*facts, *chain(*(_facts_in(said, names) for said in heard))]):
            return True
    return False


@dataclass(frozen=True)
class Details:
    """What a sentence says of things.

    Attributes:
        stems: Its content, without details.
        values: Its details by kind.
        numbers: The numbers of its things, by stem of the thing; with no thing, by an empty one.
        is_loose: Whether it may be about another thing of the kind.
    """

    stems: frozenset[str]
    values: Mapping[str, frozenset[str]]
    numbers: Mapping[str, frozenset[int]]
    is_loose: bool

    @staticmethod
    @lru_cache(maxsize=8192)
    def of(sentence: str, names: frozenset[str] = frozenset()) -> "Details":
        """Return the details of a sentence, without the names of who is there."""
        words = folded_words(sentence)
        hours = hours_in(sentence)
        numbers: dict[str, set[int]] = {}
        for value, start, behind in numbers_in(words):
            if value > 1 and not _is_year(value):
                numbers.setdefault(_thing(words, start, behind, names), set()).add(value)
        if hours:
            numbers.pop("", None)  # it is the hour's
        values = {
            "day": frozenset(day for day in DAYS if day in words or f"{day}s" in words),
            "month": frozenset(re.findall(rf"\b(?:{'|'.join(MONTHS)})\b", sentence)),
            "season": frozenset(_SEASONS).intersection(words),
            "part": frozenset(part for word, part in _PARTS.items() if word in words),
            "hour": frozenset(hours),
            "relative": _RELATIVES.intersection(words),
            "place": _places_in(sentence, words),
        }
        found = {kind: value for kind, value in values.items() if value}
        content = stems(sentence) - _DETAIL_STEMS - {word for place in values["place"] for word in stems(place)}
        content -= {stem(name) for name in names}
        things = {thing: frozenset(value) for thing, value in numbers.items()}
        return Details(content, found, things, bool(_OTHER_THING.search(sentence)))


def _thing(words: Sequence[str], start: int, behind: int, names: frozenset[str]) -> str:
    """Return the stem of what a number counts; empty where it does not count; `_AGE` where somebody is so old."""
    is_person = start > 0 and (
        words[start - 1] in ("am", "m") or (words[start - 1] == "is" and words[start - 2] in names)
    )
    if is_person and (behind == len(words) or words[behind] in ("and", "but", "year", "years")):
        return _AGE
    for word in words[behind : behind + 2]:
        if stem(word) in MEASURES or word not in STOP:
            return stem(word)
    return ""


def _places_in(sentence: str, words: Sequence[str]) -> frozenset[str]:
    named = {match[1].casefold() for match in _NAMED_PLACE.finditer(sentence)}
    return frozenset((named - {*DAYS, *map(str.casefold, MONTHS)}) | PLACES.intersection(words))


@lru_cache(maxsize=64)
def _facts_of(texts: tuple[str, ...], names: frozenset[str]) -> tuple[Details, ...]:
    """Return the details of all sentences of texts that have any."""
    return tuple(chain(*(_facts_in(text, names) for text in texts)))


@lru_cache(maxsize=4096)
def _facts_in(text: str, names: frozenset[str]) -> tuple[Details, ...]:
    details = (Details.of(sentence, names) for sentence in sentences(text))
    return tuple(found for found in details if found.values or found.numbers)


def numbers_in(words: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield numbers in words or digits: the value of each, where it begins, and where the words behind it do."""
    at = 0
    while at < len(words):
        word, value, start = words[at], 0, at
        if word.isdecimal() and len(word) < 9:
            value, at = int(word), at + 1
        elif word in NUMBER:
            value, at = NUMBER[word], at + 1
            if value >= 20 and at < len(words) and words[at] in ONES:
                value, at = value + NUMBER[words[at]], at + 1
        if value:
            while at < len(words) and words[at] in ("hundred", "thousand"):
                value, at = value * (100 if words[at] == "hundred" else 1000), at + 1
            yield value, start, at
        else:
            at += 1


def _differs(told: Details, facts: Sequence[Details]) -> bool:
    """Whether a sentence has another detail than all the facts that are about the same."""
    for thing, values in told.numbers.items():
        alike = [fact.numbers[thing] for fact in facts if thing in fact.numbers and _counts_alike(told, fact, thing)]
        if alike and not any(values & known for known in alike):
            return True
    for kind, details in told.values.items():
        near = [(fact.values[kind], _nearness(told, fact, kind)) for fact in facts if kind in fact.values]
        enough = _SAME if kind == "relative" else _ALIKE  # who has a mother has a sister too
        alike_details = [known for known, nearness in near if nearness >= enough]
        if alike_details and not any(details & known for known in alike_details):
            return True
        same = [known for known, nearness in near if nearness == _SAME]
        if same and not details <= frozenset().union(*alike_details):
            return True
    return False


#: That two sentences are about one thing; that they say the same of it.
_ALIKE, _SAME = 1, 2


def _nearness(told: Details, fact: Details, kind: str) -> int:
    """Return whether two sentences are about one thing, by all their words but details of a kind; 0: they are not."""
    others = [other for other in told.values if other != kind]
    shared = len(told.stems & fact.stems)
    if not shared:
        return 0
    both = shared + sum(len(told.values[other] & fact.values.get(other, frozenset())) for other in others)
    in_told = len(told.stems) + sum(len(told.values[other]) for other in others)
    in_fact = len(fact.stems) + sum(len(values) for other, values in fact.values.items() if other != kind)
    if both >= _OF_TOLD * in_told and both >= _OF_FACT * in_fact:
        return _SAME
    return _ALIKE if shared >= _SHARED and not told.is_loose else 0


def _counts_alike(told: Details, fact: Details, thing: str) -> bool:
    """Whether two sentences count the same thing: they share another word, of a measure two, or say the same of it."""
    if thing == _AGE:
        return True
    shared = (told.stems & fact.stems) - {thing}
    enough = _SHARED if thing in MEASURES or not thing else 1
    return (len(shared) >= enough and not told.is_loose) or _nearness(told, fact, "") == _SAME


def _is_year(value: int) -> bool:
    return 1500 < value < 2200
