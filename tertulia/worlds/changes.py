"""Change the start of a run for a fork: people, their memories, and their mechanisms.

Fields have the names, and take the values, that they have in a scenario file.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tertulia.state.album import Population, Villager
from tertulia.state.errors import NotFoundError, ScenarioError, UsageError, nearest_hint
from tertulia.state.meeting import Attendee, Meeting, Start
from tertulia.state.names import composed, is_same_name
from tertulia.state.records import Case, Memory, Participant, Persona, Stream
from tertulia.state.wrong_values import value_problem
from tertulia.worlds.meeting_file import MeetingPerson, odd_mechanisms
from tertulia.worlds.person_fields import field_named
from tertulia.worlds.pictures import checked_text
from tertulia.worlds.scenario_parts import LONG_KNOWN, ScenarioPerson, odd_person
from tertulia.worlds.yaml_file import YamlFile

#: Fields of a person that can't change in mid-run, with the reason.
_FIXED = {
    "name": "what was said until the fork was said under the old name",
    "memories": "memories come and go one by one; see remember=… and forget=…",
    "schedule": "the clock of the turns before the fork rests on who came and went",
}

#: What a change is of: a name and a field, and maybe its part.
_Place = tuple[str, ...]


def with_people(start: Start, changes: Iterable[tuple[str, str]]) -> Start:
    """Return the start of a run with fields of participants changed, each once; of villagers, with properties.

    Args:
        changes: Of each change the path and the new value in YAML. A path is `NAME.FIELD`, or `NAME.weights.PART`;
            `NAME.PROPERTY` of a villager.

    Raises:
        NotFoundError: There is no such participant.
        UsageError: There is no such field, it can't change, it is changed twice, or the value is not acceptable.
    """
    changed: dict[_Place, str] = {}
    for path, value in changes:
        start, place = _with_person(start, path, value)
        for earlier, given in changed.items():
            if all(a == b for a, b in zip(earlier, place, strict=False)):  # a part is changed with the whole too
                raise UsageError(f"{given} and {path} both change {'.'.join(place)}; keep one of the two")
        changed[place] = path
    return start


def _with_person(start: Start, path: str, value: str) -> tuple[Start, _Place]:
    name, field = _split(start, path)
    if isinstance(start, Population):
        return _with_property(start, start.participant(name), path, field, value)
    head, _, part = field.partition(".")
    kind = ScenarioPerson if isinstance(start, Case) else MeetingPerson
    head = field_named(head) or head
    if head in _FIXED:
        raise UsageError(f"{path}: {head} can't change in mid-run: {_FIXED[head]}")
    if head not in kind.model_fields or (part and head != "weights"):
        raise UsageError(f"{path}: unknown field{nearest_hint(field, set(kind.model_fields) - set(_FIXED))}")
    participant = start.participant(name)
    parsed = _parsed(path, value)
    if part:
        assert isinstance(participant, Attendee)
        parsed = {**participant.weights.model_dump(), part: parsed}
    try:
        person = kind.model_validate({"name": name, head: parsed})
    except ValidationError as error:
        raise UsageError(f"{path}={value}: {value_problem(error.errors()[0])}") from None
    for _, words in odd_person(person, start.names):
        raise UsageError(f"{path}={value}: {words}")
    (changed,) = person.model_fields_set - {"name"}  # words among traits are the character
    update = _changed_fields(person, changed, participant)
    place = (name, changed, part) if part else (name, changed)
    return _with_participant(start, participant.model_copy(update=update)), place


def _parsed(path: str, value: str) -> Any:
    """Return a value as a scenario file with it has it."""
    try:
        file = YamlFile.of_text(Path(path), value)
    except ScenarioError as error:
        remedy = "; put quotes around a text" if ": not YAML: " in str(error) else ""
        raise UsageError(f"{error}{remedy}") from None
    return None if file.root is None else file.values


def _changed_fields(person: ScenarioPerson, field: str, participant: Participant) -> dict[str, Any]:
    """Return the fields of a participant's record that the one given field of a scenario file fills."""
    if field in Persona.model_fields:
        changed = getattr(person.persona(), field)
        return {"persona": participant.persona.model_copy(update={field: changed})}
    name = "big_five" if field == "traits" else field
    return {name: person.record_fields()[name]}


