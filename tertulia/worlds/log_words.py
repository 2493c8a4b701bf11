"""Facts that Generative Agents logs give in words alone, by language: the fields of a record are used first.

Versions of the program in other languages keep its fields, and often its English frame around their words (`Maria is
正在看书`), so the words of all languages are looked for in every log.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tertulia.worlds.yaml_file import YamlFile

#: Separators of the parts of a place, the largest first; in other languages the smallest comes first.
_LARGEST_FIRST = {"zh": "的", "ja": "の", "ko": " "}

#: Endings of a word for idle: particles, and ends of verbs.
_BEHIND_IDLE = r"(?:的|中|状态|狀態|着|です|だ|である|状態|다|습니다|음|상태|ครับ|है|หรือ|อยู่)*"


@cache
def _words(kind: str) -> tuple[str, ...]:
    """Return the words of a kind in all languages."""
    languages = YamlFile.read(Path(__file__).with_suffix(".yaml")).values
    return tuple(word for words in languages.values() for word in words.get(kind, ()))


@cache
def _any_of(kind: str, pattern: str) -> re.Pattern[str]:
    """Return a pattern with the words of a kind in the place of `%s`."""
    words = "|".join(re.escape(word) for word in sorted(_words(kind), key=len, reverse=True))
    return re.compile(pattern % words, re.IGNORECASE)


def _link(text: str) -> int:
    """Return where the words at the beginning of a text end that link a name to its bearer's activity."""
    link = _any_of("linking", r"\s*(?:(?:%s)\s*)+").match(text)
    return link.end() if link else 0


def is_idle(state: str) -> bool:
    """Whether a description of a thing or a person says that it does nothing: `idle`, `is idle`, `是空闲的`."""
    idle = _any_of("idle", rf"(?:%s)\s*{_BEHIND_IDLE}[\s.。!！।]*")
    return any(idle.fullmatch(state, begin) for begin in {len(state) - len(state.lstrip()), _link(state)})


def is_asleep(activity: str) -> bool:
    """Whether an activity is sleep."""
    return activity.casefold().startswith(_words("asleep"))


def is_conversation(activity: str) -> bool:
    """Whether an activity is a conversation."""
    return any(words in activity for words in _words("conversing"))


def is_made_up(text: str, name: str = "") -> bool:
    """Whether the program itself wrote a text because a reply failed: `this is blank`, `For Ann's planning: ...`.

    Args:
        name: The person, or thing, that the text is about; the program puts failed replies behind names.
    """
    said = re.sub(r"^\d+\s*[.):、]", "", _without_frame(text, name).casefold()).strip(" \t\n.。")
    if not said or said in _any_case("made_up") or said in _any_case("errors"):
        return True
    return any(part in text.casefold() for part in _any_case("made_up_in"))


def without_made_up(lines: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the lines of a dialogue, pairs of speaker and text, without those that the program made up.

    A greeting and its answer are made up if they are the whole dialogue, and exactly the program's own.
    """
    greetings = {text.strip().casefold() for _, text in lines}
    if len(lines) == 2 and len(greetings) == 1 and greetings <= _any_case("made_up_greeting"):
        return []
    return [
        line for line in lines if line[1].strip() != "..." and line[1].strip().casefold() not in _any_case("errors")
    ]


@cache
def _any_case(kind: str) -> frozenset[str]:
    return frozenset(words.casefold() for words in _words(kind))


def _without_frame(text: str, name: str) -> str:
    """Return a text without the words that the program puts before a reply: its frames, and the name."""
    bare = text.strip()
    for frame in _words("frames"):
        bare = bare.removeprefix(frame.replace("NAME", name)).lstrip()
    if name and bare.startswith(name):
        bare = activity_in(bare, name)
    return bare


def activity_in(description: str, name: str) -> str:
    """Return the activity in a description of a person, without their name: `Ann is reading` is `reading`."""
    behind = description.removeprefix(name)
    if behind == description:
        return description.strip()
    return behind[_link(behind) :].strip()


def place_in_words(parts: Sequence[str], language: str) -> str:
    """Return the parts of a place, the largest first, as one phrase: `cafe at Hobbs Cafe`."""
    if language in _LARGEST_FIRST:
        return _LARGEST_FIRST[language].join(parts)
    return (" at " if language == "en" else ", ").join(reversed(parts))
