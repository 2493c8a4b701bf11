"""Put names and words in the place of a card's macros: `{{char}}`, `{{user}}`, `<BOT>`, `{{random:A,B}}`."""

import re

from tertulia.state.text import whole_characters

#: The other person, until their name is known; any text may have it.
USER = "{{user}}"
#: The person of another file, until their name is known: in a lorebook of its own.
CHAR = "{{char}}"

#: Characters that a terminal would obey, or that turn the order of a text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MACRO = re.compile(r"\{\{([^{}]*)\}\}")
_TAGS = re.compile(r"<(user|bot|char|charifnotgroup)>", re.IGNORECASE)
_CHOICE = re.compile(r"(?:random|pick)\s*::?\s*(.*)", re.IGNORECASE | re.DOTALL)
_CHOICES = re.compile(r"::|(?<!\\),")

#: Macros within macros are resolved so many levels deep.
_DEPTH = 4


def without_controls(text: str) -> str:
    """Return a text without control characters but breaks of lines and tabs, and without halves of characters."""
    return whole_characters(_CONTROLS.sub("", text))


def resolved(text: str, char: str) -> tuple[str, list[str]]:
    """Return a text with names for macros, and the macros and comments that it had besides.

    A choice becomes its words (`A or B`), as no draw is made; the rest is left out. `USER` stays.

    Args:
        char: The name for `{{char}}`.
    """
    removed: list[str] = []

    def comment(found: re.Match[str]) -> str:
        removed.append(found[0])
        return ""

    def word(found: re.Match[str]) -> str:
        inner = found[1].strip()
        if inner.casefold() in ("char", "bot"):
            return char
        if inner.casefold() == "user":
            return "\0"
        if inner.casefold() == "newline":
            return "\n"
        removed.append(found[0].replace("\0", USER))
        choice = _CHOICE.fullmatch(inner)
        parts = [part.strip() for part in _CHOICES.split(choice[1])] if choice else []
        return " or ".join(filter(None, parts))

    text = without_controls(text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _COMMENT.sub(comment, text)
    text = _TAGS.sub(lambda tag: "\0" if tag[1].casefold() == "user" else char, text)
    for _ in range(_DEPTH):
        before, text = text, _MACRO.sub(word, text)
        if before == text:
            break
    return text.replace("\0", USER), removed