def with_memory(start: Start, name: str, text: str) -> Start:
    """Return the start of a run with a memory added that a participant has had for a day."""
    participant = start.participant(_participant_name(start, name))
    if isinstance(start, Population):
        raise UsageError("a villager remembers the exchanges they had, and nothing else; leave remember=… out")
    if not text:
        raise UsageError(f"{name} is to remember nothing; give the words of the memory")
    number = 1 + sum(memory.id.startswith("added_") for memory in participant.memories)
    memory = Memory(id=f"added_{number}", kind="thought", text=text, created=start.time - LONG_KNOWN, importance=5)
    memories = sorted([*participant.memories, memory], key=lambda entry: entry.created)
    return _with_participant(start, participant.model_copy(update={"memories": tuple(memories)}))


def without_memory(
    start: Start, name: str, memory: str, remembered: Callable[[Stream], Sequence[Memory]] = lambda _: ()
) -> Start:
    """Return the start of a run without a memory of a participant.

    Args:
        remembered: Returns the memories of a stream, for a participant of a simulation.

    Raises:
        NotFoundError: They have no such memory.
    """
    participant = start.participant(_participant_name(start, name))
    kept = tuple(entry for entry in participant.memories if entry.id != memory)
    if len(kept) < len(participant.memories):
        return _with_participant(start, participant.model_copy(update={"memories": kept}))
    stream = participant.stream
    streamed = [entry.id for entry in remembered(stream)] if stream is not None else []
    if stream is None or memory not in streamed:
        hint = nearest_hint(memory, [*(entry.id for entry in participant.memories), *reversed(streamed)][:20])
        raise NotFoundError(f"{participant.persona.name} has no memory {memory!r}{hint}")
    stream = stream.model_copy(update={"without": (*stream.without, memory)})
    return _with_participant(start, participant.model_copy(update={"stream": stream}))


def with_mechanisms(start: Start, names: Sequence[str], available: Sequence[str]) -> Start:
    """Return a meeting with these mechanisms.

    Raises:
        UsageError: It is no meeting, or a mechanism is unknown or stands twice.
    """
    if not isinstance(start, Meeting):
        kind = "an album chat" if isinstance(start, Population) else "a dialogue of two"
        raise UsageError(f"{kind} has no mechanisms; leave --mechanisms out")
    for _, words in odd_mechanisms(names, available):
        raise UsageError(words)
    return start.model_copy(update={"mechanisms": tuple(names)})


def _with_participant(start: Start, changed: Participant) -> Start:
    name = changed.persona.name
    if isinstance(start, Case):
        role = "initiator" if start.initiator.persona.name == name else "partner"
        return start.model_copy(update={role: changed})
    if isinstance(start, Population):  # made anew, as a copy would keep its look-ups
        fields = {field: getattr(start, field) for field in Population.model_fields}
        return Population(**fields | {"villagers": tuple(_replaced(start.villagers, changed))})
    return start.model_copy(update={"participants": tuple(_replaced(start.participants, changed))})


def _replaced(people: Sequence[Participant], changed: Participant) -> list[Participant]:
    return [changed if person.persona.name == changed.persona.name else person for person in people]


def _with_property(start: Population, villager: Villager, path: str, property: str, value: str) -> tuple[Start, _Place]:
    known = {name.casefold(): name for name, _ in villager.properties}
    changed = known.get(property.casefold())
    if changed is None:
        raise UsageError(f"{path}: unknown property{nearest_hint(property, known.values())}")
    try:
        text = checked_text(value)
    except ValueError as error:
        raise UsageError(f"{path}={value}: {error}") from None
    properties = tuple((name, text if name == changed else kept) for name, kept in villager.properties)
    changed_villager = villager.model_copy(update={"properties": properties})
    return _with_participant(start, changed_villager), (villager.persona.name, changed)


def _split(start: Start, path: str) -> tuple[str, str]:
    for name in sorted(start.names, key=len, reverse=True):
        if is_same_name(f"{name}.", composed(path)[: len(composed(name)) + 1]):
            return name, composed(path)[len(composed(name)) + 1 :]
    name, dot, field = path.rpartition(".")
    if not dot:
        raise UsageError(f"{path!r}: write NAME.FIELD=VALUE, for example {start.names[0]!r} and a field of theirs")
    return _participant_name(start, name), field


def _participant_name(start: Start, typed: str) -> str:
    for name in start.names:
        if is_same_name(name, typed):
            return name
    raise NotFoundError(_no_participant(typed, start))


def _no_participant(name: str, start: Start) -> str:
    return f"nobody named {name!r} takes part{nearest_hint(name, start.names)}"
