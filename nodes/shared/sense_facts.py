"""Whether a line is against what is known where it is said, by rules over its words: no model is asked.

| fault | what it is |
|---|---|
| `memory` | who speaks says *I* of what only another one remembers |
| `facts` | another number, weekday or hour of a thing than is known; a greeting, a day or a place that is not here |
| `reply` | what was asked is not taken up: neither its words, nor an answer of the kind that it asks for |
| `echo` | six words in a row of the prompt's instructions, or an example's answer |

The rules know English words. A line that has none is not looked at.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain

from tertulia.nodes.shared.situation import Situation
from tertulia.state.text import folded_words


def takes_anothers_memory(text: str, situation: Situation) -> bool:
    """Whether a sentence says *I* of what another one remembers, and neither its speaker nor anybody has said."""
    others = [who for who in situation.people if who != situation.speaker and situation.known.get(who)]
    if not others:
        return False
    own = {*_stems_of(situation.known.get(situation.speaker, ())), *_name_stems(situation)}
    own |= _stems(situation.place or "")
    own.update(*(_stems(line) for who, line in situation.before if who == situation.speaker))
    shared = own | _said_stems(situation)
    for sentence in _sentences(text):
        if sentence.endswith("?") or not _FIRST_PERSON.search(sentence) or _SECOND_PERSON.search(sentence):
            continue
        told = _stems(sentence)
        for who in others:
            for memory in situation.known[who]:
                taken = told & _stems(memory)
                if len(taken - shared) >= _TAKEN and len(taken - shared) >= _TAKEN_SHARE * len(told):
                    return True
                if len(taken - own) >= _TAKEN and len(taken) >= _TAKEN_SAID_SHARE * len(told):
                    return True
    return False


def contradicts_facts(text: str, situation: Situation) -> bool:
    """Whether a line names another number, weekday, hour or place than is known, or greets at the wrong hour."""
    if situation.time is not None and _is_at_another_time(text, situation.time):
        return True
    if _is_at_another_place(text, situation):
        return True
    said = tuple(line for _, line in situation.before)
    facts = [*_facts_of(situation.known.get(situation.speaker, ())), *_facts_of(said)]
    return any(
        _differs(_Details.of(sentence), facts) for sentence in _sentences(text) if not _LEAVES_OPEN.search(sentence)
    )


def leaves_question(text: str, situation: Situation) -> bool:
    """Whether the line before it asks its speaker something, and the line does not take it up."""
    if not situation.before or len(situation.people) != 2:
        return False
    asker, asked = situation.before[-1]
    question = next(iter(reversed(_sentences(asked))), "")
    if asker == situation.speaker or not question.endswith("?"):
        return False
    line = text.strip()
    if _ANSWERS.match(line) or (_stems(asked) & _stems(line)):
        return False
    kind = _WH.search(question.casefold())
    if kind is None:
        return bool(_YES_NO.match(question)) and not _IS_ECHO.search(" ".join(_sentences(line)[:1]))
    answers = _ANSWER_OF.get(kind[1])
    return answers is not None and not any(answer.search(line) for answer in answers)


def echoes(text: str, situation: Situation) -> bool:
    """Whether a line has six words in a row of what the prompt tells, or most words of an example's answer."""
    line, stems = folded_words(text), _stems(text)
    runs = set(zip(*(line[at:] for at in range(_ECHOED)), strict=False))
    for shown in situation.shown:
        words = folded_words(shown)
        if runs and not runs.isdisjoint(zip(*(words[at:] for at in range(_ECHOED)), strict=False)):
            return True
        of_example = _stems(shown)
        if len(of_example) in _EXAMPLE and len(of_example & stems) >= _OF_EXAMPLE * len(of_example):
            return True
    return False


# --- words ----------------------------------------------------------------------------------------------------------

#: How many words, and which share of its words, a sentence takes from a memory of another one: words that its speaker
#: has no other reason to know; and where others have said them, that the speaker did not say.
_TAKEN, _TAKEN_SHARE, _TAKEN_SAID_SHARE = 2, 0.5, 0.75
#: Words that two sentences share that are about one thing.
_SHARED = 2
#: Words in a row that only the prompt has; the share of an example's words, and how many it has to have.
_ECHOED, _OF_EXAMPLE, _EXAMPLE = 6, 0.75, range(3, 13)

