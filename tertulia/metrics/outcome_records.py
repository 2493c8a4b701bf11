"""Records of the outcome of a conversation, and the ranges of its scores. Source: Zhou et al. 2024 (SOTOPIA-EVAL)."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from tertulia.state.records import Record

Dimension = Literal["goal", "relationship", "secret", "knowledge", "believability"]

#: The lowest and the highest score of each dimension. Source: Zhou et al. 2024, SOTOPIA-EVAL.
RANGES: Mapping[Dimension, tuple[int, int]] = {
    "goal": (0, 10),
    "relationship": (-5, 5),
    "secret": (-10, 0),
    "knowledge": (0, 10),
    "believability": (0, 10),
}


class PersonInScene(Record):
    """The known facts about a person before a conversation."""

    agent: str
    goals: tuple[tuple[str, tuple[str, ...]], ...] = Field(default=(), description="each with the steps to it")
    secret: str | None = None
    known: tuple[str, ...] = Field(default=(), description="memories, background, and whatever else they know")


class SaidLine(Record):
    """An utterance of a conversation."""

    turn: int
    speaker: str
    text: str
    to: tuple[str, ...] = Field(description="to whom it is said")
    heard_by: tuple[str, ...] = Field(description="the others who were there")
    faulty: bool = Field(default=False, description="whether it makes no sense where it is said")


class GoalOutcome(Record):
    """How far a goal was reached, and the turns that show it."""

    text: str
    score: float | None = Field(description="0 to 10; None where nothing was said that bears on whether it is kept")
    turns: tuple[int, ...]


class LearnedFact(Record):
    """A fact that a person did not know before."""

    turn: int
    text: str
    is_specific: bool = Field(description="whether it has a number, a day, or a name")


class PairOutcome(Record):
    """The tone between two people."""

    agents: tuple[str, str]
    warm: float = Field(description="warm lines; one that is only like a warm one, or agrees, counts half")
    cold: float
    score: float = Field(description="-5 to 5")


class PersonOutcome(Record):
    """The outcome of a conversation for a person; `None` if nothing can be said."""

    agent: str
    lines: int
    goal: float | None
    relationship: float | None
    secret: float | None
    knowledge: float | None
    believability: float | None
    goals: tuple[GoalOutcome, ...] = ()
    told_in: tuple[int, ...] = Field(default=(), description="turns that give the secret away")
    learned: tuple[LearnedFact, ...] = ()


class Outcomes(Record):
    """The outcome of a conversation."""

    people: tuple[PersonOutcome, ...]
    pairs: tuple[PairOutcome, ...]
    meeting: GoalOutcome | None = Field(description="whether what it is about was decided; None without one")
