"""What came of a stored run for its people, by the rules of `tertulia/metrics/outcomes.py`."""

from collections.abc import Iterator, Mapping, Sequence

from tertulia.metrics.outcome_records import Outcomes, PersonInScene, PersonOutcome, SaidLine
from tertulia.metrics.outcomes import outcomes
from tertulia.nodes.meeting.address import address_of
from tertulia.nodes.shared.sense import faults_of
from tertulia.nodes.shared.situation import situation_of
from tertulia.state.album import Population
from tertulia.state.cognition import Perception
from tertulia.state.language_model import Embedder
from tertulia.state.languages import DEFAULT
from tertulia.state.meeting import Attendee, Meeting, Start
from tertulia.state.records import Case, Participant, RunRecord, Turn
from tertulia.state.store import Store
from tertulia.views.reading.exchanges import check_is_no_album_chat

#: The latest memories of a resident of a town that are looked at.
_REMEMBERED = 300


def read_outcomes(store: Store, run: RunRecord, start: Start, embedder: Embedder) -> Outcomes:
    """Return what came of a run for everybody; of a run in another language than English only believability.

    Raises:
        UsageError: It is an album chat.
    """
    check_is_no_album_chat(run, "outcomes")
    assert not isinstance(start, Population)
    turns = [turn for turn in store.turns(run.run) if turn.speaker is not None]
    found = outcomes(_people(store, start), _lines(store, run.run, start, turns), about_of(start), embedder)
    if reads(run):
        return found
    return Outcomes(people=tuple(map(_only_believability, found.people)), pairs=(), meeting=None)


def reads(run: RunRecord) -> bool:
    """Return whether the rules can read a run: they know the words of English."""
    return run.parameters.get("language", DEFAULT) == DEFAULT


def about_of(start: Start) -> str | None:
    """Return what a conversation is to settle: a meeting's description; `None` for a dialogue."""
    return start.description if isinstance(start, Meeting) else None


def goals_of(participant: Participant) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return a participant's goals, each with its steps, as the scenario has them; those of a dialogue have none."""
    return tuple((goal.text, goal.sub_goals) for goal in participant.goals) if isinstance(participant, Attendee) else ()


def _people(store: Store, start: Case | Meeting) -> list[PersonInScene]:
    people = map(start.participant, start.names)
    return [
        PersonInScene(
            agent=person.persona.name,
            goals=goals_of(person),
            secret=person.secret,
            known=tuple(dict.fromkeys(filter(None, _known(store, start, person)))),
        )
        for person in people
    ]


def _known(store: Store, start: Case | Meeting, person: Participant) -> Iterator[str | None]:
    """Yield what a person knows before anybody has spoken."""
    persona = person.persona
    yield from (persona.background, persona.lifestyle, persona.home, person.activity, person.secret)
    yield from (memory.text for memory in person.memories)
    if person.stream is not None:
        yield from (memory.text for memory in store.remembered(person.stream)[-_REMEMBERED:])
    yield from (start.description, start.place)
    if isinstance(start, Case):
        yield from (line.text for dialogue in start.previous_dialogues for line in dialogue.utterances)
    elif isinstance(person, Attendee):
        yield start.opening.text if start.opening else None
        yield from (person.setting, person.leaves_for, *(text for _, text in person.relations))


def _lines(store: Store, run: str, start: Case | Meeting, turns: Sequence[Turn]) -> list[SaidLine]:
    perceived = store.steps(run, "perceive", Perception) if isinstance(start, Meeting) else {}
    missed = {(of.turn, agent) for (_, agent), of in perceived.items() if not of.noticed and of.turn is not None}
    lines = []
    for turn in turns:
        assert turn.speaker is not None
        present = start.present(turn.sim_time_s) if isinstance(start, Meeting) else start.names
        others = tuple(name for name in present if name != turn.speaker)
        situation = situation_of(store, run, start, turn.speaker, turn.turn, turn.sim_time_s)
        lines.append(
            SaidLine(
                turn=turn.turn,
                speaker=turn.speaker,
                text=turn.text,
                to=_addressed(turn, others, [speaker for speaker, _ in situation.before]),
                heard_by=tuple(name for name in others if (turn.turn, name) not in missed),
                faulty=bool(faults_of(turn.text, situation)),
            )
        )
    return lines


def _addressed(turn: Turn, others: Sequence[str], speakers: Sequence[str]) -> tuple[str, ...]:
    """Return to whom a line is said: those whom it asks or names, else who spoke last, else all who are there."""
    address = address_of(turn, others)
    named = tuple(name for name in others if name in {*address.asked, *address.named})
    latest = next((name for name in reversed(speakers) if name in others), None)
    return named or ((latest,) if latest else tuple(others))


def _only_believability(person: PersonOutcome) -> PersonOutcome:
    return PersonOutcome(
        agent=person.agent,
        lines=person.lines,
        goal=None,
        relationship=None,
        secret=None,
        knowledge=None,
        believability=person.believability,
    )


def scores_of(person: PersonOutcome) -> Mapping[str, float | None]:
    """Return a person's scores by dimension."""
    return {name: getattr(person, name) for name in ("goal", "relationship", "secret", "knowledge", "believability")}
