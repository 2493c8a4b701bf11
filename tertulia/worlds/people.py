"""People as objects of Python: one person for a dialogue or a meeting, and many from a CSV file."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, model_validator

from tertulia.state.errors import NotFoundError, ScenarioError, UsageError, nearest_hint
from tertulia.state.files import read_bytes
from tertulia.state.wrong_values import shown
from tertulia.worlds.meeting_file import MeetingPerson, duplicate_names
from tertulia.worlds.person_fields import POLES, field_named
from tertulia.worlds.yaml_file import YamlFile

#: The largest CSV file of people that is read.
MOST_BYTES = 16 * 10**6

#: The sign between several values in a cell, and the one between a name and the relation to that person.
_BETWEEN, _RELATION = "|", ":"

#: Fields that take several values.
_LISTS = ("memories", "goals", "interests", "descriptions", "secrets", "examples")


Made = TypeVar("Made", bound=BaseModel)


#: The remedy for a field that only people of an album chat have.
_OF_VILLAGERS = "; people of an album chat are tertulia.Villager, in a tertulia.Population"


class _VillagersOnly(BaseModel):
    """The fields that only villagers have."""

    album: None = None
    properties: None = None
    role: None = None


class Person(MeetingPerson):
    """A person of a dialogue or a meeting; only the name is required.

    ::

        tertulia.Person(name="Ines", age=41, traits="patient, dry", memories=["Ines lent Joao her second boat."])
        tertulia.Person(name="Nora", traits=["extroverted", "open"], goals=["leave with one decision"])

    The fields are those of a participant in a scenario file (docs/scenarios.md): `age`, `occupation`, `character` (in
    words), `traits` (poles of the Big Five; a text is the character), `background` (a text, or a list of facts),
    `lifestyle`, `home`, `style`, `examples`, `activity`, `secrets`, `memories`, `goals`, `interests`, `relations`,
    `descriptions`, `setting`; and in a meeting alone `emotion`, `schedule`, `latency`, `weights`, `propensity`,
    `silence_discomfort` and `model`. Other names of them are read too (`worlds/person_fields.py`).

    Raises:
        ScenarioError: A field is missing, unknown, or has a value that it can't have.
    """

    if not TYPE_CHECKING:  # checkers know the fields

        def __new__(cls, *given: Any, **fields: Any) -> Self:
            """Refuse values without the names of their fields."""
            if given:
                raise ScenarioError(f"Person: takes its fields by name: Person(name={shown(given[0])}, …)")
            return super().__new__(cls)

    # Commands import this and make no person: the validator is built at its first use.
    model_config = ConfigDict(defer_build=True)

    if TYPE_CHECKING:  # a program gives lists, and traits in words

        def __init__(self, **fields: Any) -> None: ...

    #: Whether it was read from a file, so that the file alone names its model.
    _of_file: bool = PrivateAttr(default=False)

    @model_validator(mode="wrap")
    @classmethod
    def _in_words(cls, values: Any, validated: Callable[[Any], Self]) -> Self:
        """Describe the faults of the values in words, as of a file."""
        return validated_in_words(cls, values, validated, {_OF_VILLAGERS: _VillagersOnly})

    def __eq__(self, other: object) -> bool:
        """Return whether the other is a person of the same fields, from any source."""
        return isinstance(other, Person) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the fields that are given."""
        yield from self.in_file().items()

    def in_file(self) -> dict[str, Any]:
        """Return the fields as a scenario file has them, those at their defaults left out."""
        values = self.model_dump(by_alias=True, exclude_defaults=True)
        return {"name": self.name, **{name: plain(value) for name, value in values.items()}}


def validated_in_words(
    kind: type[Made], values: Any, validated: Callable[[Any], Made], others: Mapping[str, type[BaseModel]]
) -> Made:
    """Return a person or villager made of values; a `ScenarioError` describes faults in words, as of a file.

    Args:
        kind: The class of the object.
        others: By a remark on a field that the class lacks, the model that has it.
    """
    if isinstance(values, kind):
        return values
    given = {name: plain(value) for name, value in values.items()} if isinstance(values, Mapping) else values
    name = given.get("name") if isinstance(given, Mapping) else None
    place = Path(f"{kind.__name__} {shown(name)}" if isinstance(name, str) else kind.__name__)
    try:
        return validated(given)
    except ValidationError as error:
        raise YamlFile(place, None, given, has_lines=False).unfit(error, kind, others) from None


def plain(value: Any) -> Any:
    """Return a value as a YAML file holds it: texts, numbers, lists and mappings."""
    if isinstance(value, Person):
        return value
    if isinstance(value, date):  # and a datetime
        return str(value)
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(by_alias=True, exclude_defaults=True))
    if hasattr(value, "item") and callable(value.item):  # a number of numpy
        return value.item()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(part) for part in value]
    return value