_STOP = frozenset(
    re.findall(
        r"\S+",
        """
        a about after again all also am an and any are as at away back be because been before being both but by
        can can't cannot come could did didn do does doesn doing don down each else even ever every everybody
        everyone few for from get gets getting give go goes going gone good got had has have haven he her here
        hers him his how i if in into is isn it its just keep know known last let like little look lot m made
        make makes many may maybe me mean might mine more most much must my need needs never new next no nobody
        not nothing now of off often ok old on once one only or other our ours out over own people perhaps
        please put re really right s said same say see she should since so some somebody someone something soon
        sorry still such sure t take tell than thank thanks that the their them then there these they thing
        things think this those though through time to today tomorrow tonight too two under until up us use used
        ve very want wants was wasn way we well went were what when where which while who why will with without
        won would yes yesterday yet you your yours ll d day days week weeks year years morning afternoon evening
        night hour hours minute minutes monday tuesday wednesday thursday friday saturday sunday always home
        work works working long first second
        """,
    )
)
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]ine|[Mm]e)\b")
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|he|she|they|his|her|their)\b", re.IGNORECASE)


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.findall(r"[^.!?]+[.!?]*", text) if part.strip()]


@lru_cache(maxsize=8192)
def _stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words that say something."""
    return frozenset(_stem(word) for word in folded_words(text) if word not in _STOP and len(word) > 2)


def _stem(word: str) -> str:
    for ending in ("ies", "ied"):
        if word.endswith(ending) and len(word) > 4:
            return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e", "ly", "er"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word
    return word


@lru_cache(maxsize=256)
def _stems_of(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*map(_stems, texts))


def _said_stems(situation: Situation) -> frozenset[str]:
    return frozenset().union(*(_stems(text) for _, text in situation.before))


def _name_stems(situation: Situation) -> frozenset[str]:
    return frozenset().union(*map(_stems, situation.people))


# --- numbers, days, hours, places -----------------------------------------------------------------------------------

_UNITS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = {
    word: 10 * ten
    for ten, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBER = {**{word: unit for unit, word in enumerate(_UNITS.split(), 1)}, **_TENS}
_ONES = frozenset(_UNITS.split()[:9])
#: Units of measure, whose numbers differ from sentence to sentence.
_MEASURES = frozenset(
    map(
        _stem,
        [
            "minutes",
            "hours",
            "days",
            "weeks",
            "months",
            "years",
            "times",
            "miles",
            "kilos",
            "metres",
            "kilometres",
            "grams",
            "litres",
            "percent",
        ],
    )
)
_LEAVES_OPEN = re.compile(
    r"\?|\b(?:or|instead|rather|not|n't|more|another|other|about|half|only|first|if|could|can|would|may|might|next|"
    r"every|each|later|earlier|last|least|change|move|still|left)\b|n['’]t\b",
    re.IGNORECASE,
)
_HOUR = re.compile(
    rf"\bat ((?:half past |quarter (?:past|to) )?(?:{'|'.join(_UNITS.split()[:12])}|\d{{1,2}}(?::\d\d)?)"
    r"|noon|midnight)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Details:
    """The content of a sentence, its weekdays and hours, and the numbers of its things, by stem of the thing."""

    stems: frozenset[str]
    days: frozenset[str]
    hours: frozenset[str]
    numbers: Mapping[str, frozenset[int]]

    @staticmethod
    @lru_cache(maxsize=8192)
    def of(sentence: str) -> "_Details":
        """Return the details of a sentence."""
        words = folded_words(sentence)
        numbers: dict[str, set[int]] = {}
        for value, behind in _numbers(words):
            thing = next((_stem(word) for word in words[behind : behind + 2] if word not in _STOP), None)
            if thing is not None and value > 1 and not _is_year(value):
                numbers.setdefault(thing, set()).add(value)
        return _Details(
            _stems(sentence),
            frozenset(day for day in _DAYS if day in words or f"{day}s" in words),
            frozenset(match[1].casefold() for match in _HOUR.finditer(sentence)),
            {thing: frozenset(values) for thing, values in numbers.items()},
        )


@lru_cache(maxsize=64)
def _facts_of(texts: tuple[str, ...]) -> tuple[_Details, ...]:
    """Return the details of all sentences that have any."""
    details = (_Details.of(sentence) for text in texts for sentence in _sentences(text))
    return tuple(found for found in details if found.days or found.hours or found.numbers)


def _numbers(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield numbers in words or digits: the value of each, and where the words behind it begin."""
    at = 0
    while at < len(words):
        word, value = words[at], 0
        if word.isdecimal() and len(word) < 9:
            value, at = int(word), at + 1
        elif word in _NUMBER:
            value, at = _NUMBER[word], at + 1
            if value >= 20 and at < len(words) and words[at] in _ONES:
                value, at = value + _NUMBER[words[at]], at + 1
        if value:
            while at < len(words) and words[at] in ("hundred", "thousand"):
                value, at = value * (100 if words[at] == "hundred" else 1000), at + 1
            yield value, at
        else:
            at += 1


