"""What is known where a line is said: what a monitor of sense reads it against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tertulia.state.album import Population
from tertulia.state.meeting import Attendee, Start
from tertulia.state.records import Participant, Prompt
from tertulia.state.store import Store

#: The latest lines that are looked at for what is said again.
LINES_SEEN = 32


@dataclass(frozen=True)
class Situation:
    """What is known where a line is said.

    Attributes:
        speaker: Who says it.
        people: The names of all who take part.
        before: The latest lines of the conversation before it as pairs of speaker and text, oldest first.
        known: By person, what they know and are: memories, character, what they do, what they want.
        place: Where they are; `None` where it is not known.
        time: When the line is said; `None` where it is not known.
        shown: What the prompt tells or shows besides what is known: instructions, and the answers of examples.
    """

    speaker: str
    people: Sequence[str]
    before: Sequence[tuple[str, str]] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    place: str | None = None
    time: datetime | None = None
    shown: tuple[str, ...] = ()


def situation_of(
    store: Store, run: str, start: Start, speaker: str, turn: int, sim_time_s: float, prompt: Prompt | None = None
) -> Situation:
    """Return what is known where a turn of a run is spoken.

    Of an album chat, where pairs meet, only what the prompt shows is known. What a town's people remember of its days
    is not read: a stream has no end.

    Args:
        prompt: The prompt of the turn before anything was removed; `None` where nobody was asked.
    """
    units = () if prompt is None else prompt.units
    shown = tuple(unit.text for unit in units if unit.kind == "text" and unit.block != "current_dialogue")
    if isinstance(start, Population):
        return Situation(speaker, start.names, shown=shown)
    people = {name: start.participant(name) for name in start.names}
    return Situation(
        speaker,
        start.names,
        before=lines_before(store, run, start, turn),
        known={name: known_to(person) for name, person in people.items()},
        place=start.place,
        time=start.time + timedelta(seconds=sim_time_s),
        shown=shown,
    )


def lines_before(store: Store, run: str, start: Start, turn: int) -> list[tuple[str, str]]:
    """Return the latest lines before a turn as pairs of speaker and text; none in an album chat, where pairs meet."""
    if start.kind == "album_chat":
        return []
    turns = store.turns(run, max(1, turn - LINES_SEEN), turn - 1) if turn > 1 else []
    return [(line.speaker, line.text) for line in turns if line.speaker is not None]


def known_to(person: Participant) -> tuple[str, ...]:
    """Return what a person knows and is, as texts: memories, character, activity; in a meeting goals and interests."""
    persona = person.persona
    texts = [memory.text for memory in person.memories]
    texts += [text for text in (persona.traits, persona.background, persona.lifestyle, persona.home) if text]
    texts += [person.activity] if person.activity else []
    if isinstance(person, Attendee):
        goals = [part for goal in person.goals for part in (goal.text, *goal.sub_goals)]
        texts += [*person.descriptions, *person.interests, *goals, *([person.setting] if person.setting else [])]
    return tuple(texts)
