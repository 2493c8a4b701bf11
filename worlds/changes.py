"""What a fork may change of what its parent started from: people, what they remember, and their mechanisms.

Fields have the names, and take the values, that they have in a scenario file.
"""

from collections.abc import Callable, Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from state.errors import NotFoundError, UsageError, nearest_hint
from state.meeting import Attendee, Meeting, Start
from state.records import Case, Memory, Participant, Persona, Stream
from worlds.meeting_file import MeetingPerson
from worlds.scenario_file import DialoguePerson
from worlds.scenario_parts import LONG_KNOWN

#: Fields of a person that can't change in mid-run, and why.
_FIXED = {
    "name": "what was said until the fork was said under the old name",
    "memories": "memories come and go one by one; see --remember and --forget",
    "schedule": "the clock of the turns before the fork rests on who came and went",
}

#: Fields of a meeting's person that have another name, or form, in the record.
_IN_THE_RECORD: dict[str, Callable[[MeetingPerson], dict[str, Any]]] = {
    "traits": lambda person: {"big_five": person.traits},
    "goals": lambda person: {"goals": tuple(goal.record() for goal in person.goals)},
    "relations": lambda person: {"relations": tuple(person.relations.items())},
}


def with_person(start: Start, path: str, value: str) -> Start:
    """Return what a run starts from with one field of somebody changed.

    Args:
        start: What it starts from.
        path: `NAME.FIELD`, or `NAME.weights.PART`.
        value: The new value, in YAML.

    Raises:
        NotFoundError: Nobody is called so.
        UsageError: There is no such field, it can't change, or the value is not acceptable.
    """
    name, field = _split(start, path)
    head, _, part = field.partition(".")
    kind = DialoguePerson if isinstance(start, Case) else MeetingPerson
    if head in _FIXED:
        raise UsageError(f"{path}: {head} can't change in mid-run: {_FIXED[head]}")
    if head not in kind.model_fields or (part and head != "weights"):
        raise UsageError(f"{path}: unknown field{nearest_hint(field, set(kind.model_fields) - set(_FIXED))}")
    one = start.participant(name)
    read = _read(path, value)
    if part:
        assert isinstance(one, Attendee)
        read = {**one.weights.model_dump(), part: read}
    needed = {"memories": ["needed in a file"]} if isinstance(start, Case) else {}
    try:
        person = kind.model_validate({"name": name, head: read, **needed})
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UsageError(f"{path}={value}: {problem}") from None
    if isinstance(person, MeetingPerson) and (strangers := set(person.relations) - set(start.names)):
        raise UsageError(
            f"{path}: nobody named {min(strangers)!r} takes part{nearest_hint(min(strangers), start.names)}"
        )
    return _with_participant(start, one.model_copy(update=_changed_fields(person, head, one)))


def _changed_fields(person: MeetingPerson | DialoguePerson, field: str, one: Participant) -> dict[str, Any]:
    """Return the fields of a participant's record that one field of a scenario file fills.

    Args:
        person: As the file would have them.
        field: The field of the file.
        one: As they are.
    """
    told = getattr(person, field)
    if isinstance(person, MeetingPerson) and field == "traits":
        told = ", ".join(person.traits) or None
    changes: dict[str, Any] = {}
    if field in Persona.model_fields or field == "character":
        changes["persona"] = one.persona.model_copy(update={"traits" if field == "character" else field: told})
    if isinstance(person, MeetingPerson) and field in _IN_THE_RECORD:
        changes |= _IN_THE_RECORD[field](person)
    elif field in type(one).model_fields:
        changes[field] = told
    return changes


def with_memory(start: Start, name: str, text: str) -> Start:
    """Return what a run starts from with one thing more that somebody has known for a day."""
    one = start.participant(_known(start, name))
    if not text:
        raise UsageError(f"--remember {name}=: says nothing to remember")
    number = 1 + sum(memory.id.startswith("added_") for memory in one.memories)
    memory = Memory(id=f"added_{number}", kind="thought", text=text, created=start.time - LONG_KNOWN, importance=5)
    memories = sorted([*one.memories, memory], key=lambda known: known.created)
    return _with_participant(start, one.model_copy(update={"memories": tuple(memories)}))


def without_memory(
    start: Start, name: str, memory: str, remembered: Callable[[Stream], Sequence[Memory]] = lambda _: ()
) -> Start:
    """Return what a run starts from without one memory of somebody's, by its id.

    Args:
        start: What it starts from.
        name: Whose memory.
        memory: Its id.
        remembered: Returns the memories of a stream, for somebody in a simulation.

    Raises:
        NotFoundError: They have no such memory.
    """
    one = start.participant(_known(start, name))
    kept = tuple(known for known in one.memories if known.id != memory)
    if len(kept) < len(one.memories):
        return _with_participant(start, one.model_copy(update={"memories": kept}))
    streamed = [known.id for known in remembered(one.stream)] if one.stream is not None else []
    if one.stream is None or memory not in streamed:
        hint = nearest_hint(memory, [*(known.id for known in one.memories), *reversed(streamed)][:20])
        raise NotFoundError(f"{one.persona.name} has no memory {memory!r}{hint}")
    stream = one.stream.model_copy(update={"without": (*one.stream.without, memory)})
    return _with_participant(start, one.model_copy(update={"stream": stream}))


def with_mechanisms(start: Start, names: Sequence[str], known: Sequence[str]) -> Start:
    """Return a meeting whose people may switch on these mechanisms.

    Raises:
        UsageError: It is a dialogue, or there is no such mechanism.
    """
    if not isinstance(start, Meeting):
        raise UsageError("a dialogue of two has no mechanisms; leave --mechanisms out")
    for name in names:
        if name not in known:
            raise UsageError(f"unknown mechanism {name!r}{nearest_hint(name, known)}")
    return start.model_copy(update={"mechanisms": tuple(dict.fromkeys(names))})


def _with_participant(start: Start, one: Participant) -> Start:
    if isinstance(start, Case):
        place = "initiator" if start.initiator.persona.name == one.persona.name else "partner"
        return start.model_copy(update={place: one})
    people = tuple(one if other.persona.name == one.persona.name else other for other in start.participants)
    return start.model_copy(update={"participants": people})


def _split(start: Start, path: str) -> tuple[str, str]:
    """Return the name and the field of a path; a name may have dots of its own."""
    for name in sorted(start.names, key=len, reverse=True):
        if path.casefold().startswith(f"{name}.".casefold()):
            return name, path[len(name) + 1 :]
    name, dot, field = path.rpartition(".")
    if not dot:
        raise UsageError(f"{path!r}: write NAME.FIELD=VALUE, for example {start.names[0]!r} and a field of theirs")
    return _known(start, name), field


def _known(start: Start, given: str) -> str:
    for name in start.names:
        if name.casefold() == given.casefold():
            return name
    raise NotFoundError(f"nobody named {given!r} takes part{nearest_hint(given, start.names)}")


def _read(path: str, value: str) -> Any:
    try:
        return yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError):
        raise UsageError(f"{path}={value}: not YAML; put quotes around it") from None
