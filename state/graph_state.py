"""What the graphs carry from node to node: ids and numbers only. Texts live in the store, by content hash or by key."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from typing_extensions import TypedDict

from state.meeting import Meeting, Start

#: How strongly an agent feels at the beginning of a meeting, in [0, 1].
_FIRST_EMOTION_STRENGTH = 0.3


class UtteranceInput(TypedDict, total=False):
    """What one utterance needs to know of the conversation.

    Attributes:
        round: The round, from 1.
        turn: The number that the utterance will have, from 1.
        speaker: Whose utterance it is.
        present: Who is there, in the scenario's order.
        sim_time_s: Simulated seconds since the conversation began.
    """

    round: int
    turn: int
    speaker: str
    present: list[str]
    sim_time_s: float


class UtteranceOutcome(TypedDict, total=False):
    """How an utterance came about.

    Attributes:
        scores: Attention score by unit id; `None` where nothing was scored.
        removed: Ids of the units that were removed, texts of emptied blocks included.
        chosen: Attempt number of the candidate that is said.
        rollbacks: How many backups were taken (what was rewritten is not counted).
        ended: Whether the utterance ends the conversation.
        scored_by, judged_by: Who did it; `None` where nobody did.
    """

    scores: dict[str, float] | None
    removed: list[str]
    chosen: int
    rollbacks: int
    ended: bool
    scored_by: str | None
    judged_by: str | None


class UtteranceOutput(UtteranceOutcome, total=False):
    """What one utterance gives the conversation.

    Attributes:
        prompt: Content hash of the full prompt.
    """

    prompt: str


def untouched_outcome() -> UtteranceOutcome:
    """Return the outcome of an utterance whose prompt was not scored, pruned or judged: every one begins so."""
    return {"scores": None, "scored_by": None, "removed": [], "judged_by": None}


class UtteranceState(UtteranceInput, UtteranceOutput, total=False):
    """The state of the utterance graph.

    Attributes:
        attempt: The candidate at hand: 0 for the first, then its backups; behind those what was rewritten.
        set_aside: The candidates that were at hand before, in order.
        inconsistency: The judge's figure for each candidate that was at hand, in order.
        conflict: Whether the candidate at hand conflicts and may still be revised.
        rewritable: Whether the candidate at hand is to be rewritten, and not rolled back.
    """

    attempt: int
    set_aside: list[int]
    inconsistency: list[float]
    conflict: bool
    rewritable: bool


class DialogueState(UtteranceInput, UtteranceOutcome, total=False):
    """The state of the dialogue graph: where the conversation stands, and the last utterance.

    Attributes:
        prompt: Content hash of the full prompt; `None` where a person said it.
        finished: Whether the conversation is over.
    """

    prompt: str | None
    finished: bool


# --- group chat -----------------------------------------------------------------------------------------------------


class Mind(TypedDict):
    """What an agent carries from round to round.

    Attributes:
        emotion: What they feel, one of `EMOTIONS`.
        emotion_strength: How strongly, in [0, 1].
        spoke: The round in which they last spoke; 0: not yet.
        spoken: How often they spoke.
        unheard: For how many rounds in a row they were willing and not heard.
        used: By mechanism, the round in which it was last used, and how often it was.
        noticed: The last turns that entered working memory, oldest first; 0 is how the meeting opened.
    """

    emotion: str
    emotion_strength: float
    spoke: int
    spoken: int
    unheard: int
    used: dict[str, list[int]]
    noticed: list[int]


class OpenBid(TypedDict):
    """What an agent brings to the competition for the floor.

    Attributes:
        topic, goal, emotion, personality: The parts of willingness, before any silence of this round.
        similarity: S̄ of the new thought.
        similarity_max: S_max of the new thought; `None` without an earlier one.
    """

    topic: float
    goal: float
    emotion: float
    personality: float
    similarity: float
    similarity_max: float | None


V = TypeVar("V")


def by_agent(old: dict[str, V], new: dict[str, V]) -> dict[str, V]:
    """Merge what agents who think side by side write under their own names."""
    return {**old, **new}


Minds = Annotated[dict[str, Mind], by_agent]
Bids = Annotated[dict[str, OpenBid], by_agent]


class CognitionInput(TypedDict, total=False):
    """What an agent's cognition gets of the round.

    Attributes:
        round: The round, from 1; 0 before the meeting.
        agent: Whose cognition it is.
        present: Who is there, in the scenario's order.
        sim_time_s: Simulated seconds since the meeting began.
        silence_s: Seconds since the last word, when the round began.
        spoken: How often everybody spoke.
        mind: What the agent carries from round to round.
    """

    round: int
    agent: str
    present: list[str]
    sim_time_s: float
    silence_s: float
    spoken: dict[str, int]
    mind: Mind


class CognitionOutput(TypedDict, total=False):
    """What an agent's cognition comes to."""

    minds: Minds
    bids: Bids


