"""Records of a person: persona, memories, goals, and the person as they enter a conversation."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MemoryKind = Literal["event", "thought", "chat"]


def _is_empty(value: object) -> bool:
    return value is None or value == ()


class Record(BaseModel):
    """Base of all records: immutable, strict about unknown fields."""

    # A command needs few of the records: a validator is built at its first use.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Memory(Record):
    """An entry of an agent's memory stream. Source: Park et al. 2023, memory stream; APP §2."""

    id: str
    kind: MemoryKind
    text: str
    created: datetime
    importance: float = Field(ge=0, le=10, description="poignancy, 0 (mundane) to 10 (moving)")
    keys: tuple[str, ...] = Field(
        default=(), exclude_if=_is_empty, description="words that call the memory up when they are heard"
    )


class Remembered(Memory):
    """A memory of a stream, with the memories that it was drawn from. Source: Park et al. 2023, §4.2."""

    evidence: tuple[str, ...] = Field(default=(), description="ids of the memories that an insight was drawn from")


class Stream(Record):
    """A memory stream in a simulation, as it was at some time.

    Attributes:
        length: The number of memories that it had; later ones are not seen.
        embedder: The id of the embedder of its memories.
        without: Ids of memories that are passed over.
    """

    simulation: str
    agent: str
    length: int = Field(ge=0)
    embedder: str
    without: tuple[str, ...] = ()


class SpeechExample(Record):
    """A line that shows how a person speaks, and the line before it, said to them."""

    after: str = Field(default="", exclude_if=lambda after: after == "")
    text: str = Field(min_length=1)


class Persona(Record):
    """The facts of a person throughout a scenario; a field is `None`, or empty, if it is not known."""

    name: str = Field(min_length=1)
    age: int | None = None
    occupation: str | None = Field(default=None, exclude_if=_is_empty)
    character: str | None = Field(default=None, description="in words; poles of the Big Five are the participant's")
    background: tuple[str, ...] = Field(default=(), description="facts, a unit of a prompt each")
    lifestyle: str | None = None
    home: str | None = None
    style: str | None = Field(default=None, exclude_if=_is_empty, description="how they speak")
    examples: tuple[SpeechExample, ...] = Field(default=(), exclude_if=_is_empty, description="lines of theirs")

    @property
    def known_background(self) -> str | None:
        """The background as one text; `None` if there is none."""
        return " ".join(self.background) or None


class Goal(Record):
    """Something that an agent wants of the meeting."""

    text: str = Field(min_length=1)
    sub_goals: tuple[str, ...] = Field(default=(), description="the plan, in order; made by the model where empty")


class Participant(Record):
    """A person as they enter a conversation. Their memories are strictly from before it."""

    persona: Persona
    memories: tuple[Memory, ...]
    activity: str | None = Field(default=None, description="what they were doing at that moment")
    secrets: tuple[str, ...] = Field(
        default=(), exclude_if=_is_empty, description="what only they know, and keep to themselves"
    )
    goals: tuple[Goal, ...] = Field(default=(), exclude_if=_is_empty)
    interests: tuple[str, ...] = Field(
        default=(), exclude_if=_is_empty, description="topics that their role cares about"
    )
    relations: tuple[tuple[str, str], ...] = Field(
        default=(), exclude_if=_is_empty, description="pairs of another's name and how they stand"
    )
    descriptions: tuple[str, ...] = Field(
        default=(), exclude_if=_is_empty, description="how they think and talk; a meeting's model writes missing ones"
    )
    setting: str | None = Field(
        default=None, exclude_if=_is_empty, description="what is special about them in this conversation"
    )
    big_five: tuple[str, ...] = Field(
        default=(), exclude_if=_is_empty, description="poles (state/meeting.py), at most one of each dimension"
    )
    stream: Stream | None = Field(
        default=None, description="in a simulation, what they remember beside `memories`; it stays in the store"
    )
