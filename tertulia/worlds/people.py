"""People as objects of Python: one person for a dialogue or a meeting, and those of a file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, model_validator

from tertulia.state.errors import ScenarioError
from tertulia.state.wrong_arguments import check_argument, check_texts, path_of, with_named_arguments
from tertulia.state.wrong_values import shown
from tertulia.worlds.meeting_file import MeetingPerson
from tertulia.worlds.yaml_file import YamlFile

if TYPE_CHECKING:
    from tertulia.worlds.characters.draft import ImportedPerson

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


@with_named_arguments
def people_from(
    path: Path | str, user: str | None = None, columns: Mapping[str, str | None] | None = None
) -> list[Person]:
    """Return the people of a file of another program (docs/people.md), or of a table in CSV, JSON or JSON Lines.

    ::

        wilma, = tertulia.people_from("wilma.png", user="Ines")
        people = tertulia.people_from("residents.csv", columns={"Full name": "name", "Id": None})

    The kind of file is told by its content. In a table, columns have the names of `Person`'s fields or their synonyms,
    and of parts (`schedule.leaves`, `weights.goal`); any other column is a fact with its title. `|` separates several
    values in a cell; a relation is `NAME: their relation`.

    Args:
        user: The name in the place of a card's `{{user}}`.
        columns: By column of a table, the field that it is; `None` for a column that is not read.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: It holds no people of a known kind, or a person has a value that it can't have.
        UsageError: There is no such column or field, or an argument is of another kind.
    """
    from tertulia.worlds.characters.reading import joined, read_people

    file = Path(path_of("path", path)).expanduser()
    check_argument("user", user, str, "a name is a text")
    check_texts("columns", columns, "fields are given by column: columns={'Full name': 'name'}")
    return as_persons(joined(read_people(file, user or "the visitor", columns)))


def as_persons(people: Iterable["ImportedPerson"]) -> list[Person]:
    """Return people of files as objects.

    Raises:
        ScenarioError: People have values that they can't have; a message names the file, the row and the field.
    """
    persons: list[Person] = []
    faults: list[str] = []
    for found in people:
        try:
            person = Person(**found.values)
        except ScenarioError as error:
            named = f"Person {shown(found.values.get('name'))}: "
            faults += [f"{found.file}: {str(fault).removeprefix(named)}" for fault in (error, *error.further)]
        else:
            person._of_file = True
            persons.append(person)
    if faults:
        first = ScenarioError(faults[0])
        first.further = tuple(faults[1:])
        raise first
    return persons
