"""The values that graphs carry between nodes: ids and numbers. Texts live in the store, by content hash or key."""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypeVar

from typing_extensions import TypedDict

from tertulia.state.errors import UsageError
from tertulia.state.inner_places import Address, nobody_asked
from tertulia.state.meeting import Meeting
from tertulia.state.records import Case, EndedBy

#: The end of the name of a scorer whose scores a user of a graph has edited.
EDITED_SCORES = ", edited"

#: How strongly an agent feels at the beginning of a meeting, in [0, 1].
_FIRST_EMOTION_STRENGTH = 0.3


class UtteranceInput(TypedDict, total=False):
    """The input of the utterance graph: the place of the utterance in the conversation.

    Attributes:
        round: The round, from 1.
        turn: The number that the utterance will have, from 1.
        present: The people there, in the scenario's order.
        sim_time_s: Simulated seconds since the conversation began.
        part: Which utterance of the turn it is, if a turn has several (`state.album.PARTS`); the turn's own has no
            name.
    """

    round: int
    turn: int
    speaker: str
    present: list[str]
    sim_time_s: float
    part: NotRequired[str]


def step_of(state: UtteranceInput, node: str) -> str:
    """Return the name under which a node's calls and draws are kept, with the part of the turn, if any, appended."""
    part = state.get("part", "")
    return f"{node}_{part}" if part else node


class UtteranceOutcome(TypedDict, total=False):
    """The outcome of an utterance, without its prompt.

    Attributes:
        removal_factor: λ as it is in force in this turn; `None` if another choice takes its place.
        scores: Attention score by unit id; `None` if nothing was scored.
        removed: Ids of the units that were removed, texts of emptied blocks included.
        chosen: Attempt number of the candidate that is said.
        rollbacks: How many backups were taken (rewritten candidates are not counted).
        ended: Whether the utterance ends the conversation.
        scored_by, judged_by: Its scorer and its judge; `None` if it had none.
        line_scores: By unit id of the prompt that was answered, how much the line leaned on it; `None`: not scored.
        line_scored_by: The line's scorer.
    """

    removal_factor: float | None
    scores: dict[str, float] | None
    removed: list[str]
    chosen: int
    rollbacks: int
    ended: bool
    scored_by: str | None
    judged_by: str | None
    line_scores: dict[str, float] | None
    line_scored_by: str | None


class UtteranceOutput(UtteranceOutcome, total=False):
    """The output of the utterance graph."""

    prompt: str


class PromptedInput(UtteranceInput, total=False):
    """The input of an utterance graph that is given its prompt.

    Attributes:
        utterances: By part of the turn, how its utterances before came about.
    """

    prompt: str
    utterances: NotRequired[dict[str, UtteranceOutput]]


def initial_outcome() -> UtteranceOutcome:
    """Return the outcome with which every utterance begins: its prompt is not scored, pruned or judged yet."""
    return {
        "removal_factor": None,
        "scores": None,
        "scored_by": None,
        "removed": [],
        "judged_by": None,
        "line_scores": None,
        "line_scored_by": None,
    }


class UtteranceState(PromptedInput, UtteranceOutput, total=False):
    """The state of the utterance graph.

    Attributes:
        attempt: The number of the candidate at hand: 0 for the first, then its backups, then rewritten candidates.
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
    """The state of the dialogue graph and its last utterance; `prompt` is `None` if a person spoke."""

    prompt: str | None
    finished: bool
    ended_by: EndedBy | None


# --- group chat -----------------------------------------------------------------------------------------------------


class Mind(TypedDict):
    """The state of an agent that lasts from round to round.

    Attributes:
        emotion: Their feeling, one of `EMOTIONS`.
        emotion_strength: How strongly, in [0, 1].
        spoke: The round in which they last spoke; 0: not yet.
        spoken: How often they have spoken.
        unheard: The number of consecutive rounds in which they were willing and did not get the floor.
        quiet: The number of consecutive rounds without a word of theirs.
        unwilling: The number of consecutive rounds in which they were not willing.
        off_scale, same_ratings: If a model rates the parts of willingness, how often it left the scale, and for how
            many rounds its ratings have been the same.
        used: By mechanism, the round in which it was last used, and how often it was.
        noticed: The last turns that entered working memory, oldest first; 0 is how the meeting opened.
    """

    emotion: str
    emotion_strength: float
    spoke: int
    spoken: int
    unheard: int
    quiet: int
    unwilling: int
    off_scale: NotRequired[int]
    same_ratings: NotRequired[int]
    used: dict[str, list[int]]
    noticed: list[int]


class Parts(TypedDict):
    """The parts of an agent's willingness, in [0, 1], before any silence of the round. Source: ChatAgents Eq. 1."""

    topic: float
    goal: float
    emotion: float
    personality: float


class OpenBid(Parts):
    """An agent's bid for the floor before the race.

    Attributes:
        address: How much the last line speaks to them, in [0, 1]; 1 if it asks them by name.
        need: Their need to speak, in [0, 1], which grows while they say nothing. A user's node may leave both out.
        similarity: S̄ of the new thought.
        similarity_max: S_max of the new thought; `None` without an earlier one.
    """

    address: NotRequired[float]
    need: NotRequired[float]
    similarity: float
    similarity_max: float | None


V = TypeVar("V")


def by_agent(old: dict[str, V], new: dict[str, V]) -> dict[str, V]:
    """Merge the updates of agents that think side by side; each writes under its name. A host may write `None`.

    Raises:
        UsageError: An update is something else.
    """
    if not isinstance(new, Mapping | None):
        raise UsageError(f"minds: {new!r:.60} are no minds by name; carry on what group_chat wrote, or {{}}")
    return {**(old or {}), **(new or {})}


