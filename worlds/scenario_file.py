"""A scenario of one's own as a YAML file: two people, one moment. Errors name the file, the line and the field.

```yaml
name: the lost key
time: 2024-05-14 09:30:00
place: kitchen at the youth hostel
participants:            # the first one begins
  - name: Ida Falk
    age: 31
    traits: patient, wry
    activity: emptying the drawers
    memories:
      - Ida Falk has had the only spare key since March.
      - {text: Ida Falk saw a key on the stairs, time: 2024-05-14 08:55:00, importance: 7, kind: event}
  - name: Jonas Brandt
    memories: [Jonas Brandt came home without his coat.]
previous_dialogues:
  - time: 2024-05-13 20:00:00
    lines:
      - [Jonas Brandt, "Is the door locked?"]
parameters: {removal_factor: 0.3}
```

Quote a text that holds YAML's own punctuation, as the question above.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from state.errors import NotFoundError, ScenarioError, nearest_hint
from state.records import Case, Dialogue, Memory, MemoryKind, Participant, Persona, Utterance

#: How long before the scenario a memory without a time of its own was made.
LONG_KNOWN = timedelta(days=1)

#: A place in the file: keys of mappings and indices of lists.
Location = tuple[str | int, ...]


def _read_time(value: Any) -> Any:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError("not a time such as 2024-05-14 09:30:00") from None
    if time.tzinfo is not None:
        raise ValueError("give the local time of the scenario, without a time zone")
    return time


def _read_memory(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1)]
Time = Annotated[datetime, BeforeValidator(_read_time)]


class _Part(BaseModel):
    """Base of the parts of a file: unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class ScenarioMemory(_Part):
    """Something that a person remembers; a plain string is a thought of middling importance, known for a day."""

    text: Text
    time: Time | None = None
    importance: float = Field(default=5, ge=0, le=10)
    kind: MemoryKind = "thought"


class ScenarioPerson(_Part):
    """One of the two; every field but the name and the memories may be left out."""

    name: Text
    age: int | None = Field(default=None, ge=0)
    traits: Text | None = None
    background: Text | None = None
    lifestyle: Text | None = None
    home: Text | None = None
    activity: Text | None = Field(default=None, description="what they are doing, as in: Ida was …")
    memories: tuple[Annotated[ScenarioMemory, BeforeValidator(_read_memory)], ...] = Field(min_length=1)


class ScenarioDialogue(_Part):
    """An earlier dialogue of the two: pairs of speaker and text."""

    time: Time
    lines: tuple[tuple[Text, Text], ...] = Field(min_length=1)


class TwoPartyScenario(_Part):
    """A scenario file of two people, of whom the first begins."""

    name: Text
    description: Text | None = None
    time: Time
    place: Text | None = None
    participants: tuple[ScenarioPerson, ...] = Field(min_length=2, max_length=2)
    previous_dialogues: tuple[ScenarioDialogue, ...] = ()
    parameters: dict[str, Any] = Field(default={}, description="settings for `Parameters.with_settings`")

    def case(self, scenario: str) -> Case:
        """Return the case that the file describes.

        Args:
            scenario: The name under which it is found again.
        """
        initiator, partner = (self._participant(person) for person in self.participants)
        return Case(
            scenario=scenario,
            time=self.time,
            place=self.place,
            initiator=initiator,
            partner=partner,
            previous_dialogues=tuple(
                Dialogue(time=one.time, utterances=tuple(Utterance(speaker=who, text=text) for who, text in one.lines))
                for one in sorted(self.previous_dialogues, key=lambda one: one.time)
            ),
        )

    def _participant(self, person: ScenarioPerson) -> Participant:
        memories = tuple(
            Memory(
                id=f"memory_{number}",
                kind=memory.kind,
                text=memory.text,
                created=memory.time or self.time - LONG_KNOWN,
                importance=memory.importance,
            )
            for number, memory in enumerate(person.memories, start=1)
        )
        return Participant(
            persona=Persona(**person.model_dump(include=set(Persona.model_fields))),
            memories=tuple(sorted(memories, key=lambda memory: memory.created)),
            activity=person.activity,
        )


