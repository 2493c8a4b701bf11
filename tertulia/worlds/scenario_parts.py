"""The parts that scenario files of both kinds share: texts, times, people, memories, parameters and nodes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tertulia.state.errors import UsageError
from tertulia.state.languages import Language
from tertulia.state.parameters import ALIASES, LISTED, SETTABLE, Parameters
from tertulia.state.records import Memory, MemoryKind, Persona
from tertulia.state.wrong_values import shown
from tertulia.worlds.yaml_file import Problem, complete_problem, unknown

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


def _read_memory(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def _read_parameter(value: Any) -> Any:
    if isinstance(value, str | int | float | None):
        return value
    raise complete_problem(f"takes one value: {shown(value)}")


Text = Annotated[str, Field(min_length=1)]
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


MemoryEntry = Annotated[ScenarioMemory, BeforeValidator(_read_memory, json_schema_input_type=Text | ScenarioMemory)]


class ScenarioPerson(Part):
    """A participant; every field but the name may be left out."""

    name: Text
    age: int | None = Field(default=None, ge=0)
    background: Text | None = None
    lifestyle: Text | None = None
    home: Text | None = None
    activity: Text | None = Field(default=None, description="what they are doing, as in: Ida was …")
    secret: Text | None = Field(default=None, description="what they keep to themselves; only they are told")
    memories: tuple[MemoryEntry, ...] = ()

    def persona(self, traits: str | None) -> Persona:
        """Return the persona: the facts that hold at any time."""
        return Persona(**self.model_dump(include=set(Persona.model_fields) - {"traits"}), traits=traits)

    def remembered(self, time: datetime) -> tuple[Memory, ...]:
        """Return the memories at a time, oldest first; their ids number their place in the file."""
        memories = (
            Memory(
                id=f"memory_{number}",
                kind=memory.kind,
                text=memory.text,
                created=memory.time or time - LONG_KNOWN,
                importance=memory.importance,
            )
            for number, memory in enumerate(self.memories, start=1)
        )
        return tuple(sorted(memories, key=lambda memory: memory.created))


def late_memories(people: Sequence[ScenarioPerson], time: datetime) -> Iterator[Problem]:
    """Yield the memories that are not from before the scenario."""
    for number, person in enumerate(people):
        for index, memory in enumerate(person.memories):
            if memory.time and memory.time >= time:
                yield ("participants", number, "memories", index, "time"), too_late(memory.time, time)


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
