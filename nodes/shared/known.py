"""The knowledge of a person, as texts."""

from tertulia.state.meeting import Attendee
from tertulia.state.records import Participant


def known_to(person: Participant) -> tuple[str, ...]:
    """Return a person's knowledge as texts: memories, character, activity; in a meeting goals and interests."""
    persona = person.persona
    texts = [memory.text for memory in person.memories]
    texts += [text for text in (persona.traits, persona.background, persona.lifestyle, persona.home) if text]
    texts += [person.activity] if person.activity else []
    if isinstance(person, Attendee):
        goals = [part for goal in person.goals for part in (goal.text, *goal.sub_goals)]
        texts += [*person.descriptions, *person.interests, *goals, *([person.setting] if person.setting else [])]
    return tuple(texts)
