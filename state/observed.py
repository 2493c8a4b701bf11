"""What a node of an agent's cognition sees besides its state: texts, which lie in the store and are never checkpointed.

A node that names a key in `reads` is given its value, looked up in the store (`nodes/meeting/observed.py`). Values of
`situation` and `thought` that it returns are stored in the same place.
"""

from typing_extensions import TypedDict

from tertulia.state.records import Record


class HeardLine(TypedDict):
    """A line of the meeting as an agent heard it; `turn` is 0 for the opening, and a silence has no speaker."""

    turn: int
    speaker: str | None
    text: str


class MechanismSeen(TypedDict):
    """A mechanism in a round: whether the agent switched it on, why, what it found, and its problem if it failed."""

    active: bool
    reason: str
    lines: list[str]
    problem: str | None


class BidSeen(TypedDict):
    """An agent's bid of a round that is over (`state.cognition.Bid`)."""

    willing: bool
    willingness: float | None
    latency_s: float | None
    won: bool


class Observed(TypedDict, total=False):
    """The observed keys of an agent's cognition.

    Attributes:
        heard: The lines that the agent thinks about, oldest first; a silence has no speaker and no words.
        last_bids: By agent, the bids of the round before; empty in the first.
        mechanisms: By mechanism, whether the agent switched it on, why, and what it found.
        situation: How the agent sees things.
        thought: Their private thought.
    """

    heard: list[HeardLine]
    last_bids: dict[str, BidSeen]
    mechanisms: dict[str, MechanismSeen]
    situation: str
    thought: str


class Rewritten(Record):
    """The texts of an assessment before a user's node rewrote them; a step of the node's place."""

    node: str
    situation: str
    thought: str
