"""Whether a line tells another time or place than that where it is said, by rules over its words."""

import re
from datetime import datetime
from itertools import chain

from tertulia.nodes.shared.sense_times import DAYS, MONTHS, PLACES, UNITS, hour_of
from tertulia.nodes.shared.situation import Situation
from tertulia.state.text import folded_words

_GREETING = re.compile(r"\bgood (morning|afternoon|evening|night)\b", re.IGNORECASE)
#: `What a lovely evening`, `it's early in the morning`; a word for what it is like may stand between.
_IS_PART = re.compile(
    r"\b(?:it['’]?s|it is|what an?|such an?)(?: (?:a|an|so|very|already|almost|still|just|such|in|the|early|late|quiet"
    r"|\w+(?:ly|ful|y|ing|old|arm|ne|ice|eat|ot)))* (morning|afternoon|evening|night)\b"
    r"(?!\s+(?!this|is|as|has|was)\w+(?:s|er)\b)",
    re.IGNORECASE,
)
#: Hours of the day in which a greeting is heard: from, to; `good night` also before five in the morning.
_HEARD = {"morning": (3, 13), "afternoon": (11, 19), "evening": (15, 24), "night": (17, 29)}
_DAY = f"({'|'.join(DAYS)})"
_IS_DAY = re.compile(rf"\b(?:today is|it['’]?s|it is) {_DAY}(?: today)?\s*(?:[.,!;]|$|and\b|but\b|so\b)", re.IGNORECASE)
_IS_NEXT = re.compile(rf"\btomorrow(?: is|['’]s)? {_DAY}\b|\b{_DAY},? tomorrow\b", re.IGNORECASE)
_WAS = re.compile(rf"\byesterday was (?:a )?{_DAY}\b", re.IGNORECASE)
_IS_MONTH = re.compile(
    rf"\b(?:[Ii]t['’]?s|[Ii]t is|[Ww]e are in|[Ww]e['’]re in) (?:only |already |still )?({'|'.join(MONTHS)})\b"
    r"(?:\s+(?:now|already|today))?\s*(?:[.,!;]|$|and\b|but\b|so\b)"
)
_HOUR = rf"({'|'.join(UNITS.split()[:12])}|\d{{1,2}})"
_IS_HOUR = re.compile(
    rf"\b(?:it['’]?s|it is)(?: (?:only|already|just|still|now|past|gone|about|almost|nearly))* {_HOUR}"
    r"(?::([0-5]\d))?(?: ?(?:o['’]clock|[ap]\.?m\b\.?)| (?:now|already)\b|(?<=:\d\d))",
    re.IGNORECASE,
)
#: By how many hours somebody may be wrong who says what the clock says.
_OFF_BY = 1.5


def is_at_another_time(text: str, time: datetime) -> bool:
    """Whether a line greets, or tells the hour, the day or the month, as they are not."""
    lowered = text.casefold()
    if "good" in lowered or "it" in lowered or "what a" in lowered or "such a" in lowered:
        for match in (*_GREETING.finditer(text), *_IS_PART.finditer(text)):
            first, past_last = _HEARD[match[1].casefold()]
            if not any(first <= hour < past_last for hour in (time.hour, time.hour + 24)):
                return True
        for match in _IS_HOUR.finditer(text):
            off = (hour_of(match[1]) + int(match[2] or 0) / 60 - time.hour - time.minute / 60) % 12
            if min(off, 12 - off) > _OFF_BY:
                return True
    if "day" in lowered or "morrow" in lowered:
        for pattern, ahead in ((_IS_DAY, 0), (_IS_NEXT, 1), (_WAS, -1)):
            for match in pattern.finditer(text):
                if DAYS.index(next(filter(None, match.groups())).casefold()) != (time.weekday() + ahead) % 7:
                    return True
    return any(MONTHS.index(match[1]) + 1 != time.month for match in _IS_MONTH.finditer(text))


_HERE = re.compile(
    r"\b(?:here (?:in|at|on) (?:the|this|our|my)|(?:in|at|on) this|welcome to (?:the|our|my)) (\w+(?: \w+)?)"
    r"|\b(?:we are|we['’]re|i am|i['’]m)(?: still)? (?:here )?(?:in|at|on) (?:the|a|an) (\w+)"
    r"(?:,? (?:after all|now|right now))?\s*[.!,;]",
    re.IGNORECASE,
)
#: Where there may be any of these places.
_ANYWHERE = frozenset(
    re.findall(
        r"\w+",
        "town village city island square street world centre center estate campus port valley",
    )
)
#: What a house may have.
_AT_HOME = frozenset(re.findall(r"\w+", "kitchen garden cellar attic garage workshop studio office barn stable field"))
_HOMES = frozenset(
    re.findall(
        r"\w+",
        "flat house home cottage farm farmhouse villa apartment room hut cabin caravan mansion castle",
    )
)


def is_at_another_place(text: str, situation: Situation) -> bool:
    """Whether a line says that it is at a kind of place that this is none of, and that nobody knows of."""
    if not situation.place:
        return False
    named = {word for match in _HERE.finditer(text) for word in folded_words(match[1] or match[2])} & PLACES
    if not named:
        return False
    where = set(folded_words(situation.place))
    if where & _ANYWHERE or (where & _HOMES and named & _AT_HOME):
        return False
    heard = chain(*situation.known.values(), (line for _, line in situation.before))
    return not named <= where.union(*map(folded_words, heard))
