"""Times as people say them in English: `tomorrow at nine`, `on Friday`, `in half an hour`, relative to a clock.

* A day (`today`, `tomorrow`, `on Friday`, `in two days`) is the next such day; `next Friday` is that of the next week.
* An hour without half of the day (`at nine`) is one from 7 in the morning to 6 in the evening; with `tonight` or
  `evening` it is behind noon; without a day it is the next such hour.
* A part of a day (`this evening`, `at noon`, `after school`) is at its usual hour (`PARTS`); a day alone is its noon.
* `in an hour`, `in twenty minutes`: from now.

Dates (`8 May`) and words that name no time (`soon`, `next week`) are not read.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

#: The hours that are meant by parts of a day, in minutes after midnight.
PARTS = {
    "first light": 6 * 60,
    "dawn": 6 * 60,
    "sunrise": 6 * 60,
    "breakfast": 8 * 60,
    "morning": 9 * 60,
    "noon": 12 * 60,
    "midday": 12 * 60,
    "lunch": 12 * 60 + 30,
    "afternoon": 15 * 60,
    "tea": 16 * 60,
    "supper": 19 * 60,
    "dinner": 19 * 60,
    "evening": 19 * 60,
    "dusk": 19 * 60,
    "sunset": 19 * 60,
    "tonight": 20 * 60,
    "night": 20 * 60,
    "midnight": 24 * 60 - 1,
}
#: When what is only said with `after` is over.
_AFTER = {"school": 16 * 60, "work": 18 * 60}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_MORE = {"a": 1, "an": 1, "a couple of": 2, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45}
_COUNTS = {**{word: number for number, word in enumerate(_WORDS, start=1)}, **_MORE}

_HOUR = rf"(?:{'|'.join(_WORDS)}|1[0-2]|[1-9])"
_CLOCK = re.compile(
    rf"\b(?P<h24>[01]?\d|2[0-3])[:.](?P<m24>[0-5]\d)\s*(?P<half24>[ap]\.?m\b\.?)?"
    rf"|\b(?P<n>half|(?:a )?quarter|five|ten|twenty|twenty-five) (?P<side>past|to) (?P<h1>{_HOUR})\b"
    rf"|\b(?P<h2>{_HOUR})\s*(?P<half>[ap]\.?m\b\.?|o['’]?clock\b|sharp\b)"
    rf"|\b(?P<h3>{_HOUR})[ -](?P<m3>fifteen|thirty|forty-five)\b"
    rf"|\b(?:at|till|by|say|make it|before|around|about) (?P<h4>{_HOUR})\b(?:\s*(?P<half4>[ap]\.?m\b\.?))?"
    r"(?![:.]\d|\s*(?:of|per|days?|hours?|minutes?|\w+s\b))",
    re.IGNORECASE,
)
#: An hour without `at`, where the line has no other: `One o'clock?`, `Nine tomorrow?`, `Ten is fine.`
_BARE = re.compile(
    rf"(?:^|[,;] |\b(?:tomorrow|today|tonight|{'|'.join(_WEEKDAYS)}) )(?P<h>{_HOUR})\b"
    r"(?=\s*(?:$|[?!.,;]|is\b|it is\b|then\b|suits\b|works\b|would\b|tomorrow\b|today\b|tonight\b|on\b|at\b|in the\b))",
    re.IGNORECASE,
)
_IN = re.compile(
    rf"\b(?:in|within) (?P<half>half an hour)\b|\b(?:in|within) (?P<n>{'|'.join(sorted(_COUNTS, key=len)[::-1])}|\d+)"
    r"(?P<and_half> and a half)? (?P<unit>minute|hour|day)s?\b",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\b(?P<after>the )?day after tomorrow\b|\b(?P<tomorrow>tomorrow)\b|\b(?P<today>today|tonight|this (?:morning|noon|"
    rf"afternoon|evening|night))\b|\b(?:(?P<next>next|last) )?(?P<weekday>{'|'.join(_WEEKDAYS)})\b",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?:(?P<tonight>tonight)|(?:in the |this |at |by |for |before |after |(?<=tomorrow )|(?<=day ))"
    rf"(?P<part>{'|'.join(PARTS)})|after (?P<after>school|work))\b|\b(?P<alone>noon|midday|midnight)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:yesterday|ago|last (?:night|week|time|\w+day))\b", re.IGNORECASE)


@dataclass(frozen=True)
class SpokenTime:
    """A time as far as it was said.

    Attributes:
        minute: Minutes after midnight; `None` where only a day was said.
        is_exact: Whether a time of day was said, and not a part of a day.
        is_open: Whether the half of the day was left open.
        is_today: Whether the day is said, and is the present one.
        at: The time itself, where it was said from now (`in an hour`).
    """

    day: date | None = None
    minute: int | None = None
    is_exact: bool = False
    is_open: bool = False
    is_today: bool = False
    at: datetime | None = None

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
        if minute is None:
            minute = 12 * 60 if day is not None else None
        if minute is None:
            return None
        meant = datetime.combine(day or now.date(), time()) + timedelta(minutes=minute)
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
    day, part = _day_in(text, now), _part_in(text)
    clock = _clock_in(text, part)
    if clock is not None:
        return SpokenTime(day, *clock)
    if part is not None:
        return SpokenTime(day, {**PARTS, **_AFTER}[part], part in ("noon", "midday", "midnight"))
    return SpokenTime(day, is_today=day == now.date()) if day is not None else None


def without_times(text: str) -> str:
    """Return a line without the times that it names, so that no place is read out of them."""
    for pattern in (_IN, _CLOCK, _BARE, _PART, _DAY):
        text = pattern.sub(" | ", text)
    return " ".join(text.split())


def _from_now(found: re.Match[str], now: datetime) -> SpokenTime:
    if found["half"]:
        return SpokenTime(at=now + timedelta(minutes=30), is_exact=True)
    said = found["n"].lower()
    count = _COUNTS[said] if said in _COUNTS else int(said)
    unit = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}[found["unit"].lower()]
    later = min(count, 1000) * unit + (unit / 2 if found["and_half"] else timedelta())
    if found["unit"].lower() == "day":
        return SpokenTime(day=(now + later).date())
    return SpokenTime(at=now + later, is_exact=True)


def _day_in(text: str, now: datetime) -> date | None:
    found = _DAY.search(text)
    if found is None:
        return None
    today = now.date()
    if found["today"]:
        return today
    if found["tomorrow"]:
        return today + timedelta(days=1)
    if not found["weekday"]:
        return today + timedelta(days=2)
    ahead = (_WEEKDAYS.index(found["weekday"].lower()) - today.weekday()) % 7 or 7
    if (found["next"] or "").lower() == "next" and ahead <= 6 - today.weekday():
        ahead += 7
    return today + timedelta(days=ahead)


def _part_in(text: str) -> str | None:
    found = _PART.search(text)
    return (found["tonight"] or found["part"] or found["after"] or found["alone"]).lower() if found else None


def _clock_in(text: str, part: str | None) -> tuple[int, bool, bool] | None:
    """Return minutes after midnight, that they are exact, and whether the half of the day was left open."""
    found = _CLOCK.search(text)
    if found is None:
        bare = _BARE.search(text)
        return None if bare is None else _halved(_hour(bare["h"]) * 60, "", part)
    if found["h24"]:
        minute, half = int(found["h24"]) * 60 + int(found["m24"]), found["half24"] or ""
        is_written = not half and (int(found["h24"]) > 12 or found["h24"].startswith("0"))
        return (minute, True, False) if is_written else _halved(minute, half, part)
    if found["h1"]:
        word = found["n"].lower().removeprefix("a ")
        past = {"half": 30, "quarter": 15, "twenty-five": 25}.get(word) or _COUNTS[word]
        minute = _hour(found["h1"]) * 60 + (past if found["side"].lower() == "past" else -past)
        return _halved(minute, "", part)
    if found["h3"]:
        return _halved(_hour(found["h3"]) * 60 + {"fifteen": 15, "thirty": 30}.get(found["m3"].lower(), 45), "", part)
    return _halved(_hour(found["h2"] or found["h4"]) * 60, found["half"] or found["half4"] or "", part)


def _halved(minute: int, half: str, part: str | None) -> tuple[int, bool, bool]:
    """Place a time of a twelve-hour clock in a day."""
    minute %= 12 * 60
    written = half.lower().replace(".", "")
    if written in ("am", "pm"):
        return minute + (12 * 60 if written == "pm" else 0), True, False
    if part in ("morning", "first light", "dawn", "sunrise", "breakfast"):
        return minute, True, False
    if part in (
        "afternoon",
        "evening",
        "tonight",
        "night",
        "dusk",
        "sunset",
        "supper",
        "dinner",
        "tea",
        "school",
        "work",
    ):
        return minute + 12 * 60, True, False
    return (minute, True, True) if minute >= 7 * 60 else (minute + 12 * 60, True, False)


def _hour(said: str) -> int:
    return _COUNTS[said.lower()] if said.lower() in _COUNTS else int(said)
