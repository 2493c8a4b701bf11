"""Make a scenario of people from files: a dialogue of two, or a meeting of more, or of people with meeting fields."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from tertulia.state.errors import ScenarioError
from tertulia.state.text import shortened
from tertulia.worlds.characters.draft import ImportedPerson, situation_of
from tertulia.worlds.characters.participants import other_of
from tertulia.worlds.characters.tables import MOST_PEOPLE
from tertulia.worlds.meeting_file import MeetingScenario, is_meeting
from tertulia.worlds.people import as_persons
from tertulia.worlds.person_fields import MEETING_FIELDS, misspelt
from tertulia.worlds.scenario_file import TwoPartyScenario, check_scenario
from tertulia.worlds.scenario_objects import PlainDumper
from tertulia.worlds.yaml_file import MOST_BYTES, Problem, YamlFile

#: The time of a scenario whose people have no memories of a later one.
_TIME = datetime(2026, 5, 14, 10, 0)

#: The number of facts about a person alone that the visitor knows; without any, λ would have nothing to take from a
#: visitor, and a visitor nothing to talk of.
_KNOWN_FACTS = 8

_SECOND_PERSON = re.compile(r"you\b", re.IGNORECASE)


def names_put(people: Sequence[ImportedPerson], user: str | None) -> tuple[ImportedPerson, ...]:
    """Return people with a name for `{{user}}` in their texts."""
    names = [person.values["name"] for person in people]
    return tuple(person.for_user(other_of(names, person.values["name"], user)) for person in people)


def scenario_of(
    people: Sequence[ImportedPerson], user: str | None = None, place: str | None = None, time: datetime | None = None
) -> str:
    """Return a scenario file with these people; a person alone meets the user.

    Args:
        user: The name in the place of `{{user}}`; a person alone meets a visitor of that name, `Visitor` by default.
        place: Their meeting place.
        time: When it begins; `None`: after all memories that have a time.

    Raises:
        ScenarioError: There are too many people, the file would be too large, a memory is of a later time, or a person
            has a value that they can't have.
    """
    if len(people) > MOST_PEOPLE:
        raise ScenarioError(f"{len(people):,} people are too many for a scenario, which takes {MOST_PEOPLE:,}")
    remembered, visitor = after_memories(people), user or "Visitor"
    put = names_put(people, visitor if len(people) == 1 else user)
    if len(put) == 1:
        put = (*put, _visitor(visitor, put[0]))
    names = [person.values["name"] for person in put]
    is_group = len(put) > 2 or any(field in person.values for person in put for field in MEETING_FIELDS)
    values: dict[str, Any] = {"kind": "group_chat"} if is_group else {}
    values["name"] = shortened(" and ".join(names) if len(put) == 2 else f"{names[0]} and {len(put) - 1} others", 80)
    values["description"] = situation_of(put) or _meeting_of(names)
    values["time"] = str(time or remembered or _TIME)
    values |= {"place": place} if place else {}
    values["participants"] = [_participant(person, names) for person in put]
    return scenario_text(values)


def scenario_text(values: Mapping[str, Any]) -> str:
    """Return the text of a scenario file with these values; `ScenarioError` if they are none, or too large."""
    text = yaml.dump(dict(values), Dumper=PlainDumper, sort_keys=False, allow_unicode=True, width=110)
    if len(text.encode("utf-8")) > MOST_BYTES:
        size = len(text.encode("utf-8"))
        raise ScenarioError(f"the scenario takes {size:,} bytes as a file, and {MOST_BYTES:,} are read; import fewer")
    scenario = _UnseenFile.of_text(Path("the scenario of these people"), text)
    check_scenario(scenario, MeetingScenario if is_meeting(dict(values)) else TwoPartyScenario)
    return text


@dataclass(frozen=True)
class _UnseenFile(YamlFile):
    """A scenario that is made of people: an error names the person, for nobody has seen its lines."""

    has_lines: bool = False

    def error(self, problem: Problem) -> ScenarioError:
        """Return a problem as an error that names the person and the field."""
        location, words = problem
        if location[:1] == ("participants",) and len(location) > 2:
            match self.values["participants"][location[1]]:
                case {"name": name}:
                    return replace(self, path=Path(f"{self.path}: {name}")).error((location[2:], words))
        return super().error(problem)


def _visitor(name: str, person: ImportedPerson) -> ImportedPerson:
    """Return a visitor to talk with, that has read the beginning of the description of a person."""
    whole = str(person.values["name"])
    facts = person.values.get("background", ())
    names = person.called
    told = [fact for fact in facts if not _SECOND_PERSON.match(fact)][:_KNOWN_FACTS]
    heard = [fact if fact.startswith(names) else f"About {whole}: {fact}" for fact in told]
    return ImportedPerson({"name": name, "memories": heard} if heard else {"name": name})


def _meeting_of(names: Sequence[str]) -> str:
    if len(names) == 2:
        return f"{names[0]} and {names[1]} meet and talk."
    return f"{', '.join(names[:3])}{' and others' if len(names) > 3 else ''} sit together and talk."


def _participant(person: ImportedPerson, names: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a participant; relations to people elsewhere with nearly a participant's name are facts."""
    values = dict(person.values)
    relations: dict[str, str] = values.pop("relations", {})
    clashing = [name for name in relations if name == values["name"] or (name not in names and misspelt(name, names))]
    if clashing:
        values["background"] = [*values.get("background", ()), *(f"{name}: {relations[name]}" for name in clashing)]
    kept = {name: how for name, how in relations.items() if name not in clashing}
    return values | ({"relations": kept} if kept else {})


def after_memories(people: Sequence[ImportedPerson]) -> datetime | None:
    """Return a time later than each memory that has one; `None` if none has.

    Raises:
        ScenarioError: A person has a value that they can't have.
    """
    times = [memory.time for person in as_persons(people) for memory in person.memories if memory.time]
    return max(times) + timedelta(hours=1) if times else None
