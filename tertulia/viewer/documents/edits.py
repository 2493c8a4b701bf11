"""The changes that a fork may have besides parameters, for the viewer: people, their goals and memories, mechanisms."""

from typing import Any, get_args

from tertulia.state.album import Population, Villager
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.meeting import EMOTIONS, Attendee, LatencyClass, Meeting
from tertulia.state.records import Participant
from tertulia.storage.store import SqlStore
from tertulia.viewer.fork_changes import LONGEST_TEXT, known_mechanisms

#: The most memories of a person that are listed, the newest; any other is named on a command line.
_MEMORIES_LISTED = 200

#: How fields of people are typed: one text; one a line; goals with their plans; pairs of a name and a text.
_OF_ANYBODY = {
    **dict.fromkeys(("activity", "occupation", "character", "style", "lifestyle", "home", "setting"), "text"),
    "age": "number",
    **dict.fromkeys(("secrets", "background", "interests", "traits", "descriptions"), "lines"),
    "goals": "goals",
    "relations": "pairs",
}
_OF_ATTENDEES = {
    "emotion": "choice",
    "latency": "choice",
    "propensity": "number",
    "silence_discomfort": "number",
}
_CHOICES = {"emotion": EMOTIONS, "latency": get_args(LatencyClass)}


def edits_page(store: SqlStore, run: str) -> Document:
    """Return the participants with the fields that a fork may change, and the mechanisms of a meeting.

    A field has the value with which the run began, and `how` it is typed: `text`, `number`, `choice`, `lines` (one a
    line), `goals` (each with its plan), `pairs` (a name with a text), or `plain` (taken as it is typed).
    """
    record = store.run(run)
    start = store.start(record.run)
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "longest": LONGEST_TEXT,
        "people": [_person(start.participant(name)) for name in start.names],
        "can_say": not isinstance(start, Population),
        "can_remember": not isinstance(start, Population),
        "mechanisms": known_mechanisms(start),
        "mechanisms_on": list(start.mechanisms) if isinstance(start, Meeting) else [],
    }


def _person(person: Participant) -> Document:
    memories = person.memories[-_MEMORIES_LISTED:]
    return {
        "name": person.persona.name,
        "fields": _fields(person),
        "memories": [{"id": memory.id, "text": memory.text} for memory in reversed(memories)],
        "more_memories": len(person.memories) - len(memories),
    }


def _fields(person: Participant) -> list[Document]:
    if isinstance(person, Villager):
        return [{"name": name, "how": "plain", "value": value, "choices": []} for name, value in person.properties]
    how = {**_OF_ANYBODY, **_OF_ATTENDEES} if isinstance(person, Attendee) else _OF_ANYBODY
    fields = [
        {"name": name, "how": kind, "value": _value(person, name), "choices": list(_CHOICES.get(name, ()))}
        for name, kind in how.items()
    ]
    if isinstance(person, Attendee):
        weights = person.weights.model_dump()
        fields += [
            {"name": f"weights.{part}", "how": "number", "value": weights[part], "choices": []} for part in weights
        ]
    return fields


def _value(person: Participant, field: str) -> Any:
    """Return the value of a field under its name in scenario files."""
    if field == "traits":
        return list(person.big_five)
    if field == "goals":
        return [{"goal": goal.text, "sub_goals": list(goal.sub_goals)} for goal in person.goals]
    if field == "relations":
        return [list(pair) for pair in person.relations]
    value = getattr(person.persona if hasattr(person.persona, field) else person, field)
    return list(value) if isinstance(value, tuple) else value
