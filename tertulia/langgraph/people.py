"""From the people that a user gives to the start of a conversation: names, mappings, or objects with such fields."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from tertulia.langgraph.errors import PeopleError
from tertulia.state.album import Picture, Population, Villager
from tertulia.state.errors import nearest_hint
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.names import composed
from tertulia.state.records import HOSTED_SCENARIO, Case, Participant, Persona
from tertulia.state.wrong_values import value_problem
from tertulia.worlds.meeting_file import MeetingPerson
from tertulia.worlds.person_fields import properties_of

#: When conversations take place that have no time of their own.
TIME = datetime(2026, 5, 6, 15)

#: The field of a person's pictures, beside the facts about them.
_ALBUM = "album"

#: The property by which everybody knows the purpose of their meeting.
_TOPIC = "wants to talk about"


def read_people(people: Iterable[Any]) -> tuple[dict[str, Any], ...]:
    """Return the fields of people: each is a name, a mapping, or an object such as `tertulia.Person`.

    Raises:
        PeopleError: No people are given, one has no name, or two have the same.
    """
    if isinstance(people, str | Mapping) or not isinstance(people, Iterable):
        raise PeopleError(
            f"people={people!r:.60}: takes a list of people, such as [{{'name': 'Ana', 'traits': 'dry'}}]"
        )
    found = tuple(_fields(person) for person in people)
    if not found:
        raise PeopleError("people=[]: nobody is given; give at least one, such as {'name': 'Ana'}")
    for number, fields in enumerate(found, start=1):
        if not isinstance(name := fields.get("name"), str) or not name.strip():
            raise PeopleError(f"person {number} has no name ({fields!r:.60}); give name=…")
        fields["name"] = composed(name.strip())
    names = [fields["name"] for fields in found]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise PeopleError(f"two people are called {name!r}; give them names that differ")
    return found


def _fields(person: Any) -> dict[str, Any]:
    if isinstance(person, str):
        return {"name": person}
    if isinstance(person, Mapping):
        return dict(person)
    if hasattr(person, "in_file"):  # as a scenario file has them
        return dict(person.in_file())
    if hasattr(person, "persona"):  # a record of a scenario
        return _of_record(person)
    if hasattr(person, "model_dump"):
        return dict(person.model_dump(exclude_defaults=True))
    raise PeopleError(f"a person is a name, a mapping or a Person, not {person!r:.60}")


def _of_record(person: Participant) -> dict[str, Any]:
    known = person.model_dump(include=set(Participant.model_fields) - {"persona", "memories", "stream"})
    fields = {**person.persona.model_dump(), **known, "traits": known.get("big_five"), "big_five": None}
    fields["goals"] = [{"goal": goal.text, "sub_goals": goal.sub_goals} for goal in person.goals]
    fields["relations"] = dict(person.relations)
    fields["memories"] = [
        {"text": memory.text, "time": str(memory.created), "importance": memory.importance, "kind": memory.kind}
        | ({"keys": memory.keys} if memory.keys else {})
        for memory in person.memories
    ]
    return {name: value for name, value in fields.items() if value not in (None, (), [], {})}


def start_of(
    people: Sequence[Mapping[str, Any]],
    guests: Sequence[str],
    topic: str | None,
    place: str | None = None,
    mechanisms: Sequence[str] = (),
    is_meeting: bool = False,
) -> Case | Meeting:
    """Return the start of a conversation of people: a dialogue of two, or a meeting of more.

    Args:
        guests: Names of the other speakers; nothing else is known of them.
        topic: Its subject, as everybody knows it.
        is_meeting: Whether two are a meeting, too.

    Raises:
        PeopleError: A field of a person is not acceptable, or one would talk alone.
    """
    attendees = [_attendee(fields) for fields in (*people, *map(_guest, guests))]
    if len(attendees) < 2:
        name = attendees[0].persona.name
        way_on = "" if is_meeting else ", or a message of somebody else"
        raise PeopleError(f"{name} would talk alone; give two people at least{way_on}")
    if len(attendees) == 2 and not is_meeting:
        initiator, partner = (
            Participant(**{field: getattr(attendee, field) for field in Participant.model_fields})
            for attendee in attendees
        )
        return Case(
            scenario=HOSTED_SCENARIO,
            time=TIME,
            place=place,
            description=topic or None,
            initiator=initiator,
            partner=partner,
        )
    names = [attendee.persona.name for attendee in attendees]
    return Meeting(
        scenario=HOSTED_SCENARIO,
        title=topic or "a conversation",
        description=f"{', '.join(names[:-1])} and {names[-1]} talk.",
        time=TIME,
        place=place,
        participants=tuple(attendees),
        mechanisms=tuple(mechanisms),
    )


def _guest(name: str) -> dict[str, Any]:
    """Return a person with only a name; the description keeps models from making up more."""
    return {"name": name, "descriptions": [f"{name} is a guest in this conversation."]}


def check_people(people: Sequence[Mapping[str, Any]]) -> None:
    """Raise `PeopleError` if a field of a person is not acceptable."""
    for fields in people:
        _attendee(fields)


def _attendee(given: Mapping[str, Any]) -> Attendee:
    """Return a person as a meeting has them."""
    try:
        person = MeetingPerson.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        hint = nearest_hint(at, MeetingPerson.model_fields) if first["type"] == "extra_forbidden" else ""
        words = "unknown field" if first["type"] == "extra_forbidden" else value_problem(first)
        raise PeopleError(f"{given['name']}: {at}={first['input']!r:.60}: {words}{hint}") from None
    return Attendee(persona=person.persona(), memories=person.remembered(TIME), **person.record_fields())


# --- albums ---------------------------------------------------------------------------------------------------------


def population_of(people: Sequence[Mapping[str, Any]], topic: str | None, place: str | None = None) -> Population:
    """Return the people that may meet in an exchange: each with an `album` of captions; other fields are properties.

    Raises:
        PeopleError: There are fewer than two, or one has no album.
    """
    if len(people) < 2:
        raise PeopleError("an exchange takes two people at least, each with an album")
    pictures: dict[str, Picture] = {}
    villagers = []
    for fields in people:
        album = fields.get(_ALBUM)
        if not album or isinstance(album, str):
            raise PeopleError(f"{fields['name']} has no album; give album=['a red boat', …], the captions of pictures")
        owned = [_picture(entry, fields["name"]) for entry in album]
        pictures.update((picture.id, picture) for picture in owned)
        known = {name: value for name, value in fields.items() if name not in ("name", _ALBUM)}
        properties = properties_of(known | ({_TOPIC: topic} if topic else {}))
        villager = Villager(
            persona=Persona(name=fields["name"]),
            properties=properties,
            album=tuple(dict.fromkeys(picture.id for picture in owned)),
        )
        villagers.append(villager)
    return Population(
        scenario=HOSTED_SCENARIO,
        title=topic or "an exchange of pictures",
        time=TIME,
        place=place,
        villagers=tuple(villagers),
        pictures=tuple(pictures.values()),
    )


def _picture(entry: Any, name: str) -> Picture:
    fields = {"caption": entry} if isinstance(entry, str) else entry
    try:
        caption, variant = fields["caption"], fields.get("variant")
        return Picture(id=caption if variant is None else f"{caption}: {variant}", caption=caption, variant=variant)
    except (KeyError, TypeError, AttributeError, ValidationError):
        raise PeopleError(f"{name}: album: {entry!r:.60} is no caption, nor {{'caption': …, 'variant': …}}") from None