def _differs(told: _Details, facts: Sequence[_Details]) -> bool:
    """Whether a sentence has another detail than all the facts that are about the same."""
    for thing, values in told.numbers.items():
        alike = [fact.numbers[thing] for fact in facts if thing in fact.numbers and _is_alike(told, fact, thing)]
        if alike and not any(values & known for known in alike):
            return True
    alike_facts = [fact for fact in facts if len(fact.stems & told.stems) >= _SHARED]
    moments: tuple[Callable[[_Details], frozenset[str]], ...] = (lambda d: d.days, lambda d: d.hours)
    return any(_is_another(moment(told), [moment(fact) for fact in alike_facts]) for moment in moments)


def _is_another(told: frozenset[str], known: Sequence[frozenset[str]]) -> bool:
    """Whether a moment is told, others are known, and it is none of them."""
    return bool(told) and any(known) and not any(told & moments for moments in known)


def _is_alike(told: _Details, fact: _Details, thing: str) -> bool:
    """Whether two sentences are about the same thing: they share another word, of a measure two."""
    shared = (told.stems & fact.stems) - {thing}
    return len(shared) >= (_SHARED if thing in _MEASURES else 1)


def _is_year(value: int) -> bool:
    return 1500 < value < 2200


_GREETING = re.compile(r"\bgood (morning|afternoon|evening|night)\b", re.IGNORECASE)
#: Hours of the day in which a greeting is heard: from, to; `good night` also before five in the morning.
_HEARD = {"morning": (3, 13), "afternoon": (11, 19), "evening": (15, 24), "night": (17, 29)}
_DAY = f"({'|'.join(_DAYS)})"
_IS_DAY = re.compile(rf"\b(?:today is|it['’]?s|it is) {_DAY}(?: today)?\s*(?:[.,!;]|$|and\b|but\b|so\b)", re.IGNORECASE)
_IS_NEXT = re.compile(rf"\btomorrow(?: is|['’]s)? {_DAY}\b|\b{_DAY},? tomorrow\b", re.IGNORECASE)


def _is_at_another_time(text: str, time: datetime) -> bool:
    for match in _GREETING.finditer(text):
        first, past_last = _HEARD[match[1].casefold()]
        if not any(first <= hour < past_last for hour in (time.hour, time.hour + 24)):
            return True
    if any(_DAYS.index(match[1].casefold()) != time.weekday() for match in _IS_DAY.finditer(text)):
        return True
    return any(
        _DAYS.index((match[1] or match[2]).casefold()) != (time.weekday() + 1) % 7 for match in _IS_NEXT.finditer(text)
    )


_PLACES = frozenset(
    re.findall(
        r"\S+",
        """
        kitchen office school classroom market shop station harbour garden church library bakery hospital street
        beach ship boat train bus farm café cafe pub bar restaurant museum theatre cinema park forest bridge
        workshop garage hotel airport field stable barn cellar attic gym pool clinic pharmacy studio bank prison
        court
        """,
    )
)
_HERE = re.compile(r"\b(?:here (?:in|at|on) (?:the|this|our|my)|(?:in|at|on) this) (\w+(?: \w+)?)", re.IGNORECASE)