def people_from_csv(path: Path | str, columns: Mapping[str, str | None] | None = None) -> list[Person]:
    """Return the people of a CSV file in UTF-8: a header with names of fields, then a person a row.

    ::

        people = tertulia.people_from_csv("residents.csv", columns={"Full name": "name", "Id": None})

    Columns have the names of `Person`'s fields, and of their parts (`schedule.leaves`, `weights.goal`); an empty cell
    leaves a field at its default. `|` separates several memories, goals, interests or descriptions in a cell, and
    commas separate traits; a relation is `NAME: their relation`. The header tells whether commas, semicolons or
    tabs divide cells.

    Args:
        columns: By column of the file, the field that it is; `None` for a column that is not read.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: It can't be read, or a row is no person; the message names the file and the row, as a
            spreadsheet counts: the header is row 1.
    """
    file = Path(path).expanduser()
    rows = _rows(file, _text_of(file))
    header = next(rows, None)
    if header is None:
        raise ScenarioError(f"{file}: is empty; its first row names fields, such as name, age and traits")
    fields = _fields_of(file, header[1], columns or {})
    people, numbers = [], []
    for number, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        people.append(_person_of(file, number, fields, cells))
        numbers.append(number)
    if not people:
        raise ScenarioError(f"{file}: has a header and no people")
    for at, words in duplicate_names(person.name for person in people):
        raise ScenarioError(f"{file}: row {numbers[at]}: name: {words}")
    return people


def _text_of(file: Path) -> str:
    try:
        content = read_bytes(file, MOST_BYTES)
    except FileNotFoundError:
        raise NotFoundError(f"there is no CSV file {str(file)!r}") from None
    except OSError as error:
        raise ScenarioError(f"{file}: can't be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        raise ScenarioError(f"{file}: row {row}: not text in UTF-8; save the file as UTF-8") from None


def _rows(file: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with their numbers, from 1."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    while True:
        number += 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ScenarioError(f"{file}: row {number}: not CSV: {error}") from None
        if cells is None:
            return
        yield number, cells


def _fields_of(file: Path, header: Sequence[str], columns: Mapping[str, str | None]) -> list[str | None]:
    """Return the field of each column; `None` for one that is not read."""
    fields: list[str | None] = []
    for title in map(str.strip, header):
        named = title.casefold().replace(" ", "_")
        field = columns.get(title, field_named(title) or named)
        if field is not None and field.partition(".")[0] not in Person.model_fields:
            hint = nearest_hint(field, Person.model_fields)
            raise ScenarioError(
                f"{file}: row 1: unknown field {title!r}{hint}; columns={{{title!r}: None}} leaves it out"
            )
        if field is not None and field in fields:
            raise ScenarioError(f"{file}: row 1: {field} stands twice")
        fields.append(field)
    if missing := next((title for title in columns if title not in map(str.strip, header)), None):
        raise UsageError(f"columns={missing}: {file} has no such column{nearest_hint(missing, header)}")
    if "name" not in fields:
        raise ScenarioError(f"{file}: row 1: there is no column name; columns={{'…': 'name'}} says which one it is")
    return fields


def _person_of(file: Path, number: int, fields: Sequence[str | None], cells: Sequence[str]) -> Person:
    if len(cells) > len(fields):
        raise ScenarioError(f"{file}: row {number}: has {len(cells)} cells, and the header {len(fields)}")
    values: dict[str, Any] = {}
    for field, cell in zip(fields, cells, strict=False):
        if field is not None and cell.strip():
            _put(values, field, cell.strip())
    try:
        person = Person(**values)
    except ScenarioError as error:
        words = str(error).partition(": ")[2]
        raise ScenarioError(f"{file}: row {number}: {words}") from None
    person._of_file = True
    return person


def _put(values: dict[str, Any], field: str, cell: str) -> None:
    """Put the value of a cell among the values of a person."""
    head, _, part = field.partition(".")
    if part:
        values[head] = {**values.get(head, {}), part: cell}
    elif field in _LISTS:
        values[field] = _parts(cell, _BETWEEN)
    elif field == "relations":
        pairs = (entry.partition(_RELATION) for entry in _parts(cell, _BETWEEN))
        values[field] = {name.strip(): how.strip() for name, _, how in pairs}
    elif field == "traits":
        poles = _parts(cell, ",")
        values[field] = poles if set(poles) <= set(POLES) else cell
    else:
        values[field] = cell


def _parts(cell: str, between: str) -> list[str]:
    return [part.strip() for part in cell.split(between) if part.strip()]
