"""What the graphs carry from node to node: ids and numbers only. Texts live in the store, by content hash or by key."""

from typing_extensions import TypedDict


class UtteranceInput(TypedDict, total=False):
    """What one utterance needs to know of the conversation.

    Attributes:
        round: The round, from 1.
        turn: The number that the utterance will have, from 1.
        speaker: Whose utterance it is.
    """

    round: int
    turn: int
    speaker: str


class UtteranceOutput(TypedDict, total=False):
    """How an utterance came about.

    Attributes:
        prompt: Content hash of the full prompt.
        scores: Attention score by unit id; `None` where nothing was scored.
        removed: Ids of the units that were removed, texts of emptied blocks included.
        chosen: Attempt number of the candidate that is said.
        rollbacks: How many backups were taken.
        ended: Whether the utterance ends the conversation.
        scored_by, judged_by: Who did it; `None` where nobody did.
    """

    prompt: str
    scores: dict[str, float] | None
    removed: list[str]
    chosen: int
    rollbacks: int
    ended: bool
    scored_by: str | None
    judged_by: str | None


class UtteranceState(UtteranceInput, UtteranceOutput, total=False):
    """The state of the utterance graph.

    Attributes:
        scoring_wanted: Whether the prompt is to be scored.
        judging_wanted: Whether the candidates are to be judged.
        attempt: The candidate at hand: 0 for the first, then its backups.
        inconsistency: The judge's figure for each attempt so far.
        conflict: Whether the candidate at hand conflicts and a backup is left.
    """

    scoring_wanted: bool
    judging_wanted: bool
    attempt: int
    inconsistency: list[float]
    conflict: bool


class DialogueState(UtteranceInput, UtteranceOutput, total=False):
    """The state of the dialogue graph: where the conversation stands, and the last utterance.

    Attributes:
        sim_time_s: Simulated seconds since the conversation began.
        finished: Whether the conversation is over.
    """

    sim_time_s: float
    finished: bool
