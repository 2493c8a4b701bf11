"""People as rows of a table: CSV, TSV, JSON or JSON Lines, a person a row, and lists of plain texts.

Columns have any titles: those of a person's fields and their synonyms are these fields, any other is a fact with its
title (`Town: Porto`). In a cell `|` separates several values; a relation is `NAME: their relation`.
"""

import csv
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from typing import Any

from tertulia.state.errors import ScenarioError, SettingError, nearest_hint
from tertulia.state.wrong_values import shown
from tertulia.worlds.characters.draft import EMPTY, OF_FILE, Draft, errors_at, full_name, parts_of
from tertulia.worlds.characters.facts import in_title_case
from tertulia.worlds.characters.rules import (
    Rule,
    age,
    big_five,
    dimension_of,
    facts,
    labelled_facts,
    relate,
    relations,
    text,
)
from tertulia.worlds.person_fields import FIELDS, MEETING_FIELDS, POLES, field_named, folded_title

#: The sign between several values in a cell.
BETWEEN = "|"

#: The number of people that are read from a file; a scenario takes as many.
MOST_PEOPLE = 1000

#: Columns that number the rows.
_NUMBERS = re.compile(r"(|.*[_ ])?(id|uuid|idx|index|pk)|unnamed: \d+", re.IGNORECASE)

#: Titles that data sets have for a text about a person; another one is of people only beside other fields.
_PERSONAS = ("persona", "inputpersona", "personadescription")
_TEXTS = (*_PERSONAS, "text")

#: Titles of the parts of a name, and the parts.
_NAMES = {"firstname": "first", "lastname": "last", "name.first": "first", "name.middle": "middle", "name.last": "last"}

#: The sign between the parts of a title; not that in a number or an abbreviation.
_DOT = re.compile(r"(?<=[^\W\d])\.(?=[^\W\d])")


def canonical(title: str) -> str | None:
    """Return the field of a person that a title names, also a part of it (`weights.goal`); `None` for any other."""
    head, _, part = map(str.strip, title.partition("."))
    if field := field_named(head):
        part = folded_title(part) if field in MEETING_FIELDS else part
        return f"{field}.{part}" if part else field
    return "background" if folded_title(head) in _TEXTS else None


