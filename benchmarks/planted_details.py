"""Memories as their owners say them, and with another detail than is remembered."""

import re
from collections.abc import Mapping, Sequence
from random import Random

_NUMBERS = re.findall(
    r"\w+",
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety",
)
#: Words that are replaced by another of their row.
DETAILS: Mapping[str, Sequence[str]] = {
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": (
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ),
    "season": ("spring", "summer", "autumn", "winter"),
    "part of day": ("morning", "afternoon", "evening", "night"),
    "number": tuple(_NUMBERS),
    "hour": tuple(
        f"at {hour}"
        for hour in (
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "noon",
            "midnight",
            "one",
            "two",
            "three",
            "four",
            "five",
        )
    ),
    "place": (),
    "relative": (
        "mother",
        "father",
        "sister",
        "brother",
        "daughter",
        "son",
        "uncle",
        "aunt",
        "grandmother",
        "grandfather",
        "wife",
        "husband",
    ),
}
_PLACES = (
    "Lisbon",
    "Oslo",
    "Bergen",
    "Cairo",
    "Lima",
    "Kyoto",
    "Porto",
    "Galway",
    "Leeds",
    "Turin",
    "Gdansk",
    "Toronto",
)
_ROOMS = ("kitchen", "harbour", "library", "garden", "church", "market", "school", "hospital", "cellar", "station")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d)\b")
_DIGITS = re.compile(r"(?<![\d:.,])\d{1,4}(?![\d:.,])")


def as_own(memory: str, owner: str) -> str | None:
    """Return a memory as its owner says it; `None` where it is not of them. One in the first person is as it is."""
    if re.match(r"(?:I|My)\b", memory):
        return memory
    first = owner.split()[0]
    name = rf"(?:{re.escape(owner)}|{re.escape(first)})"
    if not re.search(rf"\b{name}\b", memory):
        return None
    text = re.sub(rf"\b{name}['’]s\b", "my", memory)
    text = re.sub(rf"\b{name} (is|has|does|was|(?:[a-z]+ly )?[a-z]+)\b", lambda match: f"I {_verb(match[1])}", text)
    text = re.sub(rf"\b{name}\b", "me", text)
    text = re.sub(r"\b(?:her|his)\b", "my", text)
    return text[0].upper() + text[1:]


def _verb(word: str) -> str:
    irregular = {"is": "am", "has": "have", "does": "do", "was": "was", "goes": "go"}
    if word in irregular:
        return irregular[word]
    if word.endswith("ies"):
        return word[:-3] + "y"
    if re.search(r"(?:sh|ch|ss|x|zz)es$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def with_another_detail(kind: str, text: str, draw: Random) -> str | None:
    """Return a text with one detail of a kind changed; `None` where it has none."""
    if kind == "place":
        return _elsewhere(text, draw)
    if kind in ("number", "hour") and (match := (_CLOCK if kind == "hour" else _DIGITS).search(text)):
        if kind == "hour":
            other = f"{(int(match[1]) + draw.choice((1, 2, 3, 5))) % 24 or 12}:{match[2]}"
        else:
            other = str(int(match[0]) + draw.choice((1, 2, 3, 7)) if int(match[0]) > 1 else 5)
        return text[: match.start()] + other + text[match.end() :]
    row = DETAILS[kind]
    case = 0 if kind in ("weekday", "month") else re.IGNORECASE
    found = list(re.finditer(rf"\b(?:{'|'.join(row)})\b", text, case))
    if not found:
        return None
    match = draw.choice(found)
    same = ("evening", "night") if match[0] in ("evening", "night") else ()
    other = draw.choice([word for word in row if word.casefold() not in text.casefold() and word not in same])
    return text[: match.start()] + other + text[match.end() :]


def _elsewhere(text: str, draw: Random) -> str | None:
    """Return a text with another place: a name behind a preposition, or a kind of place."""
    if named := re.search(r"\b(?:in|from|to|near) ([A-Z][a-z]{3,})\b", text):
        if named[1] in DETAILS["weekday"] or named[1] in DETAILS["month"]:
            return None
        return (
            text[: named.start(1)] + draw.choice([name for name in _PLACES if name != named[1]]) + text[named.end(1) :]
        )
    if kind := re.search(rf"\b(?:in|at|to|near|behind) (?:the|my) ({'|'.join(_ROOMS)})\b", text):
        return text[: kind.start(1)] + draw.choice([name for name in _ROOMS if name not in text]) + text[kind.end(1) :]
    return None
