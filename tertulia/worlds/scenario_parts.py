"""The parts that scenario files of both kinds share: texts, times, people, memories, parameters and nodes."""

import os
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tertulia.state.errors import UsageError
from tertulia.state.languages import Language
from tertulia.state.names import composed
from tertulia.state.parameters import ALIASES, LISTED, SETTABLE, Parameters
from tertulia.state.person import Goal, SpeechExample
from tertulia.state.records import Memory, MemoryKind, Persona
from tertulia.state.wrong_values import number_checked, shown
from tertulia.worlds.person_fields import POLES, doubled_poles, misspelt, with_field_names
from tertulia.worlds.yaml_file import Problem, complete_problem, one_of, unknown

#: How long before the scenario a memory without a time was made.
LONG_KNOWN = timedelta(days=1)

#: Years in which the day before and the day after exist.
_YEARS = range(2, 9999)


def read_time(value: Any, *, like: str = "2024-05-14 09:30:00") -> datetime:
    """Parse a local time; `ValueError`, with the example `like`, for another text."""
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"takes a time such as {like}") from None
    if time.tzinfo is not None:
        raise ValueError("give the local time of the scenario, without a time zone")
    if time.year not in _YEARS:
        raise ValueError(f"give a year from {_YEARS[0]} to {_YEARS[-1]}")
    return time


