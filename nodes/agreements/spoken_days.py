"""Days as people say them in English: `tomorrow`, `next Monday`, `on the 16th`, `Saturday the 14th of March`.

* A weekday is the next such day; `next Friday` is that of the next week, `Friday week` a week after the next one.
* A date without a month is the next such one, a date without a year the next such day. Where a weekday and a date are
  said, the date counts.

Years, and dates in numbers alone (`16/11`), are not read, nor is what names no day (`soon`, `next week`).
"""

import re
from datetime import date, timedelta

#: The year before the last of the calendar, behind which no day is read.
LAST_YEAR = 9998
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "jan(?:uary)?",
    "feb(?:ruary)?",
    "mar(?:ch)?",
    "apr(?:il)?",
    "may",
    "june?",
    "july?",
    "aug(?:ust)?",
    "sept?(?:ember)?",
    "oct(?:ober)?",
    "nov(?:ember)?",
    "dec(?:ember)?",
)
_MONTH = "|".join(_MONTHS)
_TEENS = "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
_UNITS = "first second third fourth fifth sixth seventh eighth ninth"
_ORDINALS = (
    *_UNITS.split(),
    *_TEENS.split(),
    *(f"twenty-{unit}" for unit in _UNITS.split()),
    "thirtieth",
    "thirty-first",
)
_ORDINAL = "|".join(sorted(_ORDINALS, key=len, reverse=True))
#: What an ordinal counts that is no date.
_COUNTED = r"(?! (?:floor|century|street|avenue|row|chapter|page|class|grade|year|time|birthday|edition|place|one)\b)"

_WITH_MONTH = re.compile(
    rf"\b(?:the )?(?:(?P<number>\d\d?)(?:st|nd|rd|th)?|(?P<word>{_ORDINAL})) (?:of )?(?P<month>{_MONTH})\b"
    rf"|\b(?P<month2>{_MONTH}) (?:the )?(?:(?P<number2>\d\d?)(?:st|nd|rd|th)?(?![:.]?\d)|(?P<word2>{_ORDINAL}))\b",
    re.IGNORECASE,
)
_OF_MONTH = re.compile(
    rf"\b(?:the )?(?P<number>\d\d?)(?:st|nd|rd|th)\b{_COUNTED}"
    rf"|(?:\bon the |\b(?:{'|'.join(WEEKDAYS)}),? (?:the )?|^(?:the )?|about the |the (?=\w*(?:th\b|first$)))"
    rf"(?P<word>{_ORDINAL})(?=\s*(?:$|[?!.,;]|at\b|in\b|is\b|works\b|suits\b|['’]s\b|it is\b|then\b|would\b))",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\b(?P<after>the )?day after tomorrow\b|\b(?P<week_on>a week(?: on| from)?|in a week,?(?: on)?) "
    rf"(?P<then>today|tomorrow|{'|'.join(WEEKDAYS)})\b|\b(?P<tomorrow>tomorrow|tmrw)\b"
    r"|\b(?P<today>today|tonight|this (?:morning|noon|afternoon|evening|night|lunch(?:time)?))\b"
    rf"|\b(?:(?P<next>next|last|a week on) )?(?P<weekday>{'|'.join(WEEKDAYS)})(?: (?P<week>week)\b)?",
    re.IGNORECASE,
)
#: Not counted from an hour: `in two days`, `in a week`, `in a fortnight`.
_LATER = re.compile(
    r"\b(?:in|within) (?P<n>an?|two|three|four|five|six|\d\d?)(?: (?P<unit>day|week|fortnight)s?)\b"
    r"|\b(?P<two>a fortnight)"
    r" today\b",
    re.IGNORECASE,
)
_NUMBERS = {"a": 1, "an": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_LENGTHS = {"day": 1, "week": 7, "fortnight": 14}


def day_in(text: str, today: date) -> date | None:
    """Return the day that a line names, from today on; `None` if it names none, or today is near the calendar's end."""
    if today.year >= LAST_YEAR:
        return None
    if found := _WITH_MONTH.search(text):
        return _of_year(found, today)
    if found := _OF_MONTH.search(text):
        return _of_month(found, today)
    if found := _LATER.search(text):
        days = 14 if found["two"] else _count(found["n"]) * _LENGTHS[found["unit"].lower()]
        return today + timedelta(days=days)
    found = _DAY.search(text)
    return _named(found, today) if found is not None else None


def without_days(text: str) -> str:
    """Return a line with ` | ` for the days that it names."""
    for pattern in (_WITH_MONTH, _OF_MONTH, _LATER, _DAY):
        text = pattern.sub(" | ", text)
    return text


def _named(found: re.Match[str], today: date) -> date:
    if found["today"]:
        return today
    if found["tomorrow"]:
        return today + timedelta(days=1)
    if found["week_on"]:
        said = found["then"].lower()
        first = {"today": today, "tomorrow": today + timedelta(days=1)}.get(said) or _weekday(said, today)
        return first + timedelta(days=7)
    if not found["weekday"]:
        return today + timedelta(days=2)
    day = _weekday(found["weekday"].lower(), today)
    is_next_week = (found["next"] or "").lower() == "next" and day - today <= timedelta(days=6 - today.weekday())
    return day + timedelta(days=7) if is_next_week or found["week"] else day


def _weekday(name: str, today: date) -> date:
    return today + timedelta(days=(WEEKDAYS.index(name) - today.weekday()) % 7 or 7)


def _of_year(found: re.Match[str], today: date) -> date | None:
    said = (found["month"] or found["month2"]).lower()
    month = next(number for number, name in enumerate(_MONTHS, start=1) if re.fullmatch(name, said))
    number = _day_number(found["number"] or found["number2"], found["word"] or found["word2"])
    for year in (today.year, today.year + 1):
        if (day := _date(year, month, number)) is not None and day >= today:
            return day
    return None


def _of_month(found: re.Match[str], today: date) -> date | None:
    number = _day_number(found["number"], found["word"])
    for ahead in range(3):  # the next month may have no such day
        year, month = divmod(today.month - 1 + ahead, 12)
        if (day := _date(today.year + year, month + 1, number)) is not None and day >= today:
            return day
    return None


def _day_number(number: str | None, word: str | None) -> int:
    return int(number) if number else _ORDINALS.index((word or "").lower()) + 1


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _count(said: str) -> int:
    return _NUMBERS[said.lower()] if said.lower() in _NUMBERS else int(said)
