"""The states of the graphs within a user's own graph: their input, their output, and the fields in between."""

from typing import Any, NotRequired

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from tertulia.state.graph_state import GroupState, UtteranceOutput, UtteranceState
from tertulia.state.records import EndedBy

#: LangChain's messages. There is no reducer here, so that a parent's state without the field is told from an empty one;
#: the output are all messages, which `add_messages` of the parent merges by their ids.
Messages = list[AnyMessage]


class ScoredUnit(TypedDict):
    """A unit of the prompt: an item of information, or an instruction.

    Attributes:
        id: Its name in the prompt, such as `memory.memory_2`.
        block: The part of the prompt that it belongs to, such as `memory`, `goals` or `current_dialogue`.
        text: Its words.
        removable: Whether λ may remove it.
        line_score: How much the line leaned on it, ≥ 0 (`tertulia.Turn.units`); `None` if that was not scored.
        score: The attention that replies to the full prompt paid to it, ≥ 0 (APP Eq. 1); `None`: nothing was scored.
        removed: Whether it was removed before the words were generated.
    """

    id: str
    block: str
    text: str
    removable: bool
    line_score: float | None
    score: float | None
    removed: bool


class Utterance(TypedDict):
    """An utterance, and how it came about.

    Attributes:
        speaker: Its speaker.
        text: The words.
        units: The units of the full prompt, in its order, with their scores and whether they were removed.
        scores: Score by unit id; `None` if nothing was scored, as with λ = 0.
        removed: The texts of the removed units, in the order of the prompt.
        removal_factor: λ, as it was asked for; `None` if another choice replaced it.
        removed_share: The share of the removable units' total score that was removed, in [0, 1]: the λ that was
            reached; `None` if nothing was scored.
        rollbacks: How often the judge had it said anew, because it contradicted the removed units.
        ended: Whether it ends the conversation.
        by_hand: Whether a person's words replaced the model's.
        run, turn: Its place in the store: `tertulia.open_store(…).run(run).turn(turn)`.
    """

    speaker: str
    text: str
    units: list[ScoredUnit]
    scores: dict[str, float] | None
    removed: list[str]
    removal_factor: float | None
    removed_share: float | None
    rollbacks: int
    ended: bool
    by_hand: bool
    run: str
    turn: int


# --- utterance ------------------------------------------------------------------------------------------------------


class SpeakInput(TypedDict, total=False):
    """The fields of a parent's state that `utterance` reads.

    Attributes:
        messages: The conversation so far. A message's `name` is its speaker; required, and may be empty.
        topic: The subject of the conversation, as everybody knows it; optional.
        speaker: The next speaker, one of the people; if it is left out, the one after the last speaker.
    """

    messages: Messages
    topic: NotRequired[str]
    speaker: NotRequired[str]


class SpeakOutput(TypedDict, total=False):
    """The fields of a parent's state that `utterance` writes; a field that the parent does not have is passed over.

    Attributes:
        messages: With one message more: `AIMessage(content=words, name=speaker)`.
        utterance: The utterance, and how it came about.
    """

    messages: Messages
    utterance: Utterance


class RunState(TypedDict, total=False):
    """The fields that every step has: `run` names the run in the store that holds the texts, `graph` the graph.

    `written` is the state that the last step left, by key (`tertulia.langgraph.edits`).
    """

    run: str
    graph: str
    written: dict[str, Any]


class HostedUtteranceState(UtteranceState, RunState, total=False):
    """The state of the utterance's own steps; between them it holds ids and numbers, and texts are in the store.

    `update_state` may change `scores` and `removal_factor` before `prune`, and `removed`, ids of units, before
    `generate`.
    """


class SpeakState(SpeakInput, SpeakOutput, HostedUtteranceState, total=False):
    """The state of `utterance` while it runs."""


# --- group chat -----------------------------------------------------------------------------------------------------


class GroupChatInput(TypedDict, total=False):
    """The fields of a parent's state that `group_chat` reads; as of `SpeakInput`.

    Attributes:
        minds: The state of every mind between rounds, as `group_chat` wrote it; optional.
    """

    messages: Messages
    topic: NotRequired[str]
    minds: NotRequired[dict[str, Any]]


class GroupChatOutput(TypedDict, total=False):
    """The fields of a parent's state that `group_chat` writes; a field that the parent does not have is passed over.

    Attributes:
        messages: With a message for each line that was said.
        utterances: The utterances of these rounds, in order, and how they came about.
        minds: By person, the state of their mind between rounds (`tertulia.state.graph_state.Mind`).
        finished: Whether the meeting is over by its limits.
        ended_by: Why; `None` as long as it is not.
    """

    messages: Messages
    utterances: list[Utterance]
    minds: dict[str, Any]
    finished: bool
    ended_by: EndedBy | None


class GroupChatState(GroupState, RunState, total=False):
    """The state of `group_chat` while it runs; `until` is the last round of this invocation.

    `attempt`, `set_aside`, `inconsistency`, `conflict` and `rewritable` are those of an utterance.
    """

    attempt: int
    set_aside: list[int]
    inconsistency: list[float]
    conflict: bool
    rewritable: bool
    messages: Messages
    topic: str
    utterances: list[Utterance]
    until: int


# --- exchange -------------------------------------------------------------------------------------------------------


class ExchangeInput(TypedDict, total=False):
    """The fields of a parent's state that `exchange` reads.

    Attributes:
        messages: The conversation so far; the exchanges in it are the two's memories of each other.
        topic: The purpose of the meeting; optional.
        asker, answerer: The person that shows a picture and asks, and the one that answers; if they are left out,
            people take turns.
    """

    messages: Messages
    topic: NotRequired[str]
    asker: NotRequired[str]
    answerer: NotRequired[str]


class PictureExchange(TypedDict):
    """The exchange of two about a picture.

    Attributes:
        asker, answerer: The names of the person that asked, and of the one that answered.
        picture: The caption of the picture that was shown.
        plan, question, answer: The asker's silent plan; their question; the partner's answer.
        passed: Whether the picture went into the answerer's album.
        run, turn: Its place in the store.
    """

    asker: str
    answerer: str
    picture: str
    plan: Utterance
    question: Utterance
    answer: Utterance
    passed: bool
    run: str
    turn: int


class ExchangeOutput(TypedDict, total=False):
    """The fields of a parent's state that `exchange` writes; a field that the parent does not have is passed over.

    Attributes:
        messages: With two messages more, the question and the answer.
        exchange: The exchange, and how each utterance came about.
    """

    messages: Messages
    exchange: PictureExchange


class HostedExchangeState(HostedUtteranceState, total=False):
    """The state of `exchange` while it runs (`tertulia.state.graph_state.ExchangeState`)."""

    messages: Messages
    topic: str
    asker: str
    answerer: str
    belongings: dict[str, Any]
    picture: str
    found: str
    similarity: float | None
    sight: str
    utterances: dict[str, UtteranceOutput]
    exchanges: dict[str, Any]
    exchange: PictureExchange
