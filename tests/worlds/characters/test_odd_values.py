"""Files with values of other types than their format has: a person, or one of our errors; never a traceback."""

import copy
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.character_files import SOURCES, json_file

from tertulia.state.errors import TertuliaError
from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.reading import joined, read_people
from tertulia.worlds.characters.scenario import scenario_of
from tertulia.worlds.characters.writing import FORMATS, card_files, written

ODD: list[Any] = [
    None, True, 0, -1, 3.5, 10**400, "", " ", "\0", "{{user}}", "a\nb", "\ud800", "\u202ex", [], {}, [[]], [None], "|",
    [1, "a", {"b": [2]}], {"name": "x"}, {"a": {"b": {"c": 1}}}, {"": ""}, "@@x", "[", "x" * 5000, ["/(a+)+$/"],
]  # fmt: skip


def changed(value: Any, draw: random.Random) -> Any:
    """Return a copy of a value with one part, at any depth, that is another."""
    value = copy.deepcopy(value)
    parent, key = None, None
    current = value
    while isinstance(current, dict | list) and current and (parent is None or draw.random() < 0.75):
        parent = current
        key = draw.choice(list(current) if isinstance(current, dict) else range(len(current)))
        current = parent[key]
    if parent is None:
        return draw.choice(ODD)
    parent[key] = draw.choice(ODD)
    return value


@pytest.mark.parametrize("source", [*SOURCES.values(), [{"name": "A", "job": "b", "memories": ["c"]}]])
def test_a_value_of_another_type_never_breaks_the_reader(source: Any, tmp_path: Path) -> None:
    draw = random.Random(5)
    read = 0
    for _ in range(150):
        file = json_file(tmp_path, changed(changed(source, draw), draw))
        people: tuple[ImportedPerson, ...] = ()
        with suppress(TertuliaError):
            people = joined(read_people(file))
            scenario_of(people)
            read += 1
        for format in FORMATS if people else ():
            again(people, format, tmp_path)
    assert read > 20


def again(people: tuple[ImportedPerson, ...], format: str, folder: Path) -> None:
    for text in card_files(people).values() if format == "card_v3" else [written(people, format)]:
        (folder / "again").write_text(text, encoding="utf-8", errors="replace")
        assert [dict(person.values) for person in read_people(folder / "again")]
