"""Text on one line, for messages and for models' texts.

Code that has to mind more than white space is beside its need, and says why: `clean` for characters that a terminal
would obey, `state.seat.in_one_line` for those that a keyboard sends, `models.served.repair` for those that a model puts
into JSON, `worlds.yaml_file` for messages that quote a file.
"""

import re
import shlex
from functools import lru_cache

from tertulia.state.words import is_beyond_europe, words

_WORD = re.compile(r"[^\W_]+")


def one_line(text: object) -> str:
    """Return a text, or the message of an error, with each run of white space as one space."""
    return " ".join(str(text).split())


def first_line(text: object) -> str:
    """Return the first line of a text, or of the message of an error, that is not blank; empty if there is none."""
    return next((line.strip() for line in str(text).splitlines() if line.strip()), "")


def shell_argument(text: str) -> str:
    """Return a text as the last argument of a command to paste into a shell, which takes it for no option."""
    return f"-- {shlex.quote(text)}" if text.startswith("-") else shlex.quote(text)


def path_argument(path: str) -> str:
    """Return a path as an argument of a command to paste into a shell, which takes it for no option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


@lru_cache(maxsize=2048)  # the units of a prompt are those of the prompt before
def folded(text: str) -> str:
    """Return the words of a text in lower case; the text itself if it has none."""
    return " ".join(folded_words(text)) or text


def folded_words(text: str) -> list[str]:
    """Return the words of a text in lower case, cut at apostrophes; in all scripts those of `state.words` otherwise."""
    text = text.casefold()
    if not is_beyond_europe(text):
        return _WORD.findall(text)
    return [part for word in words(text) for part in re.split("['’]", word)]


def whole_characters(text: str) -> str:
    """Return a text with U+FFFD for each half of a surrogate pair, which no encoder and no tokenizer takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


#: Breaks of lines, and tabs, with the white space around them.
_BREAKS = re.compile(r"\s*[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")

#: Control characters, changes of direction, and halves of surrogate pairs, which no encoding carries.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """Return text of any origin on one line, with `�` for every character that a terminal would obey."""
    return _BREAKS.sub(" ", without_codes(text)).strip()


def without_codes(text: str) -> str:
    """Return text of any origin with `�` for every character that a terminal would obey but tabs and line breaks."""
    # A text that Python calls printable has none of them: a tenth of the time.
    return text if text.isprintable() else _CONTROL.sub("�", text)


def shortened(text: str, length: int) -> str:
    """Return a text, or its beginning, in at most so many characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def in_words(name: str) -> str:
    """Return the name of a value, a step or a mechanism as words of a sentence."""
    return name.replace("_", " ")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with that many digits after the point; a dash if there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def beside(value: float | None, other: float | None, digits: int = 2) -> str:
    """Return a number with so many digits after the point, or with so many that it is not read as another one.

    Rounded, it stays on its side of the other.
    """
    shown = (number(value, places) for places in range(digits, 17))
    others = (number(other, places) for places in range(digits, 17))
    found = (text for text, of_other in zip(shown, others, strict=True) if text != of_other)
    return number(value, digits) if value == other else next(found, repr(value))


def told_apart(value: float, other: object) -> str:
    """Return a number with nine digits, or with all of them if it takes more to tell it from another number."""
    short = f"{value:.9g}"
    return repr(value) if isinstance(other, float) and f"{other:.9g}" == short else short


def count(value: int | None) -> str:
    """Return a count; a dash if there is none."""
    return "–" if value is None else str(value)


def percent(share: float | None) -> str:
    """Return a share in [0, 1] as a whole percentage; a dash if there is none."""
    return "–" if share is None else f"{share:.0%}"


def counted(number: int, singular: str) -> str:
    """Return `1 turn`, `2 turns`."""
    return f"{number} {singular}{'' if number == 1 else 's'}"


def size_of(bytes: int) -> str:
    """Return a size in kB or MB."""
    return f"{bytes / 1e6:.1f} MB" if bytes >= 1e5 else f"{bytes / 1e3:.1f} kB"
