"""Times as people say them in English: `tomorrow at nine`, `half seven`, `in half an hour`, relative to a clock.

* Days are those of `spoken_days.py`; a day alone is its noon.
* An hour without half of the day (`at nine`) is one from 7 in the morning to 6 in the evening; with `tonight` or what
  is done in the evening (a film, the pub) it is behind noon; without a day it is the next such hour.
* A part of a day (`this evening`, `at noon`) is at its usual hour (`PARTS`), and so is what lies before or behind
  something (`after the lecture`, `before you open`): no exact time.
* `in an hour`, `in twenty minutes`: from now.

Words that name no time (`soon`, `next week`) are not read. dateparser and parsedatetime read fewer of these (`half
seven` as 7:00, an hour alone as one in the morning), and the first takes milliseconds a line.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from tertulia.nodes.agreements.spoken_days import WEEKDAYS, day_in, without_days
from tertulia.state.patterns import lazy_pattern

#: The hours that are meant by parts of a day, in minutes after midnight.
PARTS = {
    "first light": 6 * 60,
    "first thing": 8 * 60,
    "dawn": 6 * 60,
    "sunrise": 6 * 60,
    "breakfast": 8 * 60,
    "morning": 9 * 60,
    "noon": 12 * 60,
    "midday": 12 * 60,
    "lunch": 12 * 60 + 30,
    "lunchtime": 12 * 60 + 30,
    "afternoon": 15 * 60,
    "tea": 16 * 60,
    "teatime": 16 * 60,
    "supper": 19 * 60,
    "dinner": 19 * 60,
    "evening": 19 * 60,
    "dusk": 19 * 60,
    "sunset": 19 * 60,
    "tonight": 20 * 60,
    "night": 20 * 60,
    "bedtime": 21 * 60,
    "midnight": 24 * 60 - 1,
}
#: When what is only said with `after`, or with `before`, is over, or begins.
_AFTER = {"school": 16 * 60, "work": 18 * 60, "hours": 18 * 60, "dark": 21 * 60}
_EVENTS = (
    "lecture|lesson|class|seminar|course|practice|rehearsal|training|service|mass|church|chapel|meeting"
    "|shift|market|fair|"
    "match|game|show|play|film|concert|ceremony|funeral|wedding|round|run|walk|storm|tide|bell|break|exam"
    "|appointment|"
    "surgery|session|auction|race|swim|ferry|train|bus|boat|closing(?: time)?|milking|school run|assembly|council"
)
#: Behind breakfast, or lunch, it is later; before it, earlier.
_MEALS = ("breakfast", "lunch", "lunchtime", "tea", "supper", "dinner")
_MORNING = frozenset(("morning", "first light", "first thing", "dawn", "sunrise", "breakfast"))
_BEHIND_NOON = frozenset(
    ("afternoon", "evening", "tonight", "night", "dusk", "sunset", "supper", "dinner", "tea", "teatime", "bedtime")
) | frozenset(_AFTER)
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_MORE = {
    **{"a": 1, "an": 1, "a couple of": 2, "a few": 5, "fifteen": 15, "twenty": 20, "twenty-five": 25, "thirty": 30},
    **{"forty": 40, "forty-five": 45, "fifty": 50, "ninety": 90},
}
_COUNTS = {**{word: number for number, word in enumerate(_WORDS, start=1)}, **_MORE}

_HOUR = rf"(?:{'|'.join(_WORDS)}|1[0-2]|[1-9])"
_NO_HOUR = r"(?![:.]\d|\s*(?:of|per|days?|hours?|minutes?|mins?|weeks?|\w+s\b))"
_CLOCK = lazy_pattern(
    rf"\b(?P<h24>[01]?\d|2[0-3])[:.](?P<m24>[0-5]\d)\s*(?P<half24>[ap]\.?m\b\.?)?"
    rf"|\b(?P<n>half|(?:a )?quarter|five|ten|twenty|twenty-five|\d\d?)(?: minutes)? (?P<side>past|to|before|after)"
    rf" (?P<h1>{_HOUR})\b"
    rf"|\bhalf (?P<h5>{_HOUR})\b"
    rf"|\b(?P<h2>{_HOUR})\s*(?P<half>[ap]\.?m\b\.?|o['’]?\s?clock\b|sharp\b|on the dot\b|-?ish\b)"
    rf"|\b(?P<h3>{_HOUR})[ -](?P<m3>ten|fifteen|twenty|thirty|forty(?:-five)?|fifty)\b"
    rf"|\b(?:at|till|until|by|say|make (?:it|that)|before|around|about|after|from|towards"
    rf"|(?:push|move|bring|change|put|shift)(?:ed)? (?:it|that|this|us)(?: (?:back|forward|on))? to)"
    rf" (?P<h4>{_HOUR})\b(?:\s*(?P<half4>[ap]\.?m\b\.?))?" + _NO_HOUR,
    re.IGNORECASE,
)
#: An hour without `at`, where the line has no other: `One o'clock?`, `Nine tomorrow?`, `Ten is fine.`
_BARE = lazy_pattern(
    rf"(?:^|[,;–—] |\b(?:tomorrow|today|tonight|or|rather|perhaps|maybe|prefer|then|does|would|will|is"
    rf"|how['’]s|how is|yes"
    rf"|no|sure|ok|okay|right|so|{'|'.join(WEEKDAYS)}) )(?P<h>{_HOUR})\b"
    r"(?=\s*(?:$|[?!.,;–—|]|['’]s\b|is\b|it is\b|then\b|suits?\b|works?\b|would\b|will\b|tomorrow\b|today\b|tonight\b"
    r"|on\b|at\b|in the\b|by\b|outside\b|sounds\b|okay\b|ok\b|fine\b|good\b|all right\b|better\b|instead\b))",
    re.IGNORECASE,
)
_IN = lazy_pattern(
    r"\b(?:in|within|give me)(?: about| around| just)? (?:(?P<half>half an hour)\b"
    r"|(?P<quarter>(?:a )?quarter of an hour)\b"
    r"|(?P<three>three[ -]quarters of an hour)\b"
    rf"|(?P<n>{'|'.join(sorted(_COUNTS, key=len)[::-1])}|\d+)(?P<and_half> and a half)? (?P<unit>min(?:ute)?"
    rf"|hour|hr)s?\b"
    rf"(?:['’] time|['’]s time)?(?P<more> and a half)?"
    r"|(?P<alone>five|ten|fifteen|twenty|thirty|5|10|15|20|30)(?=\s*(?:$|[.?!,;]|then\b|at\b|by\b)))"
    rf"|\b(?:(?P<half_from>half an hour)|(?P<n_from>{'|'.join(sorted(_COUNTS, key=len)[::-1])}|\d+)"
    r" (?P<unit_from>minute|hour)s?) from now\b",
    re.IGNORECASE,
)
_PART = lazy_pattern(
    r"\b(?:(?P<tonight>tonight)|(?:in the |this |at |by |for |(?:right |just |straight "
    r"|soon )?(?P<side>before|after) (?:the )?"
    r"|over |during |(?<=tomorrow )|(?<=day )|(?<=today ))(?:early |late )?"
    rf"(?P<part>{'|'.join(sorted(PARTS, key=len, reverse=True))})\b|after (?P<after>{'|'.join(_AFTER)})\b)"
    r"|\b(?P<alone>noon|midday|midnight|first thing)\b",
    re.IGNORECASE,
)
#: Before or behind something whose time is not said: `after the lecture`, `before you open`, `when my shift ends`.
_ABOUT_EVENT = lazy_pattern(
    r"\b(?:(?:right|just|straight|soon|shortly) )?(?P<side>before|after|when|once|as soon as) (?:"
    rf"(?:the |my |your |our |his |her |this |today['’]s |evening |morning |choir |football |band )*(?:{_EVENTS})"
    r"(?: (?:is |has )?(?:over|ends?|finish(?:es|ed)?|lets out|starts|begins|leaves|sails|closes|opens|goes"
    r"|comes in))?\b"
    r"|(?:you|we|i|they|the (?:shop|bakery|inn|pub|office|library|school|bar|doors?|place|cafe"
    r"|café))(?:['’]ve|['’]re|['’]m)?"
    r"(?: have| are| am)? (?P<does>opens?|close[sd]?|shut|lock up|leave|finish(?:ed)?|sail|start|begin"
    r"|go home|knock off|done|"
    r"set off|go off)\b)",
    re.IGNORECASE,
)
_SAME_TIME = lazy_pattern(r"\b(?:this|same) time (?P<day>tomorrow)\b", re.IGNORECASE)
#: What is done early, or in the evening, tells the half of the day.
_EARLY = lazy_pattern(
    r"\b(?:early (?:train|bus|ferry|boat|tide|shift|start)|breakfast|brunch|sunrise|bright and early)\b", re.IGNORECASE
)
_LATE = lazy_pattern(
    r"\b(?:dinner|supper|film|movie|cinema|quiz|pub|pints?|table for|beers?|drinks|party|concert|cocktails?|stars)\b",
    re.IGNORECASE,
)
_PAST = lazy_pattern(r"\b(?:yesterday|ago|last (?:night|week|time|\w+day))\b", re.IGNORECASE)


@dataclass(frozen=True)
class SpokenTime:
    """A time as far as it was said.

    Attributes:
        minute: Minutes after midnight; `None` where only a day was said.
        is_exact: Whether a time of day was said, and not a part of a day.
        is_open: Whether the half of the day was left open.
        is_today: Whether the day is said, and is the present one.
        at: The time itself, where it was said from now (`in an hour`).
        is_loose: Whether it only lies before or behind something: where the usual hour is over, it is an hour from now.
    """

    day: date | None = None
    minute: int | None = None
    is_exact: bool = False
    is_open: bool = False
    is_today: bool = False
    at: datetime | None = None
    is_loose: bool = False

    @property
    def is_telling(self) -> bool:
        """Whether it says more than `today`."""
        return self.at is not None or self.minute is not None or not self.is_today

    def resolved(self, now: datetime, before: "SpokenTime | None" = None) -> datetime | None:
        """Return the time that is meant; `None` where it is not said, or past.

        Args:
            before: What was said before it, whose day and part of a day go on to be meant.
        """
        if self.at is not None:
            return self.at
        day, minute, is_open = self.day, self.minute, self.is_open
        if before is not None and day is None:
            day = before.day if before.at is None else before.at.date()
        if minute is None and before is not None:
            minute, is_open = before.minute, before.is_open
        elif before is not None and before.minute is not None and is_open and not before.is_open and minute is not None:
            minute = min(minute, minute + 12 * 60, key=lambda at: abs(at - (before.minute or 0)))
        if minute is None:
            minute = 12 * 60 if day is not None else None
        if minute is None:
            return None
        meant = datetime.combine(day or now.date(), time()) + timedelta(minutes=minute)
        if meant <= now and self.is_loose and day in (None, now.date()):
            return now + timedelta(hours=1)
        if meant <= now and is_open and meant + timedelta(hours=12) > now and day in (None, now.date()):
            meant += timedelta(hours=12)
        if meant <= now and day is None:
            meant += timedelta(days=1)
        return meant if meant > now else None


def time_in(text: str, now: datetime) -> SpokenTime | None:
    """Return the time that a line names, as far as it is said; `None` where it names none, or one that is past.

    Args:
        text: A line, or a sentence of it.
        now: The time at which it is said.
    """
    if _PAST.search(text):
        return None
    if found := _IN.search(text):
        return _from_now(found, now)
    if _SAME_TIME.search(text):
        return SpokenTime(at=now + timedelta(days=1), is_exact=True)
    day, part = day_in(text, now.date()), _PART.search(text)
    rest = without_days(text)
    clock = _clock_in(rest, _half_hint(text, part))
    if clock is not None:
        return SpokenTime(day, *clock)
    if part is not None:
        return SpokenTime(day, _minute_of(part), _word(part) in ("noon", "midday", "midnight") and not part["side"])
    if found := _ABOUT_EVENT.search(text):
        return SpokenTime(day, _minute_about(found), is_loose=True)
    return SpokenTime(day, is_today=day == now.date()) if day is not None else None


def without_times(text: str) -> str:
    """Return a line without the times that it names, so that no place is read out of them."""
    text = without_days(_SAME_TIME.sub(" | ", _IN.sub(" | ", text)))
    for pattern in (_CLOCK, _BARE, _PART, _ABOUT_EVENT):
        text = pattern.sub(" | ", text)
    return " ".join(text.split())


def _from_now(found: re.Match[str], now: datetime) -> SpokenTime:
    if found["half"] or found["half_from"]:
        later = timedelta(minutes=30)
    elif found["quarter"] or found["three"]:
        later = timedelta(minutes=15 if found["quarter"] else 45)
    elif found["alone"]:
        later = timedelta(minutes=_count(found["alone"]))
    else:
        is_hour = (found["unit"] or found["unit_from"]).lower().startswith("h")
        unit = timedelta(hours=1) if is_hour else timedelta(minutes=1)
        later = min(_count(found["n"] or found["n_from"]), 1000) * unit
        later += unit / 2 if found["and_half"] or found["more"] else timedelta()
    return SpokenTime(at=now + later, is_exact=True)


def _word(part: re.Match[str]) -> str:
    return str(part["tonight"] or part["part"] or part["after"] or part["alone"]).lower()


def _minute_of(part: re.Match[str]) -> int:
    minute, side = {**PARTS, **_AFTER}[_word(part)], (part["side"] or "").lower()
    if _word(part) not in _MEALS:
        return minute
    return minute + {"after": 60, "before": -60}.get(side, 0)


def _minute_about(found: re.Match[str]) -> int:
    does, side = (found["does"] or "").lower(), found["side"].lower()
    if does.startswith("open") or (does and side == "before" and does in ("start", "begin", "sail")):
        return 8 * 60 + 30
    return 16 * 60 if side == "before" else 17 * 60


def _half_hint(text: str, part: re.Match[str] | None) -> str | None:
    """Return the part of a day that tells which half of it an hour is in."""
    if part is not None:
        return _word(part)
    return "morning" if _EARLY.search(text) else "evening" if _LATE.search(text) else None


def _clock_in(text: str, part: str | None) -> tuple[int, bool, bool] | None:
    """Return minutes after midnight, that they are exact, and whether the half of the day was left open."""
    found = _CLOCK.search(text)
    if found is None:
        bare = _BARE.search(text)
        return None if bare is None else _halved(_count(bare["h"]) * 60, "", part)
    if found["h24"]:
        minute, half = int(found["h24"]) * 60 + int(found["m24"]), found["half24"] or ""
        is_written = not half and (int(found["h24"]) > 12 or found["h24"].startswith("0"))
        return (minute, True, False) if is_written else _halved(minute, half, part)
    if found["h1"]:
        word = found["n"].lower().removeprefix("a ")
        past = {"half": 30, "quarter": 15}.get(word) or _count(word)
        minute = _count(found["h1"]) * 60 + (past if found["side"].lower() in ("past", "after") else -past)
        return _halved(minute, "", part)
    if found["h5"]:
        return _halved(_count(found["h5"]) * 60 + 30, "", part)
    if found["h3"]:
        return _halved(_count(found["h3"]) * 60 + _count(found["m3"]), "", part)
    return _halved(_count(found["h2"] or found["h4"]) * 60, found["half"] or found["half4"] or "", part)


def _halved(minute: int, half: str, part: str | None) -> tuple[int, bool, bool]:
    """Place a time of a twelve-hour clock in a day."""
    minute %= 12 * 60
    written = half.lower().replace(".", "")
    if written in ("am", "pm"):
        return minute + (12 * 60 if written == "pm" else 0), True, False
    if part in _MORNING:
        return minute, True, False
    if part in _BEHIND_NOON:
        return minute + 12 * 60, True, False
    return (minute, True, True) if minute >= 7 * 60 else (minute + 12 * 60, True, False)


def _count(said: str) -> int:
    return _COUNTS[said.lower()] if said.lower() in _COUNTS else int(said)
