"""Read the people of a file of any known kind; the kind is told by the content, never by the name alone.

Nothing in a file is run, fetched, or read elsewhere.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tertulia.state.errors import NotFoundError, ScenarioError
from tertulia.state.files import read_bytes
from tertulia.state.text import one_line
from tertulia.state.wrong_values import shown
from tertulia.worlds.characters import cards, lorebooks, scratch, sdialog, sotopia, tinytroupe
from tertulia.worlds.characters.containers import JPEG, MOST_TEXT, PNG, ZIP, chunk_text, png_chunks, zipped_card
from tertulia.worlds.characters.draft import OF_FILE, OF_PROGRAM, PICTURE, Draft, ImportedPerson, errors_at, with_name
from tertulia.worlds.characters.macros import CHAR
from tertulia.worlds.characters.tables import are_people, canonical, csv_rows, read_rows
from tertulia.worlds.scenario_parts import duplicate_names
from tertulia.worlds.yaml_file import MAX_DEPTH, YamlFile

#: The largest file that is read, with its pictures.
MOST_BYTES = 64 * 10**6

_KNOWN = (
    "known are: cards of role-play programs (JSON, PNG, CHARX), lorebooks, TinyTroupe agents, Sotopia profiles, "
    "SDialog personas, folders of Generative Agents people, tables (CSV, TSV, JSON, JSON Lines), Tertulia's scenarios"
)

#: The words for a file of Tertulia's own.
A_SCENARIO = "a scenario"

#: The words for a format, and how an object of it is recognised and read.
Format = tuple[str, Callable[[Any], bool], Callable[[Mapping[str, Any]], Draft]]

#: The first that fits is taken.
_FORMATS: tuple[Format, ...] = (
    ("a card", cards.is_card, cards.read_card),
    ("a lorebook", lorebooks.is_lorebook, lorebooks.read_lorebook),
    ("a TinyTroupe agent", tinytroupe.is_agent, tinytroupe.read_agent),
    ("a Sotopia profile", sotopia.is_profile, sotopia.read_profile),
    ("an SDialog persona", sdialog.is_persona, sdialog.read_persona),
    ("a Generative Agents scratch", scratch.is_scratch, scratch.read_scratch),
)

#: Fields around people, in files of several programs and of Tertulia.
_AROUND = ("participants", "people", "agents", "agent_profile", "agent_profiles", "personas", "characters", "profiles")

_JSON_LINES = re.compile(r"\s*\{[^\n]*\}[ \t\r]*\n\s*\{")
#: A word in brackets, such as the heading of a section in TOML: no list of JSON.
_HEADING = re.compile(r"\s*\[{1,2}(?!(?:true|false|null)\b)[^\W\d]")
#: Beginnings of a scenario in YAML.
_SCENARIO = re.compile(r"^(participants|people):", re.MULTILINE)

_LONE_LORE = "Guide"


def read_people(
    path: Path, user: str | None = None, columns: Mapping[str, str | None] | None = None
) -> tuple[ImportedPerson, ...]:
    """Return the people of a file or folder.

    Args:
        user: The name in the place of `{{user}}`; without it the macro stays.
        columns: Of a table, by title of a column the field that it is; `None` for a column that is left out.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: It holds no people of a known kind, is too large or damaged, or two of one name.
        UsageError: A column or field of `columns` does not exist.
    """
    if not os.path.exists(path):
        raise NotFoundError(f"there is no file {str(path)!r}")
    if path.is_dir():
        files = list(scratch.scratches_in(path))
        if not files:
            raise ScenarioError(f"{path}: a folder without bootstrap_memory/scratch.json; {_KNOWN}")
        people = [person for file in files for person in _read_file(file, columns or {})]
    else:
        people = _read_file(path, columns or {})
    _refuse_same_names(people)
    return tuple(people if user is None else (person.for_user(user) for person in people))


def joined(people: Sequence[ImportedPerson]) -> tuple[ImportedPerson, ...]:
    """Return the people of several files; a lorebook or a fragment, without a name, goes to each of them.

    A lorebook alone gets a person that knows it.

    Raises:
        ScenarioError: Two have one name, or there is only a fragment.
    """
    named = [person for person in people if "name" in person.values]
    added = [person for person in people if "name" not in person.values]
    _refuse_same_names(named)
    if not named and added:
        if not any(part.values for part in added):
            raise ScenarioError(f"{added[0].file}: {added[0].kind} without an entry that holds")
        if "lorebook" not in added[0].kind:
            raise ScenarioError(
                f"{added[0].file}: {added[0].kind} without a name; give the person's own file beside it"
            )
        named = [ImportedPerson({"name": _LONE_LORE}, file=added[0].file, kind=added[0].kind)]
    for addition in added:
        named = [_with(person, addition) for person in named]
    return tuple(named)


def _refuse_same_names(people: Sequence[ImportedPerson]) -> None:
    named = [person for person in people if "name" in person.values]
    for number, words in duplicate_names(person.values["name"] for person in named):
        raise ScenarioError(f"{named[number].file}: name: {words}")


def _with(person: ImportedPerson, addition: ImportedPerson) -> ImportedPerson:
    values = dict(person.values)
    for field, value in with_name(addition.values, CHAR, person.nickname or values["name"]).items():
        if isinstance(value, list):
            values[field] = [*values.get(field, []), *(part for part in value if part not in values.get(field, []))]
        elif isinstance(value, dict):
            values[field] = {**value, **values.get(field, {})}
        elif isinstance(value, str) and isinstance(known := values.get(field, value), str):
            values[field] = value if known == value else f"{known}; {value}"
        else:
            values.setdefault(field, value)
    return replace(person, values=values, not_taken=person.not_taken + addition.not_taken)


def _read_file(path: Path, columns: Mapping[str, str | None]) -> list[ImportedPerson]:
    try:
        content = read_bytes(path, MOST_BYTES)
    except OSError as error:
        raise ScenarioError(f"{path}: can't be read: {error.strerror}") from None
    label = str(path)
    if not content.strip():
        raise ScenarioError(f"{label}: is empty")
    if content.startswith(PNG):
        return _of_png(content, label)
    if content.startswith(ZIP) or (content.startswith(JPEG) and b"PK\5\6" in content):
        text, others = zipped_card(content, label)
        found = _of_json(_parsed(text, label), columns, label)
        for name in others:
            found[0][1].leave("files of the zip", name, PICTURE)
        return _people(found, label)
    if content.startswith(JPEG):
        raise ScenarioError(f"{label}: a picture without a card; {_KNOWN}")
    if len(content) > MOST_TEXT:
        raise ScenarioError(f"{label}: is larger than {MOST_TEXT // 10**6} MB, the most that is read of a text")
    return _people(_of_text(_text(content, label), columns, label), label)


def _text(content: bytes, label: str) -> str:
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        raise ScenarioError(f"{label}: row {row}: not text in UTF-8; save the file as UTF-8") from None
    if "\0" in text[:1000]:
        raise ScenarioError(f"{label}: no people are found in it; {_KNOWN}")
    return text


def _of_png(content: bytes, label: str) -> list[ImportedPerson]:
    """Return the person of the first chunk that can be read; the other one is listed as far as it differs."""
    cards: dict[str, Any] = {}
    broken: list[str] = []
    for keyword, chunk in png_chunks(content).items():
        try:
            cards[keyword] = _parsed(chunk_text(keyword, *chunk, label), f"{label}: chunk {keyword}")
        except ScenarioError as error:
            broken.append(str(error))
    if not cards:
        raise ScenarioError(broken[0] if broken else f"{label}: a PNG picture without a card; {_KNOWN}")
    (keyword, first), *others = cards.items()
    found = _of_json(first, {}, label)
    for words in broken:
        found[0][1].leave("the picture", words.removeprefix(f"{label}: "), f"{keyword} is taken")
    for other, card in others:
        for field, value in _differences(first, card):
            found[0][1].leave(f"{field} (chunk {other})", value, f"another text than in {keyword}, which is taken")
    return _people(found, label)


def _differences(taken: Any, other: Any) -> Iterable[tuple[str, Any]]:
    """Yield the fields of a card that differ from those of the card that is taken."""
    fields, others = (card.get("data", card) if isinstance(card, Mapping) else {} for card in (taken, other))
    if isinstance(fields, Mapping) and isinstance(others, Mapping):
        yield from ((key, value) for key, value in others.items() if fields.get(key) != value)


#: A draft with its place in the file (empty for the only one), and the words for its kind.
Found = list[tuple[str, Draft, str]]


def _of_text(text: str, columns: Mapping[str, str | None], label: str) -> Found:
    if text.lstrip()[:1] in ("{", "[") and not _HEADING.match(text):
        if _JSON_LINES.match(text):
            lines = enumerate(text.split("\n"), start=1)
            values = [_parsed(line, f"{label}: line {at}") for at, line in lines if line.strip()]
            return _of_json(values, columns, label)
        return _of_json(_parsed(text, label), columns, label)
    if _SCENARIO.search(text):
        return _of_json(YamlFile.of_text(Path(label), text).values, columns, label)
    titles = re.split(r"[,;\t]", text.lstrip().partition("\n")[0])
    if not columns and not any(canonical(title.strip(' "')) for title in titles):
        raise ScenarioError(f"{label}: no people are found in it; {_KNOWN}")
    return [(place, draft, "a table") for place, draft in read_rows(csv_rows(text, label), columns, f"{label}: row 1")]


def _parsed(text: str, label: str) -> Any:
    try:
        value = json.loads(text, parse_constant=lambda name: None)
        is_too_deep = _depth(value) > MAX_DEPTH
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{label}: broken JSON in line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
        raise ScenarioError(f"{label}: broken JSON: nested too deeply, or a number too long") from None
    if is_too_deep:
        raise ScenarioError(f"{label}: a value lies more than {MAX_DEPTH} levels deep")
    return value


def _depth(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(_depth, parts), default=0) + 1


def _of_json(value: Any, columns: Mapping[str, str | None], label: str) -> Found:
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        value = [{"persona": part} for part in value]
    items = value if isinstance(value, list) else [value]
    placed = [(f"entry {number}" if len(items) > 1 else "", item) for number, item in enumerate(items, start=1)]
    if not columns:
        known = [(place, item, format) for place, item in placed if (format := _format_of(item))]
        if known and len(known) == len(items):
            return [
                (place, _read(item, read, place, label), cards.kind_of(item) if read is cards.read_card else words)
                for place, item, (words, _, read) in known
            ]
        for inner in _AROUND:
            if isinstance(value, Mapping) and isinstance(value.get(inner), dict | list):
                return _within(value, inner, label)
    if items and (all(isinstance(item, Mapping) for item in items) if columns else are_people(items)):
        return [(place, draft, "a table") for place, draft in read_rows(placed, columns, label)]
    raise ScenarioError(f"{label}: no people are found in it; {_KNOWN}")


def _read(item: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Draft], place: str, label: str) -> Draft:
    """Return the person of an object; an error names the place."""
    with errors_at(label, place):
        return read(item)


def _format_of(value: Any) -> Format | None:
    return next((each for each in _FORMATS if each[1](value)), None)


def _within(value: Mapping[str, Any], inner: str, label: str) -> Found:
    """Return the people of an object around them; its other fields are of the situation, or listed."""
    people = value[inner]
    if _are_by_name(people):
        people = [{"name": name, **person} for name, person in people.items()]
    for person in people if isinstance(people, list) else ():
        if isinstance(person, Mapping) and "file" in person:
            raise ScenarioError(f"{label}: names another file, {shown(person['file'])}; import that file")
    found = _of_json(people, {}, label)
    is_own = inner == "participants"
    for key, part in value.items():
        if key in ("description", "scenario") and isinstance(part, str) and part:
            for _, draft, _ in found:
                draft.situation = draft.situation or one_line(draft.words(part, key))
        elif key != inner and found:
            found[0][1].leave(key, part, OF_FILE if is_own else OF_PROGRAM)
    return [(place, draft, A_SCENARIO if is_own else kind) for place, draft, kind in found]


def _are_by_name(people: Any) -> bool:
    """Return whether people are an object with a person by each name, and no person itself."""
    if not isinstance(people, Mapping) or _format_of(people):
        return False
    return bool(people) and all(isinstance(person, Mapping) for person in people.values())


def _people(found: Found, label: str) -> list[ImportedPerson]:
    for place, draft, kind in found:
        if not draft.name and "lorebook" not in kind and "TinyTroupe" not in kind:
            raise ScenarioError(f"{label}: {f'{place}: ' * bool(place)}{kind} without a name")
    return [draft.person(f"{label}: {place}" if place else label, kind) for place, draft, kind in found]
