"""Text on one line, for messages and for what models write.

What has to mind more than white space is where it is needed, and says why: `tertulia.phrases.clean` for what a terminal
would obey, `state.seat.in_one_line` for what a keyboard sends, `models.repair` for what a model puts into JSON,
`worlds.yaml_file` for messages that quote a file.
"""

import re
import shlex

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


def folded(text: str) -> str:
    """Return the words of a text in lower case; the text itself where it has none."""
    return " ".join(folded_words(text)) or text


def folded_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.casefold())


def whole_characters(text: str) -> str:
    """Return a text with U+FFFD for each half of a surrogate pair, which no encoder and no tokenizer takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
