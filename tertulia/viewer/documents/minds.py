"""The minds of a meeting for the viewer: how it opened, and one agent in the whole run."""

from tertulia.state.cognition import Assessment, Bid, InformationNeed, Perception
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.state.seat import Answer
from tertulia.storage.store import SqlStore
from tertulia.views.reading.documents import fields_of, opening_document, turn_rows
from tertulia.views.reading.rounds import active_mechanisms, find_agent


def opening_page(store: SqlStore, run: str) -> Document:
    """Return the opening of a meeting and its characters, or raise `UsageError` for another run."""
    record = store.run(run)
    start = store.start(record.run)
    if not isinstance(start, Meeting):
        raise UsageError(f"run {record.run} is no meeting")
    return opening_document(store, record, start) | {"people": [_person(start, name) for name in start.names]}


def _person(meeting: Meeting, name: str) -> Document:
    """Return the scenario's description of a participant."""
    attendee = meeting.participant(name)
    persona = attendee.persona
    return {
        "agent": name,
        **persona.model_dump(mode="json", exclude={"name", "character", "background"}),
        "traits": persona.character or ", ".join(attendee.big_five) or None,
        "background": persona.known_background,
        "setting": attendee.setting,
        "goals": [goal.text for goal in attendee.goals],
        "interests": list(attendee.interests),
        "relations": [{"agent": other, "relation": relation} for other, relation in attendee.relations],
        "model": attendee.model,
    }


def agent_page(store: SqlStore, run: str, agent: str) -> Document:
    """Return the turns of an agent in a run and, in a meeting, their mind in short, round by round.

    The reasons are in the document of each turn.
    """
    record = store.run(run)
    start = store.start(record.run)
    name = find_agent(agent, start, record.run)
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "agent": name,
        "turns": _turns_of(store, record, start, name),
        "threshold": Parameters.model_validate(record.parameters).willingness_threshold,
        "mechanisms": list(start.mechanisms) if isinstance(start, Meeting) else [],
        "weights": start.participant(name).weights.model_dump() if isinstance(start, Meeting) else None,
        "cognition": _cognition(store, record.run, name) if isinstance(start, Meeting) else [],
    }


def _turns_of(store: SqlStore, run: RunRecord, start: Start, agent: str) -> list[Document]:
    """Return the turns of an agent; in an album chat those in which they asked or answered."""
    rows = turn_rows(store, run, start)
    return [row for row in rows if agent in (row["speaker"], row.get("exchange", {}).get("answerer"))]


def _cognition(store: SqlStore, run: str, agent: str) -> list[Document]:
    """Return an agent's mind in every round in which they were present; unrecorded parts are null."""
    needs = store.steps(run, "choose_mechanisms", InformationNeed, agent=agent)
    assessments = store.steps(run, "assess", Assessment, agent=agent)
    bids = store.steps(run, "bid", Bid, agent=agent)
    typed = store.steps(run, "speak_by_hand", Answer, agent=agent)
    return [
        {
            "round": key[0],
            "noticed": perception.noticed,
            "relevance": perception.relevance,
            **fields_of(assessments.get(key), "thought", "emotion", "emotion_strength"),
            "mechanisms": active_mechanisms(needs[key]) if key in needs else None,
            "parts": bid.parts.model_dump() if (bid := bids.get(key)) and bid.parts else None,
            **fields_of(bid, "willingness", "willing", "latency_s", "won"),
            "typed": typed[key].words if key in typed else None,
        }
        for key, perception in store.steps(run, "perceive", Perception, agent=agent).items()
    ]
