"""Places as people name them in English: `at the slip`, `by the stone trough`, `at your place`, `here`."""

import re

from tertulia.state.patterns import lazy_pattern

#: What stands before a place, the likeliest first: who says `come to the inn with the cart` means the inn.
_BEFORE = (
    "at",
    "by",
    "in front of",
    "outside",
    "behind",
    "near",
    "beside",
    "under",
    "inside",
    "in",
    "on",
    "along",
    "over to",
    "round to",
    "to",
    "into",
    "down at",
)
#: Where the name of a place is over.
_ENDS = (
    r"(?=\s*(?:[,.;:!?|]|$|\b(?:at|by|in|on|to|and|or|with|for|from|when|while|where|then|before|after|if|so"
    r"|that|this|"
    r"about|as|because|but|again|together|please|tomorrow|today|tonight|is|are|will|would|around|after"
    r"|suits?|works?|should|can)\b))"
)
_WORD = r"[\w'’-]+"
_NAME = (
    rf"(?P<name>(?:the|my|your|our|his|her|their|an?)(?: {_WORD}){{1,4}}?"
    r"|(?:reception|church|school|work|college|headquarters|base|town hall|(?:platform|gate|room|pier|berth"
    r"|table|door)"
    r" (?:\d+|[a-z]+))"
    rf"|(?-i:[A-Z]){_WORD}(?: (?-i:[A-Z]){_WORD}){{0,3}}){_ENDS}"
)
_PLACES = tuple(lazy_pattern(rf"(?i)\b{before} {_NAME}") for before in _BEFORE)
_HERE = lazy_pattern(r"\b(?:here|same place)\b", re.IGNORECASE)
_PERSON_AT = lazy_pattern(r"\b(?:my|your) (?:place|house|home|flat|cottage)\b|\bcome over\b", re.IGNORECASE)
#: What stands where a place does, and is none.
_NOT_PLACES = lazy_pattern(
    r"^(?:(?:the|my|your|our|a|an) )?(?:moment|time|hour|day|way|end|beginning|meantime|evening|morning"
    r"|afternoon|week|"
    r"weekend|rain|dark|sun|hurry|mood|idea|first|last|best|least|paper|phone|(?:\w+ )?e-?mail|"
    r"telephone|list|doctor|dentist|contrary|"
    r"other hand|mind|head|heart|life|opinion|council|mayor|others|two of us|same|sister|brother|mother|father|wall|"
    r"budget|show|first strike|whole|subject|point|matter|answer|question)$|^(?:I|You|We|He|She|They|It|Mr|Mrs)\b",
    re.IGNORECASE,
)


def place_in(text: str) -> str | None:
    """Return the place that a line names, without its article; `None` where it names none.

    Args:
        text: A line without the times that it names (`nodes/agreements/spoken_times.py`).
    """
    for pattern in _PLACES:
        for found in pattern.finditer(text):
            name = found["name"].strip()
            if not _NOT_PLACES.match(name):
                return re.sub(r"^(?:the|an?) ", "", name, flags=re.IGNORECASE)
    if home := _PERSON_AT.search(text):
        return home[0] if home[0].lower() != "come over" else "my place"
    return "here" if _HERE.search(text) else None


def without_places(text: str) -> str:
    """Return a line without the places that it names."""
    for pattern in _PLACES:
        text = pattern.sub(lambda found: found[0] if _NOT_PLACES.match(found["name"].strip()) else " | ", text)
    return _HERE.sub(" | ", _PERSON_AT.sub(" | ", text))
