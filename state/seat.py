"""The messages between a conversation and a person with a seat in it."""

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError, model_validator

from tertulia.state.errors import UsageError, nearest_hint
from tertulia.state.records import Record, Turn
from tertulia.state.text import one_line
from tertulia.state.wrong_values import shown, wrong_value

#: Characters that a person may say at once: more than a minute of speech, and less than a terminal takes in a line.
LONGEST = 1000

#: Seconds until a run is interrupted for which nobody in the page answers; the server goes on with it at an answer.
PATIENCE_S = 1800.0

#: Characters that a terminal's keys and a pasted text may hold besides words.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-~])?")
_CONTROLS = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


class Invitation(Record):
    """The invitation to a person to say something.

    Attributes:
        turn, round: The turn that is under way.
        sim_time_s: Simulated seconds since the conversation began.
        may_pass: Whether they may stay silent: if several race for the floor.
        lines: The last lines of the conversation, oldest first; silences have no speaker.
        kept: The words that they wanted to say in the round before without getting the floor; `None` if there is
            nothing.
        again: Whether they were asked already and said nothing, when nobody else can speak.
    """

    agent: str
    turn: int
    round: int
    sim_time_s: float
    may_pass: bool
    lines: tuple[Turn, ...] = ()
    kept: str | None = None
    again: bool = False


class Answer(Record):
    """The answer of a person to an invitation; it is stored before it is used.

    Attributes:
        words: The words that they want to say, as `as_utterance` returns it; empty if they stay silent.
        seconds: How long they took, if the clock runs; `None` if it waits, or to have it measured.

    Raises:
        UsageError: A field is missing, unknown, or has a value that it can't have.
    """

    words: str
    seconds: float | None = Field(default=None, ge=0)

    if not TYPE_CHECKING:  # checkers know the fields

        def __new__(cls, *given: Any, **fields: Any) -> Self:
            """Refuse values without the names of their fields."""
            if given:
                raise UsageError(f"Answer: takes its fields by name: Answer(words={shown(given[0])})")
            return super().__new__(cls)

    @model_validator(mode="wrap")
    @classmethod
    def _in_words(cls, values: Any, validated: Callable[[Any], Self]) -> Self:
        """Describe the first fault of a program's values in words; a name that is misspelt before one that lacks."""
        try:
            return validated(values)
        except ValidationError as error:
            first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
            name = ".".join(map(str, first["loc"]))
            hint = nearest_hint(name, cls.model_fields) if first["type"] == "extra_forbidden" else ""
            raise UsageError(f"Answer: {name}: {wrong_value(first)}{hint}") from None


class Asked(Record):
    """The question to a person that sits in the page, stored while they are; the answer is stored beside it.

    Attributes:
        memories: Their memories recalled at that moment, oldest first, as an agent in their place would.
    """

    invitation: Invitation
    memories: tuple[str, ...] = ()


class Left(Record):
    """That a person has left their seat for good: from the round under which it is stored, the model speaks again."""


#: The steps under which an answer is stored, the question to a person in the page, and their leaving.
ANSWERED, ASKED, LEFT = "speak_by_hand", "asked_in_page", "leave_seat"


def is_seat_of(name: str, seat: str | None) -> bool:
    """Return whether the parameter `seat` names this participant: alone, or among others, with commas between them."""
    return seat is not None and (name == seat or name in (part.strip() for part in seat.split(",")))


#: Asks a person, and returns their answer, or `None` if they leave.
Ask = Callable[[Invitation], Awaitable[Answer | None] | Answer | None]


def as_utterance(text: str) -> str:
    """Return typed text as an utterance: on one line, without control sequences, `LONGEST` characters at most.

    A longer text ends with its last whole word; the caller tells the person.
    """
    words = in_one_line(text)
    if len(words) <= LONGEST:
        return words
    cut, _, _ = words[: LONGEST + 1].rpartition(" ")
    return cut or words[:LONGEST]


def in_one_line(text: str) -> str:
    """Return typed text on one line, without characters of keys and pastes; it leaves no gap in a word."""
    return one_line(_CONTROLS.sub("", _ESCAPES.sub("", text)))
