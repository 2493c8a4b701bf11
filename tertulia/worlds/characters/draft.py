"""The draft of a person of a file: fields as they are taken, and the list of all others."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tertulia.state.errors import ScenarioError
from tertulia.state.text import one_line
from tertulia.state.wrong_values import shown
from tertulia.worlds.characters.facts import in_title_case
from tertulia.worlds.characters.macros import CHAR, USER, resolved, without_controls
from tertulia.worlds.person_fields import folded_title

#: Destinations of fields that are not taken.
SHOWN = "a prompt for another program: shown, not obeyed"
OF_PROGRAM = "a setting of another program"
OF_FILE = "about the file"
PICTURE = "pictures and sounds"

#: Values that say nothing.
EMPTY: tuple[Any, ...] = (None, "", [], {}, ())

#: The parts of a name, in their order.
_NAME_PARTS = ("first", "middle", "last")

_BRACES = re.compile(r"\{\{|\}\}")


@dataclass(frozen=True)
class NotTaken:
    """A field of a file that is not taken.

    Attributes:
        field: Its place in the file; `*` for each of several.
        value: The value, as text.
        goes_to: The use of it, or its reason.
    """

    field: str
    value: str
    goes_to: str


@dataclass(frozen=True)
class ImportedPerson:
    """A person of a file.

    Attributes:
        values: By canonical field (`tertulia/worlds/person_fields.py`), the value. Without `name` they are for the
            people of other files: a lorebook, a fragment.
        situation: The situation in which the person is met.
        file: The file's name, and the place in it if it has several people.
        kind: The kind of file, in words.
        nickname: The name that texts have for `{{char}}`, if it is another than the person's.
    """

    values: Mapping[str, Any]
    not_taken: tuple[NotTaken, ...] = ()
    situation: str | None = None
    file: str = ""
    kind: str = ""
    nickname: str = ""

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the person in texts: the whole one, the first one, and nicknames."""
        whole = str(self.values.get("name", ""))
        facts = self.values.get("background")
        texts = [fact for fact in facts if isinstance(fact, str)] if isinstance(facts, list | tuple) else []
        nicknames = [text.partition(": ")[2] for text in texts if text.startswith("Nickname: ")]
        return tuple(filter(None, (whole, *whole.split()[:1], *nicknames)))

    def document(self) -> dict[str, Any]:
        """Return the person as JSON."""
        fields = ("file", "kind", "values", "situation")
        return {name: getattr(self, name) for name in fields} | {"not_taken": [vars(left) for left in self.not_taken]}

    def for_user(self, user: str) -> "ImportedPerson":
        """Return the person with a name for the other one in all texts."""
        situation = self.situation and self.situation.replace(USER, user)
        return replace(self, values=with_name(self.values, USER, user), situation=situation)


@dataclass
class Draft:
    """A person while they are read.

    Attributes:
        name: The name; empty for a lorebook or a fragment, which are for other files' people.
        char: The name that texts have for `{{char}}`: the nickname, else the name; of a nameless draft the macro stays.
    """

    name: str
    char: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    situation: str | None = None
    _listed: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean the names, which have no macros: one would be resolved again in each text that has the name."""
        self.name, self.char = (one_line(without_controls(_BRACES.sub("", name))) for name in (self.name, self.char))
        self.char = self.char or self.name or CHAR
        if self.name:
            self.values["name"] = self.name

    def leave(self, place: str, value: Any, goes_to: str) -> None:
        """List a field that is not taken; values of the same field are listed together."""
        if value in EMPTY:
            return
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        known = self._listed.setdefault((place, goes_to), [])
        if text not in known[-100:]:
            known.append(text)

    def words(self, value: Any, place: str) -> str:
        """Return a value as a text with names for its macros; the macros that have no meaning here are listed."""
        text, removed = resolved(in_words(value), self.char)
        for macro in removed:
            self.leave(place, macro, "a macro or a comment")
        return text.strip()

    def add(self, field: str, values: Iterable[Any]) -> None:
        """Add values to a field that has several; each once."""
        known = self.values.setdefault(field, [])
        for value in values:
            if value and value not in known:
                known.append(value)

    def person(self, file: str, kind: str) -> ImportedPerson:
        """Return the person."""
        listed = tuple(NotTaken(place, "; ".join(values), to) for (place, to), values in self._listed.items())
        values = {name: value for name, value in self.values.items() if value not in EMPTY}
        nickname = "" if self.char in (self.name, CHAR) else self.char
        return ImportedPerson(values, listed, self.situation, file, kind, nickname)


def situation_of(people: Sequence[ImportedPerson]) -> str:
    """Return the situations of people in one text; of those that differ only in people's names, the first."""
    called = {USER}.union(*(person.called for person in people))
    names = "|".join(map(re.escape, sorted(called, key=len, reverse=True)))
    found: dict[str, str] = {}
    for person in people:
        if person.situation:
            found.setdefault(re.sub(rf"(?<!\w)(?:{names})(?!\w)", USER, person.situation), person.situation)
    return " ".join(found.values())


def with_name(value: Any, macro: str, name: str) -> Any:
    """Return a value with a name for a macro in all its texts."""
    if isinstance(value, str):
        return value.replace(macro, name)
    if isinstance(value, Mapping):
        return {with_name(key, macro, name): with_name(part, macro, name) for key, part in value.items()}
    return [with_name(part, macro, name) for part in value] if isinstance(value, list | tuple) else value


@contextmanager
def errors_at(*places: str) -> Iterator[None]:
    """Put the places that are not empty before the message of an error."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(": ".join(filter(None, (*places, str(error))))) from None


def parts_of(value: Any) -> list[Any]:
    """Return the items of a list, those of lists in it too, or the value alone; objects in it as text."""
    if isinstance(value, Mapping):
        return [f"{in_title_case(str(key))}: {in_words(part)}" for key, part in value.items() if part not in EMPTY]
    if not isinstance(value, list):
        return [value]
    return [part for item in value if item not in EMPTY for part in parts_of(item)]


def in_words(value: Any) -> str:
    """Return a value of a file as a text."""
    return ", ".join(map(str, parts_of(value)))


def full_name(values: Mapping[str, Any]) -> str:
    """Return a person's name: in one field, or in a first and a last one, also of an object; empty without any.

    Raises:
        ScenarioError: It is no text.
    """
    name = values.get("name") or {part: values.get(f"{part}_name") for part in ("first", "last")}
    if isinstance(name, Mapping):
        parts = {folded_title(str(key)).removesuffix("name"): part for key, part in name.items() if part}
        if parts.keys() <= set(_NAME_PARTS) and not any(isinstance(part, Mapping | list) for part in parts.values()):
            return " ".join(str(parts[part]) for part in _NAME_PARTS if part in parts)
    if isinstance(name, Mapping | list):
        raise ScenarioError(f"name: takes a text, or {', '.join(_NAME_PARTS)}: {shown(name)}")
    return str(name)