def read_scenario_file(at: Path) -> TwoPartyScenario:
    """Read a scenario file.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: It is not YAML, or not a scenario; the message names the file, the line and the field.
    """
    try:
        text = at.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFoundError(f"there is no scenario file {str(at)!r}") from None
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{at}: can't be read as text: {error}") from None
    try:
        root = yaml.compose(text, Loader=_Loader)
        values = _Loader("").construct_document(root) if root else {}
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ScenarioError(f"{at}{line}: not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ScenarioError(f"{at}: not YAML: {error}".replace("\n", " ")) from None
    try:
        scenario = TwoPartyScenario.model_validate(values)
    except ValidationError as error:
        details = error.errors()[0]
        raise ScenarioError(_complaint(at, root, details["loc"], _in_words(details))) from None
    for location, problem in _inconsistencies(scenario):
        raise ScenarioError(_complaint(at, root, location, problem))
    return scenario


class _Loader(yaml.SafeLoader):
    """Leaves times as text, so that they are checked with the line they stand on; refuses a key that stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


def _inconsistencies(scenario: TwoPartyScenario) -> Iterator[tuple[Location, str]]:
    """Yield what each field by itself can't show, with its place in the file."""
    names = [person.name for person in scenario.participants]
    if names[0] == names[1]:
        yield ("participants", 1, "name"), f"both are called {names[0]!r}; give them names that differ"
    late = f"is not before the scenario's own time, {scenario.time}"
    for number, person in enumerate(scenario.participants):
        for index, memory in enumerate(person.memories):
            if memory.time and memory.time >= scenario.time:
                yield ("participants", number, "memories", index, "time"), f"{memory.time} {late}"
    for number, dialogue in enumerate(scenario.previous_dialogues):
        if dialogue.time >= scenario.time:
            yield ("previous_dialogues", number, "time"), f"{dialogue.time} {late}"
        for index, (speaker, _) in enumerate(dialogue.lines):
            if speaker not in names:
                hint = nearest_hint(speaker, names)
                yield ("previous_dialogues", number, "lines", index), f"{speaker!r} is not one of the two{hint}"


def _in_words(problem: ErrorDetails) -> str:
    location = problem["loc"]
    if problem["type"] == "missing":
        return "is missing"
    if problem["type"] == "extra_forbidden":
        return f"is not a field here{nearest_hint(str(location[-1]), _part_at(location).model_fields)}"
    if problem["type"] == "too_short":
        return f"needs {problem['ctx']['min_length']} or more, not {len(problem['input'])}"
    if problem["type"] == "too_long":
        return f"takes {problem['ctx']['max_length']} at most, not {len(problem['input'])}"
    shown = repr(problem["input"])
    return f"{problem['msg'].removeprefix('Value error, ')}: {shown if len(shown) <= 60 else shown[:57] + '...'}"


def _part_at(location: Location) -> type[_Part]:
    match location:
        case ("participants", _, "memories", *_):
            return ScenarioMemory
        case ("participants", *_):
            return ScenarioPerson
        case ("previous_dialogues", *_):
            return ScenarioDialogue
    return TwoPartyScenario


def _complaint(at: Path, root: yaml.Node | None, location: Location, problem: str) -> str:
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")
    return f"{at}:{_line(root, location)}: {field + ': ' if field else ''}{problem}"


def _line(node: yaml.Node | None, location: Location) -> int:
    """Return the line, from 1, of the deepest part of a location that the file holds."""
    line = node.start_mark.line if node else 0
    for part in location:
        if isinstance(node, yaml.MappingNode):
            key, node = next(((k, v) for k, v in node.value if k.value == part), (None, None))
            line = key.start_mark.line if key else line
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return line + 1