def gathered(old: dict[str, V], new: dict[str, V]) -> dict[str, V]:
    """Merge values gathered side by side; an empty update clears it."""
    return {**old, **new} if new else {}


Minds = Annotated[dict[str, Mind], by_agent]
Bids = Annotated[dict[str, OpenBid], by_agent]


class CognitionInput(TypedDict, total=False):
    """The input of an agent's cognition.

    Attributes:
        round: The round, from 1; 0 before the meeting.
        agent: The name of the agent.
        present: The people there, in the scenario's order.
        sim_time_s: Simulated seconds since the meeting began.
        silence_s: Seconds since the last word, when the round began.
        spoken: By participant, how often they have spoken.
        mind: The agent's state from round to round.
        address: Whom the last line asks.
    """

    round: int
    agent: str
    present: list[str]
    sim_time_s: float
    silence_s: float
    spoken: dict[str, int]
    mind: Mind
    address: NotRequired[Address]


class CognitionOutput(TypedDict, total=False):
    """The output of an agent's cognition.

    Attributes:
        minds: The agent's mind, by their name.
        bids: The agent's open bid for the floor, by their name.
    """

    minds: Minds
    bids: Bids


class CognitionState(CognitionInput, CognitionOutput, total=False):
    """The state of the cognition graph.

    Attributes:
        active: The mechanisms that the agent has switched on.
    """

    active: list[str]


class GroupState(UtteranceInput, UtteranceOutcome, total=False):
    """The state of the group chat: the progress of the meeting, everybody's mind, and the last utterance.

    Attributes:
        speaker: The agent with the floor; empty in a silence.
        prompt: Content hash of the full prompt; `None` if a person said it.
        unprepared: The agents yet to be prepared before the next round begins.
        address: Whom the last line asks.
    """

    prompt: str | None
    address: NotRequired[Address]
    silence_s: float
    finished: bool
    ended_by: EndedBy | None
    unprepared: list[str]
    minds: Minds
    bids: Bids


# --- album chat -----------------------------------------------------------------------------------------------------


class Belongings(TypedDict):
    """The memory of a villager: the turns of their last exchanges, and the ids of their pictures, the latest last."""

    history: list[int]
    album: list[str]


AllBelongings = Annotated[dict[str, Belongings], by_agent]


class ExchangeOutcome(TypedDict):
    """The acts of two in an exchange, until they are stored.

    Attributes:
        exchange: The record (`state.album.Exchange`), as JSON.
        utterances: By part of the turn, how the utterance came about.
    """

    exchange: dict[str, Any]
    utterances: dict[str, UtteranceOutput]


Exchanges = Annotated[dict[str, ExchangeOutcome], gathered]  # by turn, as text: JSON has no other keys


class ExchangeInput(UtteranceInput, total=False):
    """The input of an exchange; `turn` is the number of the exchange and of its three utterances."""

    asker: str
    answerer: str
    belongings: AllBelongings


class ExchangeOutput(TypedDict, total=False):
    """The output of an exchange: the possessions of the two now and, by turn, how its utterances came about."""

    belongings: AllBelongings
    exchanges: Exchanges


class ExchangeState(ExchangeInput, ExchangeOutput, UtteranceOutput, total=False):
    """The state of an exchange: its progress, and its last utterance.

    Attributes:
        picture: The id of the picture that the plan means.
        found, similarity, sight: How it was found, and whether it is seen (`state.album.Exchange`).
        utterances: By part of the turn, how the utterances before came about.
    """

    picture: str
    found: str
    similarity: float | None
    sight: str
    utterances: dict[str, UtteranceOutput]


class AlbumState(ExchangeOutput, total=False):
    """The state of an album chat: its round, the pairs of it, and everybody's possessions.

    Attributes:
        round: The round, from 1.
        turn: The last turn of the rounds before.
        pairs: Asker and answerer, by turn from `turn` + 1; empty between rounds.
        kept: How many exchanges of the next round a fork shares with its parent.
        sim_time_s: Simulated seconds since the first round began.
    """

    round: int
    turn: int
    pairs: list[list[str]]
    kept: int
    sim_time_s: float
    finished: bool
    ended_by: EndedBy | None


# --- days of a town -------------------------------------------------------------------------------------------------


class TownState(TypedDict, total=False):
    """The state of a town: the progress of its days.

    Attributes:
        day, number: Those of the last encounter; 0 before the first.
        lengths: Of the two, how many memories their streams have since that conversation.
    """

    day: int
    number: int
    lengths: dict[str, int]
    finished: bool


def first_state(start: Case | Meeting) -> DialogueState | GroupState:
    """Return the state in which a dialogue or a meeting begins.

    In a meeting everybody has the scenario's feeling, and nobody is prepared yet.
    """
    if isinstance(start, Case):
        return {"turn": 0, "round": 0, "speaker": "", "sim_time_s": 0.0, "finished": False}
    minds = {
        attendee.persona.name: Mind(
            emotion=attendee.emotion,
            emotion_strength=_FIRST_EMOTION_STRENGTH,
            spoke=0,
            spoken=0,
            unheard=0,
            quiet=0,
            unwilling=0,
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
    """Return the state after an update, merged as the graphs merge it."""
    merged = {key: by_agent(state.get(key, {}), update[key]) for key in ("minds", "bids") if key in update}
    return {**state, **update, **merged}


def cognition_of(state: GroupState, name: str) -> CognitionInput:
    """Return the input of a participant's cognition."""
    return {
        "round": state["round"],
        "agent": name,
        "present": state["present"],
        "sim_time_s": state["sim_time_s"],
        "silence_s": state["silence_s"],
        "spoken": {agent: mind["spoken"] for agent, mind in state["minds"].items()},
        "mind": state["minds"][name],
        "address": state.get("address", nobody_asked()),
    }
