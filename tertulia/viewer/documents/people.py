"""People of files that were dropped on the page: the values that were taken of each, and those that were not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import ScenarioError
from tertulia.state.text import clean, shortened
from tertulia.worlds.characters.draft import ImportedPerson, in_words, situation_of
from tertulia.worlds.characters.reading import joined
from tertulia.worlds.characters.scenario import after_memories, names_put
from tertulia.worlds.scenario_parts import read_time

#: The name of the page's reader, whom a single person meets.
VISITOR = "Visitor"

#: The other one in texts of people who can't meet.
_OTHER = "somebody"

#: The most people that are shown, values of one field, and fields that were not taken; and characters of a value.
_PEOPLE, _VALUES, _NOT_TAKEN, LONGEST_VALUE = 100, 100, 200, 600


@dataclass(frozen=True)
class PeopleFile:
    """A file that was dropped: its name, without a folder, its people, and its values if it is a scenario."""

    name: str
    people: tuple[ImportedPerson, ...]
    scenario: Mapping[str, Any] | None = None


def people_page(files: Mapping[str, PeopleFile]) -> Document:
    """Return the people of files, by id, as they would meet; `problem` says why they can't.

    Lists and texts are cut to lengths that a page can show; `more` counts the values that are left out. A scenario
    alone is taken whole, with its place and time.
    """
    whole = next((file.scenario for file in files.values()), None) if len(files) == 1 else None
    people: Sequence[ImportedPerson] = [person for file in files.values() for person in file.people]
    problem, time = None, whole and read_time(whole["time"])
    try:
        people = joined(people)
        people = names_put(people, VISITOR if len(people) == 1 else None)
        time = time or after_memories(people)
    except ScenarioError as error:
        problem = clean(str(error))
        people = [person.for_user(_OTHER) for person in people]
    return {
        "schema_version": SCHEMA_VERSION,
        "files": [{"id": id, "name": file.name} for id, file in files.items()],
        "people": [_person(person, whole is None) for person in people[:_PEOPLE]],
        "more": max(0, len(people) - _PEOPLE),
        "situation": situation_of(people),
        "place": clean(str((whole or {}).get("place") or "")),
        "time": time and time.isoformat(timespec="minutes"),
        "visitor": VISITOR if len(people) == 1 else None,
        "problem": problem,
    }


def _person(person: ImportedPerson, has_rest: bool) -> Document:
    not_taken = person.not_taken if has_rest else ()
    return {
        "name": clean(str(person.values.get("name", ""))) or None,
        "kind": person.kind,
        "fields": [_field(field, value) for field, value in person.values.items() if field != "name"],
        "not_taken": [
            {"field": clean(left.field), "value": shortened(clean(left.value), LONGEST_VALUE), "goes_to": left.goes_to}
            for left in not_taken[:_NOT_TAKEN]
        ],
        "more": max(0, len(not_taken) - _NOT_TAKEN),
    }


def _field(field: str, value: Any) -> Document:
    values = _values(value)
    shown = [shortened(clean(text), LONGEST_VALUE) for text in values[:_VALUES]]
    return {"field": field, "values": shown, "more": max(0, len(values) - _VALUES)}


def _values(value: Any) -> list[str]:
    """Return a value as texts, one for each of a list."""
    if isinstance(value, Mapping):
        return [f"{name}: {in_words(inner)}" for name, inner in value.items()]
    if isinstance(value, list | tuple):
        return [_text(part) for part in value]
    return [str(value)]


def _text(part: Any) -> str:
    """Return an item of a list as a text: an example with the line before it, a memory with its keys."""
    if not isinstance(part, Mapping):
        return in_words(part)
    text, after, keys = (part.get(name) for name in ("text", "after", "keys"))
    rest = {name: value for name, value in part.items() if name not in ("text", "after", "keys")}
    notes = [f"after “{after}”"] if after else []
    notes += [f"called up by {', '.join(map(str, keys))}"] if keys else []
    notes += [f"{name}: {in_words(value)}" for name, value in rest.items()]
    return f"{text or ''} ({'; '.join(notes)})" if notes else str(text or "")
