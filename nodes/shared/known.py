"""The knowledge of a person, as texts."""

from tertulia.state.records import Participant


def known_to(person: Participant) -> tuple[str, ...]:
    """Return a person's knowledge as texts: memories, character, activity, goals, interests, relations, secrets."""
    persona = person.persona
    texts = [memory.text for memory in person.memories]
    own = (persona.occupation, persona.character, *persona.background, persona.lifestyle, persona.home, person.activity)
    goals = [part for goal in person.goals for part in (goal.text, *goal.sub_goals)]
    relations = [text for _, text in person.relations]
    texts += [text for text in own if text]
    texts += [*person.descriptions, *person.interests, *goals, *([person.setting] if person.setting else [])]
    return (*texts, *relations, *person.secrets)
