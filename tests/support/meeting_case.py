"""Four people at a quay: a small hand-made meeting, and what a test does with it."""

from datetime import datetime, timedelta
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from support.dialogue_case import a_context, many_memories
from support.scripted import ScriptedModel

from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.runs.driving.conversation import drive
from tertulia.state.context import Context
from tertulia.state.meeting import Attendee, Meeting, WillingnessWeights
from tertulia.state.person import Goal
from tertulia.state.records import Persona, Turn, Utterance
from tertulia.storage.store import SqlStore

NOW = datetime(2026, 5, 6, 15, 0)


def at(minutes: float) -> datetime:
    """A moment of the meeting."""
    return NOW + timedelta(minutes=minutes)


def an_attendee(name: str, **changes: Any) -> Attendee:
    known: dict[str, Any] = {
        "persona": Persona(name=name, background=(f"{name} keeps a boat at the quay.",)),
        "memories": many_memories(name, 6),
        "big_five": ("extroverted", "agreeable", "conscientious", "emotionally stable", "open"),
        "descriptions": (f"{name} speaks of boats before anything else.",),
    }
    return Attendee(**{**known, **changes})


def a_quay(**changes: Any) -> Meeting:
    """The meeting: Ana has a plan, Bo is slow, Cy hates silence, Dee keeps quiet."""
    known: dict[str, Any] = {
        "scenario": "quay",
        "title": "The quay",
        "description": "Four boat owners talk about the broken crane at the quay.",
        "time": NOW,
        "place": "the harbour office",
        "opening": Utterance(speaker="Ana", text="The crane has to be mended before summer."),
        "participants": (
            an_attendee(
                "Ana",
                goals=(Goal(text="get the crane mended", sub_goals=("find the money", "agree on a day")),),
                weights=WillingnessWeights(topic=0.3, goal=0.5, emotion=0.3, personality=0.3),
                interests=("the crane", "the summer fair"),
            ),
            an_attendee("Bo", latency=(4.0, 2.0), relations=(("Ana", "owes her a favour"),)),
            an_attendee("Cy", latency="proactive", silence_discomfort=1.0),
            an_attendee("Dee", latency="cautious", propensity=0.1, setting="has a cold"),
        ),
        "mechanisms": tuple(MECHANISMS),
    }
    return Meeting(**{**known, **changes})


def eager(**changes: Any) -> dict[str, Any]:
    """Return what makes somebody always want to speak, with these changes."""
    weights = WillingnessWeights(topic=1, goal=1, emotion=1, personality=1)
    return {"weights": weights, "propensity": 1.0, **changes}


def with_people(*people: Attendee, **changes: Any) -> Meeting:
    """Return the meeting with these people, which nobody opens."""
    return a_quay(participants=people, opening=None, **changes)


def a_meeting_of(count: int, **changes: Any) -> Meeting:
    return with_people(*(an_attendee(f"Person {number}") for number in range(1, count + 1)), **changes)


async def held(
    meeting: Meeting | None = None,
    model: ScriptedModel | None = None,
    store: SqlStore | None = None,
    **settings: Any,
) -> tuple[Context, list[Turn]]:
    """Run a meeting to its end, and return its context and its turns; by default five rounds at λ = 0."""
    settings = {"max_turns": 5, "removal_factor": 0, **settings}
    context = a_context(model, store, meeting or a_quay(), **settings)
    await drive(context, InMemorySaver())
    return context, context.store.turns(context.run)
