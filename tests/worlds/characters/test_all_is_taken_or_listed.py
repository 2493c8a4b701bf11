"""Every value of a file of people is taken, or listed as not taken."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.character_files import PROFILE, SOURCES, json_file, shared_files

from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.reading import joined, read_people

#: Fields that are read without being a text: the kind of the file, the order, switches.
STRUCTURE = {"spec", "spec_version", "type", "enabled", "disable", "constant", "insertion_order", "order"}

#: Words for which names, poles and other persons of a verb stand, and the last word between items.
MACROS = {"char", "user", "bot", "start", "high", "low", "to", "experience", "openness", "extraversion", "neuroticism",
          "conscientiousness", "agreeableness", "are", "and"}  # fmt: skip


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value that is no list or object, with its path."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}")
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, path)
    else:
        yield path, value


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def lost(source: Any, people: tuple[ImportedPerson, ...]) -> dict[str, set[str]]:
    """Return by path the words of a file that no person and no list has."""
    told = " ".join(
        [json.dumps(person.values, ensure_ascii=False) for person in people]
        + [str(person.situation) for person in people]
        + [f"{left.field} {left.value}" for person in people for left in person.not_taken]
    )
    known = words(told.replace("\\n", " ").replace("\\u", " ")) | MACROS
    found = {}
    for path, value in leaves(source):
        if path.rpartition(".")[2] in STRUCTURE or value in (None, "", [], {}):
            continue
        if missing := words(str(value) if not isinstance(value, bool) else json.dumps(value)) - known:
            found[path] = missing
    return found


@pytest.mark.parametrize("source", [*SOURCES.values(), [PROFILE], {"agent_profile": PROFILE, "v": 7}])
def test_every_word_of_a_file_is_taken_or_listed(source: Any, tmp_path: Path) -> None:
    people = joined(read_people(json_file(tmp_path, source)))
    assert lost(source, people) == {}


def test_every_word_of_the_shared_files_is_taken_or_listed() -> None:
    for file in shared_files():
        if file.suffix == ".json":
            people = joined(read_people(file))
            assert lost(json.loads(file.read_text(encoding="utf-8")), people) == {}, file.name


def test_the_check_itself_sees_a_lost_word() -> None:
    assert lost({"a": "one two"}, (ImportedPerson({"name": "one"}),)) == {".a": {"two"}}
