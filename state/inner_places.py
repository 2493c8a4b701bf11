"""The states of places inside other steps: the line whose address is read, and the memories that are rated."""

from typing_extensions import TypedDict


class Address(TypedDict):
    """The people to whom a line speaks.

    Attributes:
        asked: Names of those whom it asks something, or asks to speak.
        is_open_question: Whether it has a question to all hearers.
    """

    asked: list[str]
    is_open_question: bool


def nobody_asked() -> Address:
    """Return the address of a line of which no more is known than whom it names."""
    return {"asked": [], "is_open_question": False}


class AddressState(TypedDict, total=False):
    """A line, and its address once that is read.

    Attributes:
        turn: Its number; 0 for the opening of the meeting.
        listeners: The names of the people present but its speaker.
    """

    round: int
    turn: int
    speaker: str
    line: str
    listeners: list[str]
    address: Address


class RatingState(TypedDict, total=False):
    """New memories of a person, and their importance once they are rated.

    Attributes:
        round: The step of their conversation behind which they are kept.
        contents: The subject of each memory, without date, people and place.
        importance: Of each, from 1 to 10; `None` asks the model.
    """

    round: int
    agent: str
    memories: list[str]
    contents: list[str]
    importance: list[float] | None
