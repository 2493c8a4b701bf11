"""Read the examples of a card: lines of a person, and the words before each."""

import re

from tertulia.worlds.characters.macros import USER

#: Before a speaker: spaces, and marks of a list or a quotation.
_BEGINNING = r"[ \t\u3000>•-]*"
#: A line of a conversation, before names are put for macros. Without words it is a heading of a description.
_SPEAKER = re.compile(
    rf"{_BEGINNING}[*_]{{0,3}}(?:\{{\{{(?:user|char)\}}\}}|<(?:user|bot|char)>)[*_]{{0,3}}\s*[:：](?![*_\s]*$)",
    re.IGNORECASE,
)
_START = re.compile(r"^\s*<START>\s*", re.IGNORECASE | re.MULTILINE)


def parted(text: str) -> tuple[str, str]:
    """Return a description, and the conversations in it: from `<START>` or a speaker's line to a blank line."""
    rest: list[str] = []
    spoken: list[str] = []
    is_spoken = False
    for line in text.splitlines():
        starts = _START.match(line) is not None
        if starts or _SPEAKER.match(line):
            is_spoken = True
        elif not line.strip() or line.lstrip().startswith("["):
            is_spoken = False
        (spoken if is_spoken else rest).append(line)
    return "\n".join(rest), "\n".join(spoken)


def is_conversation(text: str) -> bool:
    """Return whether a text has lines of speakers."""
    return any(_SPEAKER.match(line) for line in text.splitlines())


def examples_of(text: str, names: tuple[str, ...]) -> tuple[list[dict[str, str]], list[str]]:
    """Return the examples of a person in a text, and its lines of others that got no answer.

    `<START>` separates conversations; a line that begins with a name and a colon, in bold or not, begins a line of that
    speaker. A conversation without such a line is one example.

    Args:
        names: The names under which the person speaks.
    """
    examples, unanswered = [], []
    others = {USER, "you", "user"} - {name.casefold() for name in names}
    anybody = "|".join(map(re.escape, (*names, *others)))
    of_lines = re.IGNORECASE | re.MULTILINE
    marked = rf"^{_BEGINNING}([*_]{{1,3}})({anybody})(?:(\1)[ \t]*[:：]|[ \t]*[:：](\1)?[ \t]*)"
    text = re.sub(marked, lambda line: f"{line[2]}: {'' if line[3] or line[4] else line[1]}", text, flags=of_lines)
    speakers = re.compile(rf"^{_BEGINNING}({anybody})[ \t]*[:：][ \t]*", of_lines)
    for conversation in filter(None, map(str.strip, _START.split(text))):
        first, *parts = speakers.split(conversation)
        if not parts:
            examples.append({"text": first.strip()})
            continue
        after = first.strip()
        for speaker, said in zip(parts[::2], map(str.strip, parts[1::2]), strict=True):
            if speaker.casefold() in others:
                after = "\n".join(filter(None, (after, said)))
            elif said:
                examples.append({"after": after, "text": said} if after else {"text": said})
                after = ""
        unanswered += [after] if after else []
    return examples, unanswered