def csv_rows(content: str, label: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of a table with commas, semicolons or tabs, by title; each with its place in the file.

    Raises:
        ScenarioError: It is no table; the message names the row, as a spreadsheet counts: the header is row 1.
    """
    first = content.lstrip().partition("\n")[0]
    reader = csv.reader(StringIO(content, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    rows: list[tuple[str, dict[str, Any]]] = []
    header: list[str] | None = None
    number = 0
    try:
        for number, row in enumerate(reader, start=1):
            cells = list(map(str.strip, row))
            if not any(cells):
                continue
            if header is None:
                header = cells
                if twice := next((title for title in header if header.count(title) > 1), None):
                    raise ScenarioError(f"{label}: row {number}: {twice or 'an empty title'} stands twice")
            elif len(cells) > len(header):
                raise ScenarioError(f"{label}: row {number}: has {len(cells)} cells, and the header {len(header)}")
            else:
                given = {title: _value(cell) for title, cell in zip(header, cells, strict=False)}
                rows.append((f"row {number}", dict.fromkeys(header, "") | given))
    except csv.Error as error:
        raise ScenarioError(f"{label}: row {number + 1}: not CSV: {error}") from None
    if not rows:
        raise ScenarioError(f"{label}: has a header and no people")
    return rows


def are_people(rows: Sequence[Any]) -> bool:
    """Return whether objects of no known format look like people: of a name or a text, and few other fields."""
    return all(isinstance(row, Mapping) and _is_person(row) for row in rows)


def _is_person(row: Mapping[str, Any]) -> bool:
    titles = [str(title) for title in row if not _NUMBERS.fullmatch(str(title).strip())]
    found = set(filter(None, map(canonical, titles)))
    if not found & {"name", "background"}:
        return False
    if any(folded_title(title) in _PERSONAS for title in titles):
        return True
    if len(found) < 3 and not found - {"name", "background"}:
        return len(found) == len(titles)
    return len(found) >= 3 or 2 * len(found) >= len(titles)


def read_rows(
    rows: Sequence[tuple[str, Mapping[str, Any]]], columns: Mapping[str, str | None], label: str
) -> list[tuple[str, Draft]]:
    """Return the people of rows, each with its place in the file.

    Args:
        columns: By title of a column, the field that it is; `None` for a column that is left out.

    Raises:
        ScenarioError: There is no column of names and none of texts, there are too many rows, two columns are one field
            of a meeting, or a name or a relation is no text.
        SettingError: There is no such column or field.
    """
    rows = [(place, {str(title): value for title, value in row.items()}) for place, row in rows]
    titles = list(dict.fromkeys(title for _, row in rows for title in row))
    fields = _fields_of(titles, columns, label)
    if not {"name", "background"} & set(fields.values()) and "first" not in _name_parts(titles, fields).values():
        raise ScenarioError(f"{label}: there is no column name; columns={{'…': 'name'}} says which one it is")
    file = label.removesuffix(": row 1")
    if len(rows) > MOST_PEOPLE:
        words = f"has {len(rows):,} people, and {MOST_PEOPLE:,} are read; save some to a file of their own"
        raise ScenarioError(f"{file}: {words}")
    people = []
    for number, (place, row) in enumerate(rows, start=1):
        with errors_at(file, place):
            people.append((place, _person_of(number, row, fields)))
    return people


def _fields_of(titles: Sequence[str], columns: Mapping[str, str | None], label: str) -> dict[str, str | None]:
    """Return by title the field of a person, an empty text for a fact, and `None` for a column left out."""
    if missing := next((title for title in columns if title not in titles), None):
        raise SettingError("columns", missing, f": {label} has no such column{nearest_hint(missing, titles)}")
    fields: dict[str, str | None] = {}
    for title in titles:
        given = columns.get(title, "")
        if given and canonical(given) is None:
            raise SettingError("columns", title, f": a person has no field {given!r}{nearest_hint(given, FIELDS)}")
        fields[title] = given and canonical(given) if title in columns else canonical(title) or ""
    return fields


def _person_of(number: int, row: Mapping[str, Any], fields: Mapping[str, str | None]) -> Draft:
    named_so = (title for title, field in fields.items() if field == "name")
    names = sorted(named_so, key=lambda title: folded_title(title) != "name")
    parts = _name_parts(row, fields)
    named = next((title for title in names if row.get(title)), None)
    name = full_name({"name": row[named] if named else {part: row[title] for title, part in parts.items()}})
    draft = Draft(name or f"Person {number}")
    for title, value in row.items():
        field = fields[title]
        if value in EMPTY or title == named or (name and not named and title in parts):
            continue
        head, _, part = (field or "").partition(".")
        if field is None:
            draft.leave(title, value, "a column that you left out")
        elif field and head != "name":
            if head in MEETING_FIELDS and (other := _other_column(title, row, fields)):
                raise ScenarioError(f"{other} and {title} are two columns of {head}; keep one of the two")
            _FIELDS.get(head, _as_it_is(head))(draft, {part: value} if part else value, title)
        elif _NUMBERS.fullmatch(title.strip()):
            draft.leave(title, value, OF_FILE)
        else:
            labelled_facts(", ".join(map(in_title_case, _DOT.split(title.strip()))))(draft, value, title)
    return draft


def _name_parts(titles: Iterable[str], fields: Mapping[str, str | None]) -> dict[str, str]:
    """Return the titles of the parts of a name (`First name`, `name.first`), with the parts."""
    names = {title: _NAMES.get(folded_title(fields[title] or title)) for title in titles if fields[title] is not None}
    return {title: part for title, part in names.items() if part}


def _other_column(title: str, row: Mapping[str, Any], fields: Mapping[str, str | None]) -> str | None:
    """Return an earlier column of a row with a value of the same field, of the whole of it, or of a part of it."""
    place = f"{fields[title]}."
    for other in itertools.takewhile(title.__ne__, row):
        known = f"{fields[other]}."
        if row[other] not in EMPTY and (known.startswith(place) or place.startswith(known)):
            return other
    return None


def _value(cell: str) -> Any:
    """Return the value of a cell: a list or an object in JSON, or the text."""
    if cell.startswith(("[", "{")):
        with suppress(ValueError, RecursionError):
            return json.loads(cell)
    return cell


def _values_in(value: Any) -> list[Any]:
    """Return the values of a list, or those between the signs of a text."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(BETWEEN) if part.strip()]
    return value if isinstance(value, list) else [value]


def _texts(field: str) -> Rule:
    """Return a rule for a field of several texts."""
    return lambda draft, value, place: draft.add(
        field, [draft.words(part, place) for part in parts_of(_values_in(value))]
    )


def _entries(field: str) -> Rule:
    """Return a rule for a field of several values, each a text or an object."""

    def rule(draft: Draft, value: Any, place: str) -> None:
        draft.add(field, [draft.words(part, place) if isinstance(part, str) else part for part in _values_in(value)])

    return rule


def _background(draft: Draft, value: Any, place: str) -> None:
    """Take a list of facts as it is, and a text as prose."""
    if isinstance(value, list) or (isinstance(value, str) and BETWEEN in value):
        draft.add("background", [draft.words(part, place) for part in parts_of(_values_in(value))])
    else:
        facts(draft, value, place)


def _relations(draft: Draft, value: Any, place: str) -> None:
    """Take an object by name, or several relations, each a text or an object with a name."""
    if isinstance(value, Mapping) and "name" not in value:
        for name, how in value.items():
            relate(draft, name, how, place)
    else:
        relations(_relation)(draft, _values_in(value), place)


def _relation(draft: Draft, value: Any, place: str) -> None:
    """Take `NAME: their relation`, an object of the one name, or an object with a name and other fields."""
    if isinstance(value, Mapping) and value.get("name"):
        rest = {key: part for key, part in value.items() if key != "name"}
        relate(draft, value["name"], next(iter(rest.values())) if len(rest) == 1 else rest, place)
    elif isinstance(value, Mapping) and len(value) == 1 and "name" not in value:
        _relations(draft, value, place)
    elif isinstance(value, str) and ":" in value:
        name, _, how = value.partition(":")
        relate(draft, name.strip(), how, place)
    else:
        raise ScenarioError(f"{place}: takes NAME: their relation, not {shown(value)}")


def _traits(draft: Draft, value: Any, place: str) -> None:
    """Take poles of the Big Five as these, its dimensions by their rule, and other words as the character."""
    poles = value if isinstance(value, list) else [part.strip() for part in str(value).split(",")]
    if all(pole in POLES for pole in poles):
        draft.add("traits", poles)
    elif folded_title(place) == "bigfive" or (isinstance(value, Mapping) and any(map(dimension_of, value))):
        big_five(draft, value, place)
    else:
        text("character")(draft, value, place)


def _as_it_is(field: str) -> Rule:
    """Return a rule that takes a value as it is, and joins objects (parts of a field)."""

    def rule(draft: Draft, value: Any, place: str) -> None:
        if isinstance(value, Mapping):
            value = draft.values.get(field, {}) | value
        draft.values[field] = draft.words(value, place) if isinstance(value, str) else value

    return rule


_FIELDS: dict[str, Rule] = {
    **{field: _entries(field) for field in ("memories", "goals", "examples")},
    **{field: _texts(field) for field in ("interests", "descriptions", "secrets")},
    **{field: text(field) for field in ("occupation", "character", "home", "style")},
    **{field: text(field) for field in ("lifestyle", "activity", "setting")},
    "age": age,
    "background": _background,
    "relations": _relations,
    "traits": _traits,
}