class CognitionState(CognitionInput, CognitionOutput, total=False):
    """The state of the cognition graph.

    Attributes:
        active: The mechanisms that the agent has switched on.
    """

    active: list[str]


class GroupState(UtteranceInput, UtteranceOutcome, total=False):
    """The state of the group chat: where the meeting stands, everybody's mind, and the last utterance.

    Attributes:
        speaker: Who has the floor; empty in a silence.
        prompt: Content hash of the full prompt; `None` where a person said it.
        unprepared: Who has yet to be prepared, before the next round begins.
        silence_s: Seconds since the last word.
        finished: Whether the meeting is over.
        minds: By agent.
        bids: By agent.
    """

    prompt: str | None
    silence_s: float
    finished: bool
    unprepared: list[str]
    minds: Minds
    bids: Bids


# --- days of a town -------------------------------------------------------------------------------------------------


class TownState(TypedDict, total=False):
    """The state of a town: where its days stand.

    Attributes:
        day, number: Those of the last encounter; 0 before the first.
        lengths: Of the two, how many memories their streams have since that conversation.
        gathered: By resident, the importance of what was kept since they last reflected.
        finished: Whether the last day is over.
    """

    day: int
    number: int
    lengths: dict[str, int]
    gathered: dict[str, float]
    finished: bool


def first_state(start: Start) -> DialogueState | GroupState:
    """Return the state in which a dialogue or a meeting begins.

    In a meeting everybody feels what the scenario says, and nobody is prepared yet.
    """
    if not isinstance(start, Meeting):
        return {"turn": 0, "round": 0, "speaker": "", "sim_time_s": 0.0, "finished": False}
    minds = {
        attendee.persona.name: Mind(
            emotion=attendee.emotion,
            emotion_strength=_FIRST_EMOTION_STRENGTH,
            spoke=0,
            spoken=0,
            unheard=0,
            used={},
            noticed=[],
        )
        for attendee in start.participants
    }
    meeting: GroupState = {
        "turn": 0,
        "round": 0,
        "speaker": "",
        "present": [],
        "sim_time_s": 0.0,
        "silence_s": 0.0,
        "finished": False,
        "unprepared": list(minds),
        "minds": minds,
        "bids": {},
    }
    return meeting


def updated(state: Mapping[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state with an update, merged as the graphs merge it."""
    merged = {key: by_agent(state.get(key, {}), update[key]) for key in ("minds", "bids") if key in update}
    return {**state, **update, **merged}


def cognition_of(state: GroupState, name: str) -> CognitionInput:
    """Return what one participant's cognition gets of the round."""
    return {
        "round": state["round"],
        "agent": name,
        "present": state["present"],
        "sim_time_s": state["sim_time_s"],
        "silence_s": state["silence_s"],
        "spoken": {other: mind["spoken"] for other, mind in state["minds"].items()},
        "mind": state["minds"][name],
    }
