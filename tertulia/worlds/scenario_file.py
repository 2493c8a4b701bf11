"""Read a scenario file in YAML: a dialogue of two people, or a meeting (see `worlds.meeting_file`).

```yaml
name: the lost key
time: 2024-05-14 09:30:00
place: kitchen at the youth hostel
description: The last spare key has been missing since breakfast.
participants:            # the first begins
  - name: Ida Falk
    age: 31
    character: patient, wry
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

Quote a text that holds YAML's punctuation, as the question above.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from tertulia.state.errors import NotFoundError, ScenarioError, nearest_hint
from tertulia.state.records import Case, Dialogue, Participant, Utterance
from tertulia.worlds.characters.participants import PERSON_OF_FILE, names_files, with_people_of_files
from tertulia.worlds.meeting_file import MeetingPerson, MeetingScenario, is_meeting, meeting_schema_condition
from tertulia.worlds.person_fields import add_synonyms
from tertulia.worlds.scenario_parts import (
    Composed,
    Name,
    Part,
    ScenarioPerson,
    Text,
    Time,
    bad_parameters,
    duplicate_names,
    late_memories,
    odd_people,
    too_late,
)
from tertulia.worlds.yaml_file import Problem, YamlFile


class ScenarioDialogue(Part):
    """An earlier dialogue of the two: pairs of speaker and text."""

    time: Time
    lines: tuple[tuple[Name, Text], ...] = Field(min_length=1)


class TwoPartyScenario(Composed):
    """A scenario file of two people; the first begins."""

    name: Text
    description: Text | None = Field(default=None, description="the situation, as both know it")
    time: Time
    place: Text | None = None
    participants: tuple[ScenarioPerson, ...] = Field(min_length=2, max_length=2)
    previous_dialogues: tuple[ScenarioDialogue, ...] = ()
    lines: tuple[tuple[Name, Text], ...] = Field(
        default=(), description="what the two say, for `tertulia tune`, which teaches it; a run says its own"
    )

    def case(self, scenario: str) -> Case:
        """Return the case that the file describes."""
        initiator, partner = (
            Participant(
                persona=person.persona(),
                memories=person.remembered(self.time),
                **person.record_fields(),
            )
            for person in self.participants
        )
        return Case(
            scenario=scenario,
            time=self.time,
            place=self.place,
            description=self.description,
            initiator=initiator,
            partner=partner,
            previous_dialogues=tuple(
                Dialogue(
                    time=dialogue.time,
                    utterances=tuple(Utterance(speaker=speaker, text=text) for speaker, text in dialogue.lines),
                )
                for dialogue in sorted(self.previous_dialogues, key=lambda dialogue: dialogue.time)
            ),
        )

    def settings(self) -> dict[str, Any]:
        """Return the parameters that the file sets, for `Parameters.with_settings`."""
        return {**self.parameters, **self.composition()}

    def problems(self) -> Iterator[Problem]:
        """Yield the problems that no field shows by itself, with their location in the file."""
        names = [person.name for person in self.participants]
        for number, words in duplicate_names(names):
            yield ("participants", number, "name"), words
        yield from late_memories(self.participants, self.time)
        yield from odd_people(self.participants)
        for number, dialogue in enumerate(self.previous_dialogues):
            if dialogue.time >= self.time:
                yield ("previous_dialogues", number, "time"), too_late(dialogue.time, self.time)
            for index, (speaker, _) in enumerate(dialogue.lines):
                if speaker not in names:
                    hint = nearest_hint(speaker, names)
                    yield ("previous_dialogues", number, "lines", index), f"{speaker!r} is not one of the two{hint}"
        for index, (speaker, _) in enumerate(self.lines):
            if speaker not in names:
                yield ("lines", index), f"{speaker!r} is not one of the two{nearest_hint(speaker, names)}"
        yield from bad_parameters(self.parameters, {})


def read_scenario_file(path: Path, mechanisms: Collection[str] | None = None) -> TwoPartyScenario | MeetingScenario:
    """Read a scenario file of either kind; `worlds.meeting_file.is_meeting` tells which it is.

    Args:
        mechanisms: Names of the known mechanisms; with `None`, any name is accepted.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: It is not YAML, or not a scenario; the message names the file, the line and the field.
    """
    try:
        file = YamlFile.read(path)
    except ScenarioError:
        _refuse_people(path)
        raise
    entries = file.values.get("villagers") if isinstance(file.values, dict) else file.values
    if isinstance(entries, list) and any(isinstance(entry, dict) for entry in entries):
        raise ScenarioError(
            f"{path}: holds villagers, not a scenario; run it as: tertulia run villagers --set villagers={path}"
        )
    if not isinstance(file.values, dict) or "participants" not in file.values:
        _refuse_people(path)
    file = with_people_of_files(file) if names_files(file.values) else file
    return check_scenario(file, MeetingScenario if is_meeting(file.values) else TwoPartyScenario, mechanisms)


def _refuse_people(path: Path) -> None:
    """Raise `ScenarioError` if a file holds people of another program."""
    from tertulia.worlds.characters.reading import A_SCENARIO, read_people

    try:
        kind = read_people(path)[0].kind
    except (ScenarioError, NotFoundError):
        return
    if kind != A_SCENARIO:
        raise ScenarioError(f"{path}: {kind}, not a scenario; make one: tertulia people import {path} --to people.yaml")


def check_scenario(
    file: YamlFile, kind: type[TwoPartyScenario | MeetingScenario], mechanisms: Collection[str] | None = None
) -> TwoPartyScenario | MeetingScenario:
    """Return the values of a file as a scenario of a kind; args and errors as for `read_scenario_file`."""
    if kind is MeetingScenario:
        meeting = file.parse(MeetingScenario, {", but in a dialogue of two": TwoPartyScenario})
        file.check(meeting.problems(mechanisms))
        return meeting
    remedy = "write kind: group_chat for one" if file.has_lines else "tertulia.Meeting makes one"
    scenario = file.parse(TwoPartyScenario, {f", but in a meeting; {remedy}": MeetingScenario})
    file.check(scenario.problems())
    return scenario


def scenario_schema(mechanisms: Collection[str]) -> dict[str, Any]:
    """Return the JSON Schema of scenario files of both kinds, for editors."""
    two, group = (model.model_json_schema() for model in (TwoPartyScenario, MeetingScenario))
    definitions = two.pop("$defs") | group.pop("$defs") | {"PersonOfFile": PERSON_OF_FILE}
    for kind in (ScenarioPerson, MeetingPerson):
        add_synonyms(definitions, kind.__name__)
    for model in (two, group):
        people = model["properties"]["participants"]
        people |= {"items": {"anyOf": [people["items"], {"$ref": "#/$defs/PersonOfFile"}]}, "minItems": 1}
    shipped = {"properties": {"mechanisms": {"items": {"enum": list(mechanisms)}}}}
    group |= {"if": {"required": ["extensions"]}, "else": shipped}  # an extension adds names
    definitions |= {"TwoPartyScenario": two, "MeetingScenario": group}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tertulia scenario",
        "if": meeting_schema_condition(),
        "then": {"$ref": "#/$defs/MeetingScenario"},
        "else": {"$ref": "#/$defs/TwoPartyScenario"},
        "$defs": dict(sorted(definitions.items())),
    }