def _read_text(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def _read_name(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    odd = next((char for char in text if unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs")), None)
    if odd is not None:
        is_break = odd in "\n\r\x0b\x0c\x85\u2028\u2029"
        what = "a line break" if is_break else f"the control character U+{ord(odd):04X}"
        words = f"a name stands on one line, without control characters; this has {what}: {shown(value)}"
        raise complete_problem(words)
    return composed(value) if isinstance(value, str) else value


def _read_parameter(value: Any) -> Any:
    if isinstance(value, str | int | float | None):
        return value
    raise complete_problem(f"takes one value: {shown(value)}")


Text = Annotated[str, Field(min_length=1)]
Name = Annotated[Text, BeforeValidator(_read_name)]
Time = Annotated[datetime, BeforeValidator(read_time, json_schema_input_type=str)]
ParameterValue = Annotated[
    Any, BeforeValidator(_read_parameter, json_schema_input_type=str | int | float | bool | None)
]
ParameterValues = Annotated[
    dict[str, ParameterValue],
    Field(
        default={},
        description="any parameter of a run",
        json_schema_extra={"propertyNames": {"enum": sorted(SETTABLE)}},
    ),
]


class Part(BaseModel):
    """The base model of the parts of a file: unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        return number_checked(value, cls.model_fields[str(info.field_name)].annotation)


class Composed(Part):
    """The fields that say how a conversation is run: parameters, nodes, and extensions."""

    extensions: tuple[Text, ...] = Field(
        default=(),
        description="files (.py) of nodes and mechanisms, found from this file's folder, or entry points of packages",
    )
    nodes: dict[Text, Text] = Field(default={}, description="by place, the node that stands there")
    node_settings: dict[Text, dict[Text, ParameterValue]] = Field(
        default={}, alias="settings", description="by node or mechanism, its parameters"
    )
    language: Language | None = Field(default=None, description="what the texts are in, and the prompts shall be in")
    parameters: ParameterValues

    def composition(self) -> dict[str, Any]:
        """Return the language, the nodes and their parameters, for `Parameters.with_settings`."""
        nodes = {} if self.language is None else {"language": self.language}
        nodes |= {f"nodes.{place}": name for place, name in self.nodes.items()}
        return nodes | {
            f"{name}.{key}": value for name, settings in self.node_settings.items() for key, value in settings.items()
        }


def extension_source(source: str, folder: Path) -> str:
    """Return an extension as a run records it: a `.py` file by its absolute path, an entry point by its name."""
    return os.path.abspath(folder / os.path.expanduser(source)) if source.endswith(".py") else source


class ScenarioMemory(Part):
    """A memory of a person; a plain string is a thought of middling importance, known for a day."""

    text: Text
    time: Time | None = None
    importance: float = Field(default=5, ge=0, le=10)
    kind: MemoryKind = "thought"
    keys: tuple[Text, ...] = Field(default=(), description="words that call it up when they are heard")


MemoryEntry = Annotated[ScenarioMemory, BeforeValidator(_read_text, json_schema_input_type=Text | ScenarioMemory)]


class ScenarioExample(Part):
    """A line that shows how a person speaks; a plain string is one that follows nothing."""

    after: str = Field(default="", description="the line before it, said to them")
    text: Text


class ScenarioGoal(Part):
    """A goal of a person; a plain string is a goal without a plan."""

    goal: Text
    sub_goals: tuple[Text, ...] = Field(default=(), description="the plan, in order; the model makes it where empty")

    def record(self) -> Goal:
        """Return the goal as agents have it."""
        return Goal(text=self.goal, sub_goals=self.sub_goals)


def _read_goal(value: Any) -> Any:
    return {"goal": value} if isinstance(value, str) else value


def _read_texts(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


ExampleEntry = Annotated[ScenarioExample, BeforeValidator(_read_text, json_schema_input_type=Text | ScenarioExample)]
GoalEntry = Annotated[ScenarioGoal, BeforeValidator(_read_goal, json_schema_input_type=Text | ScenarioGoal)]
Texts = Annotated[
    tuple[Text, ...],
    BeforeValidator(_read_texts, json_schema_input_type=Text | tuple[Text, ...]),
    PlainSerializer(lambda texts: texts[0] if len(texts) == 1 else list(texts), return_type=Any),
]
Pole = Annotated[str, one_of("trait", POLES)]


class ScenarioPerson(Part):
    """A person of a conversation; every field but the name may be left out."""

    name: Name
    age: int | None = Field(default=None, ge=0)
    occupation: Text | None = Field(default=None, description="their work")
    character: Text | None = Field(default=None, description="in words")
    traits: tuple[Pole, ...] = Field(
        default=(), description="poles of the Big Five, one of a dimension at most; a text is the character"
    )
    background: Texts = Field(default=(), description="a text, or a list of facts")
    lifestyle: Text | None = None
    home: Text | None = None
    style: Text | None = Field(default=None, description="how they speak")
    examples: tuple[ExampleEntry, ...] = Field(default=(), description="lines that show how they speak")
    activity: Text | None = Field(default=None, description="what they are doing, as in: Ida was …")
    secrets: Texts = Field(default=(), description="what they keep to themselves; only they are told")
    memories: tuple[MemoryEntry, ...] = ()
    goals: tuple[GoalEntry, ...] = ()
    interests: tuple[Text, ...] = Field(default=(), description="topics that their role cares about")
    relations: dict[Name, Text] = Field(default={}, description="how they stand to others, by name")
    descriptions: tuple[Text, ...] = Field(
        default=(), max_length=10, description="how they think and talk; a meeting's model writes ten where left out"
    )
    setting: Text | None = Field(default=None, description="what is special about them in this conversation")

    @model_validator(mode="before")
    @classmethod
    def _under_field_names(cls, values: Any) -> Any:
        return with_field_names(values)

    def persona(self) -> Persona:
        """Return the persona: the facts that hold at any time."""
        same = ("name", "age", "occupation", "character", "background", "lifestyle", "home", "style")
        examples = (SpeechExample(after=example.after, text=example.text) for example in self.examples)
        return Persona(**{field: getattr(self, field) for field in same}, examples=tuple(examples))

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of a `Participant` besides persona and memories."""
        same = ("activity", "secrets", "interests", "descriptions", "setting")
        return {
            **{field: getattr(self, field) for field in same},
            "big_five": self.traits,
            "goals": tuple(goal.record() for goal in self.goals),
            "relations": tuple(self.relations.items()),
        }

    def remembered(self, time: datetime) -> tuple[Memory, ...]:
        """Return the memories at a time, oldest first; their ids number their place in the file."""
        memories = (
            Memory(
                id=f"memory_{number}",
                kind=memory.kind,
                text=memory.text,
                created=memory.time or time - LONG_KNOWN,
                importance=memory.importance,
                keys=memory.keys,
            )
            for number, memory in enumerate(self.memories, start=1)
        )
        return tuple(sorted(memories, key=lambda memory: memory.created))


def duplicate_names(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield repeated names by place; letter case, kinds of spaces and composed letters make no difference."""
    seen: dict[str, str] = {}
    for number, name in enumerate(names):
        folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        if folded in seen:
            before = "" if seen[folded] == name else f", as {seen[folded]!r}"
            yield number, f"{name!r} is there already{before}; give them names that differ"
        seen[folded] = name


def late_memories(people: Sequence[ScenarioPerson], time: datetime) -> Iterator[Problem]:
    """Yield the memories that are not from before the scenario."""
    for number, person in enumerate(people):
        for index, memory in enumerate(person.memories):
            if memory.time and memory.time >= time:
                yield ("participants", number, "memories", index, "time"), too_late(memory.time, time)


def odd_people(people: Sequence[ScenarioPerson]) -> Iterator[Problem]:
    """Yield what is odd about each person (see `odd_person`), with its location in the file."""
    names = [person.name for person in people]
    for number, person in enumerate(people):
        for place, words in odd_person(person, names):
            yield ("participants", number, *place), words


def odd_person(person: ScenarioPerson, names: Collection[str]) -> Iterator[Problem]:
    """Yield two poles of one dimension, a relation to oneself, and one to a name that is a participant's misspelt."""
    for index, words in doubled_poles(person.traits):
        yield ("traits", index), words
    for partner in person.relations:
        if partner == person.name:
            yield ("relations", partner), "stands for a relation to oneself"
        elif partner not in names and (meant := misspelt(partner, names)):
            yield ("relations", partner), f"{shown(partner)} is no participant (did you mean {meant!r}?)"


def too_late(late: datetime, time: datetime) -> str:
    """Return the message about a time that is not before the scenario's."""
    return f"{late} is not before the scenario's own time, {time}"


def without_aliases(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by their names; a file may use aliases."""
    return {ALIASES.get(name, name): value for name, value in parameters.items()}


def bad_parameters(parameters: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the faults of the parameters of a file."""
    seen: set[str] = set()
    for key in parameters:
        name = ALIASES.get(key, key)
        if name in Parameters.model_fields and name not in SETTABLE:
            yield ("parameters", key), "stands beside parameters: write nodes, and settings"
        elif name not in SETTABLE:
            yield ("parameters", key), unknown("parameter", key, SETTABLE, LISTED)
        elif name in seen:
            yield ("parameters", key), f"stands twice; it is another name of {name!r}"
        seen.add(name)
    try:
        Parameters().with_settings({**base, **without_aliases(parameters)})
    except UsageError as error:
        name, _, words = str(error).partition("=")
        written = next((key for key in parameters if ALIASES.get(key, key) == name), None)
        yield (("parameters", written), words) if written else (("parameters",), str(error))
