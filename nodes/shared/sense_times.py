"""English words for numbers, times and kinds of places, as the rules of `sense` read them."""

import re

UNITS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = {
    word: 10 * ten
    for ten, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
NUMBER = {**{word: unit for unit, word in enumerate(UNITS.split(), 1)}, **TENS}
ONES = frozenset(UNITS.split()[:9])
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: With their capitals, by which `May` and `March` are told from verbs.
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
#: Kinds of places in which people talk.
PLACES = frozenset(
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

_HOUR_WORD = rf"(?:{'|'.join(UNITS.split()[:12])}|\d{{1,2}})"
_CLOCK = re.compile(r"\b(\d{1,2})[:.]([0-5]\d)\b(?!\s*(?:euros|dollars|pounds|km|%))")
_HALF = re.compile(rf"\b(half past|quarter past|quarter to) ({_HOUR_WORD})\b", re.IGNORECASE)
_O_CLOCK = re.compile(rf"\b({_HOUR_WORD}) ?(?:o['’]clock|[ap]\.?m\b)", re.IGNORECASE)
_AT = re.compile(
    rf"\bat (?:about |around )?({_HOUR_WORD})\b(?![:.]\d)(?: (ten|twenty|thirty|forty|fifty)\b)?", re.IGNORECASE
)
_OTHER = re.compile(
    rf"\b(?:by|until|till|before|after|since|around) ({_HOUR_WORD})"
    r"(?=\s*(?:[.,!;?]|$)|\s+(?:in|on|every|each|today|tomorrow|tonight|this|and|sharp|exactly)\b)",
    re.IGNORECASE,
)
_NOON = re.compile(r"\b(noon|midday|midnight)\b", re.IGNORECASE)


def hours_in(text: str) -> set[str]:
    """Return the times of the clock in a text, in hours and minutes, of twelve hours; noon and midnight are words."""
    found = {f"{int(hour) % 12}:{minute}" for hour, minute in _CLOCK.findall(text)}
    for part, hour in _HALF.findall(text):
        value = hour_of(hour) - (part.casefold() == "quarter to")
        minutes = {"half past": "30", "quarter past": "15", "quarter to": "45"}[part.casefold()]
        found.add(f"{value % 12}:{minutes}")
    for pattern in (_O_CLOCK, _OTHER):
        found |= {f"{hour_of(hour) % 12}:00" for hour in pattern.findall(text)}
    found |= {
        f"{hour_of(hour) % 12}:{TENS.get(tens.casefold(), 10 if tens else 0):02}" for hour, tens in _AT.findall(text)
    }
    return found | {word.casefold().replace("midday", "noon") for word in _NOON.findall(text)}


def hour_of(word: str) -> int:
    """Return the hour that a word or a figure is."""
    return int(word) if word.isdecimal() else NUMBER[word.casefold()]