def _is_at_another_place(text: str, situation: Situation) -> bool:
    """Whether a line says that it is at a kind of place that this is none of, and that nobody knows of."""
    where = set(folded_words(situation.place or ""))
    named = {word for match in _HERE.finditer(text) for word in folded_words(match[1])} & _PLACES
    if not named or not where & _PLACES:
        return False
    heard = chain(*situation.known.values(), (line for _, line in situation.before))
    return not named <= where.union(*map(folded_words, heard))


# --- questions ------------------------------------------------------------------------------------------------------


def _any_of(words: str, beside: str = "") -> re.Pattern[str]:
    """Return a pattern that finds any of these words (`_` for a space), or what stands beside them."""
    listed = "|".join(word.replace("_", " ") for word in words.split())
    return re.compile(rf"\b(?:{listed})\b{beside}", re.IGNORECASE)


_AUXILIARY = (
    "do does did is are was were can could will would shall should have has had may must am don't doesn't didn't isn't "
    "aren't wasn't can't couldn't won't wouldn't haven't hasn't"
)
_OPENS = r"(?:(?:and|but|so|then|well|oh|ah|hm+),?\s+)?"
_YES_NO = re.compile(rf"{_OPENS}(?:{'|'.join(_AUXILIARY.split())})\b", re.IGNORECASE)
#: What an answer to any question may begin with.
_ANSWERS = re.compile(
    rf"{_OPENS}(?:yes|yeah|yep|no|nope|not|never|sure|of course|certainly|maybe|perhaps|probably|all right|fine|good"
    r"|gladly|nobody|nothing|none|ask|let me|only|just|some|both|neither|because|so that|exactly|right|true|please|they"
    r"|she|he|i (?:don['’]?t|do not|can['’]?t|cannot|can|could|will|won['’]?t|would|do|did|didn['’]?t|am|think|hope"
    r"|know|might|may|have|had|was|want|need)|i['’](?:m|ll|d|ve)|we['’](?:re|ll|d|ve)|we (?:do|did"
    r"|can|will|have|are|must|need)|it (?:is|was|does|did|has)|it['’]s|that['’]s|that is)\b",
    re.IGNORECASE,
)
_IS_ECHO = _any_of(f"{_AUXILIARY} yes no not sure course maybe perhaps if", r"|n['’]t\b|['’](?:ll|m|d|ve|re|s)\b")

_WH = re.compile(r"\b(where|when|what time|how (?:many|much|long|far|often|old)|who|whose|why)\b")
_PLACE = _any_of(
    "in at on under behind near beside next by to from here there home outside inside upstairs downstairs over between "
    "with around where across above below"
)
_TIME = _any_of(
    f"{' '.join(_DAYS)} {_UNITS} noon midnight today tonight tomorrow yesterday morning afternoon evening night soon "
    "now later after before when until since ago next last as_soon day week month year spring summer autumn winter "
    "january february march april may june july august september october november december early late always never",
    r"|\d",
)
_COUNT = _any_of(
    f"{_UNITS} {' '.join(_TENS)} hundred thousand half dozen few some many all none enough more most much every both "
    "once twice a an no",
    r"|\d",
)
_SOMEBODY = _any_of(
    "i me my you your he she we they nobody somebody everybody people man woman mother father brother sister son "
    "daughter friend neighbour uncle aunt boss teacher",
    r"|(?<=\s)(?-i:[A-Z])\w+",
)
#: What the line that answers such a question has, whatever it says; a reason has no form of its own.
_ANSWER_OF: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "where": (_PLACE,),
    "when": (_TIME,),
    "what time": (_TIME,),
    "how long": (_TIME,),
    "how often": (_TIME, _COUNT),
    "how many": (_COUNT,),
    "how much": (_COUNT,),
    "how old": (_COUNT,),
    "how far": (_COUNT, _PLACE),
    "who": (_SOMEBODY,),
    "whose": (_SOMEBODY,),
}
