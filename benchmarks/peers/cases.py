"""The conversations, told as any system can be told them."""

from pathlib import Path

from benchmarks.peers.drivers.conversation import Conversation, Person
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.records import Case, Participant
from tertulia.worlds.catalog import resolve

#: A meeting of five, and a dialogue of two.
MEETING, DIALOGUE = "team_building", "tidewell:0"

#: Memories that everybody brings along, the most important ones; Tertulia itself looks among all.
MEMORIES = 12


def conversation(scenario: str, turns: int, address: str, model: str, folder: Path) -> Conversation:
    """Return a shipped meeting or dialogue in words."""
    start = resolve(scenario)
    if isinstance(start, Meeting):
        people: tuple[Participant, ...] = start.participants
        opening = (start.opening.speaker, start.opening.text) if start.opening else None
        situation = f"{start.title}. {start.description}"
    else:
        assert isinstance(start, Case)
        people, opening = (start.initiator, start.partner), None
        situation = f"{people[0].persona.name} has met {people[1].persona.name} and begins to talk."
    return Conversation(
        scenario=scenario,
        situation=f"{situation} It is {start.time:%A %d %B %Y, %H:%M}, at {start.place}.",
        people=tuple(map(person, people)),
        opening=opening,
        turns=turns,
        address=address,
        model=model,
        folder=str(folder),
    )


def person(participant: Participant) -> Person:
    """Return what is known of a participant."""
    persona, goal = participant.persona, "to have a good talk"
    facts: list[str | None] = [*persona.background, f"{persona.name} is {persona.age}, {persona.character}."]
    if isinstance(participant, Attendee):
        facts += [participant.setting, *participant.descriptions]
        goal = "; ".join(goal.text for goal in participant.goals) or goal
    if participant.activity:
        facts.append(f"Right now: {participant.activity}.")
    memories = sorted(participant.memories, key=lambda memory: (-memory.importance, memory.created))[:MEMORIES]
    return Person(
        name=persona.name,
        summary=persona.known_background or persona.name,
        persona=" ".join(" ".join(fact.split()) for fact in facts if fact),
        goal=goal,
        memories=tuple(memory.text for memory in memories),
    )
