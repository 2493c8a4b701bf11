"""People of files among the participants of a scenario: `participants: [{file: card.png}, {name: Ines}]`.

A file lies in the scenario's folder or below it: a scenario that was sent names none of the reader's files.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from tertulia.state.errors import ScenarioError, nearest_hint
from tertulia.state.files import NOT_FOLLOWED, is_linked
from tertulia.state.names import composed
from tertulia.state.text import folded
from tertulia.state.wrong_values import shown
from tertulia.worlds.characters.draft import ImportedPerson, situation_of
from tertulia.worlds.characters.macros import USER
from tertulia.worlds.characters.reading import joined, read_people
from tertulia.worlds.yaml_file import YamlFile

#: Fields of an entry that choose people; all others are theirs instead of the file's.
_CHOOSING = ("file", "name", "user")

#: A participant of a file, as JSON Schema.
PERSON_OF_FILE = {
    "description": "people of a file of another program; further fields stand over the file's",
    "type": "object",
    "properties": {
        "file": {"type": "string", "description": "in the folder of the scenario, or below it"},
        "name": {"type": "string", "description": "one of several people; all of them without it"},
        "user": {"type": "string", "description": "the name in the place of {{user}}"},
    },
    "required": ["file"],
}


def names_files(values: Any) -> bool:
    """Return whether a scenario has participants of files."""
    people = values.get("participants") if isinstance(values, dict) else None
    return isinstance(people, list) and any(isinstance(entry, dict) and "file" in entry for entry in people)


def with_people_of_files(scenario: YamlFile) -> YamlFile:
    """Return a scenario file with the people of the files that it names in their places.

    Raises:
        ScenarioError: A file lies elsewhere, or has no such person; there is only one person.
    """
    entries: list[tuple[Any, ImportedPerson | None]] = []
    for number, entry in enumerate(scenario.values["participants"]):
        if not (isinstance(entry, dict) and "file" in entry):
            entries.append((entry, None))
            continue
        try:
            entries += [(entry, person) for person in _chosen(entry, scenario.path.parent)]
        except ScenarioError as error:
            raise scenario.error((("participants", number, "file"), str(error))) from None
    added = [person for _, person in entries if person and "name" not in person.values]
    people = [(entry, person) for entry, person in entries if not (person and "name" not in person.values)]
    if len(people) == 1:
        raise scenario.error((("participants",), "there is one person; add the other, such as: - name: Ines"))
    names = [person.values["name"] if person else _name_of(entry) for entry, person in people]
    values = dict(scenario.values)
    values["participants"] = [_settled(entry, person, added, names) for entry, person in people]
    situation = situation_of([person for _, person in people if person])
    if situation and not values.get("description"):
        user = next((entry["user"] for entry, person in people if person and "user" in entry), None)
        own = next(person.values["name"] for _, person in people if person and person.situation)
        values["description"] = situation.replace(USER, other_of(names, own, user))
    return replace(scenario, values=values)


def _chosen(entry: Mapping[str, Any], folder: Path) -> list[ImportedPerson]:
    """Return the people of an entry, with its fields instead of theirs."""
    people = list(read_people(_within(entry["file"], folder)))
    if (name := entry.get("name")) is not None:
        wanted = folded(composed(str(name)))
        found = [person for person in people if folded(composed(str(person.values.get("name", "")))) == wanted]
        if not found and len(people) > 1:
            names = [person.values["name"] for person in people if "name" in person.values]
            raise ScenarioError(f"{entry['file']} has no person {shown(name)}{nearest_hint(str(name), names)}")
        people = found or [replace(people[0], values={**people[0].values, "name": name})]
    own = {field: value for field, value in entry.items() if field not in _CHOOSING}
    if own and len(people) > 1:
        raise ScenarioError(f"{entry['file']} has {len(people)} people; name one of them to change fields")
    return [replace(person, values={**person.values, **own}) for person in people]


def _within(name: Any, folder: Path) -> Path:
    """Return the path of a file in a folder; `ScenarioError` if it may lie elsewhere."""
    if not isinstance(name, str) or not name:
        raise ScenarioError(f"takes the name of a file: {shown(name)}")
    parts = {*PurePosixPath(name).parts, *PureWindowsPath(name).parts}
    if ".." in parts or name.startswith("~") or PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor:
        raise ScenarioError(f"{shown(name)} lies elsewhere; a scenario names files of its own folder")
    path = folder / name
    if is_linked(path, folder):
        raise ScenarioError(f"{name}: {NOT_FOLLOWED}")
    if not os.path.exists(path):
        raise ScenarioError(f"there is no file {shown(name)} beside the scenario")
    return path


def _name_of(entry: Any) -> Any:
    return entry.get("name") if isinstance(entry, dict) else None


def _settled(entry: Any, person: ImportedPerson | None, added: list[ImportedPerson], names: list[Any]) -> Any:
    """Return a participant with all that the files have for them, and the name of the other in their texts."""
    if person is None:
        return entry
    [whole] = joined([person, *added])
    return dict(whole.for_user(other_of(names, person.values["name"], entry.get("user"))).values)


def other_of(names: Sequence[Any], own: Any, user: Any) -> str:
    """Return the name for `{{user}}` in a person's texts: that of the other of two, else the user's."""
    others = [name for name in names if name != own]
    if user is None and len(names) == 2 and len(others) == 1:
        return str(others[0])
    return str(user or "the visitor")
