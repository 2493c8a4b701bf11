"""Files with values of other types than their format has: a person, or one of our errors; never a traceback."""

import copy
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.character_files import SOURCES, json_file

from tertulia.state.errors import ScenarioError, TertuliaError
from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.reading import joined, read_people
from tertulia.worlds.characters.scenario import scenario_of
from tertulia.worlds.characters.writing import FORMATS, card_files, written
from tertulia.worlds.person_fields import FIELDS

ODD: list[Any] = [
    None, True, 0, -1, 3.5, 10**400, "", " ", "\0", "{{user}}", "a\nb", "\ud800", "\u202ex", [], {}, [[]], [None], "|",
    [1, "a", {"b": [2]}], {"name": "x"}, {"a": {"b": {"c": 1}}}, {"": ""}, "@@x", "[", "x" * 5000, ["/(a+)+$/"],
]  # fmt: skip


def changed(value: Any, draw: random.Random, others: Sequence[Any] = ODD) -> Any:
    """Return a copy of a value with one part, at any depth, that is another."""
    value = copy.deepcopy(value)
    parent, key = None, None
    current = value
    while isinstance(current, dict | list) and current and (parent is None or draw.random() < 0.75):
        parent = current
        key = draw.choice(list(current) if isinstance(current, dict) else range(len(current)))
        current = parent[key]
    if parent is None:
        return draw.choice(others)
    parent[key] = draw.choice(others)
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


NESTED: list[Any] = [
    {"a": {"b": ["c", "d"]}}, ["x", ["y", {"z": 1}]], [{"k": "v", "l": [1, {"m": []}]}], [["p"]],
    {"name": "n", "description": {"q": ["r"]}}, {"name": {"first": ["s"]}, "traits": ["t"]},
    [{"name": ["u"], "v": {"w": 2}}],
]  # fmt: skip


@pytest.mark.parametrize("field", [*FIELDS, "Town", "Big Five", "first_name", "persona", "weights.goal", "home.city"])
def test_a_nested_value_of_a_table_is_told_in_words_or_refused_by_its_row(field: str, tmp_path: Path) -> None:
    for nested in NESTED:
        people: tuple[ImportedPerson, ...] = ()
        told = ""
        try:
            people = read_people(json_file(tmp_path, [{"name": "B", "age": 1}, {"name": "A", "age": 1, field: nested}]))
            scenario_of(people)
        except ScenarioError as error:
            told = str(error)
        if told:
            assert f": entry 2: {field.partition('.')[0]}" in told
        else:
            assert not [text for text in texts_of(people[1].values) if re.search(r"[\[\]{}]", text)]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_no_text_of_any_format_is_python(source: Any, tmp_path: Path) -> None:
    draw = random.Random(7)
    for _ in range(100):
        with suppress(TertuliaError):
            people = joined(read_people(json_file(tmp_path, changed(source, draw, NESTED))))
            written_so = re.compile(r"""\{'|\['|\[\d|\[\{|\[\[""")
            assert not [text for person in people for text in texts_of(person.values) if written_so.search(text)]


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from texts_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_of(part)
    elif isinstance(value, str):
        yield value


def again(people: tuple[ImportedPerson, ...], format: str, folder: Path) -> None:
    for text in card_files(people).values() if format == "card_v3" else [written(people, format)]:
        (folder / "again").write_text(text, encoding="utf-8", errors="replace")
        assert [dict(person.values) for person in read_people(folder / "again")]
