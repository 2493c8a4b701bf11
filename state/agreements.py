"""What people agreed on in talk: to meet at a time, or that somebody does something."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from tertulia.state.records import Appointment, Record

#: `meet`: both are to be there at a time; `task`: one does something for the other, or for all.
AgreementKind = Literal["meet", "task"]

#: Why an agreement is not entered in the days of a town: one sleeps at that time by their own day, or has agreed before
#: to be somewhere else then.
Hindrance = Literal["asleep", "engaged"]


class Agreement(Record):
    """A proposal to which the other assented, by a model that read the conversation.

    Attributes:
        people: The one who proposed it, or does the task, and the other.
        doer: The one who does a task.
        what: A sentence that says it.
        time: When; `None` for a task without a time.
        place: Where, in the words of the talk; `None` where none was said.
        turns: The first and the last turn of the conversation.
    """

    kind: AgreementKind
    people: tuple[str, str]
    doer: str | None = None
    what: str
    time: datetime | None = None
    place: str | None = None
    turns: tuple[int, int]


class Entry(Record):
    """An agreement as it stands in the days of a town.

    Attributes:
        run: The conversation in which it was made.
        number: Its number among the agreements of that conversation, from 1.
        place: The place of the town that was meant; `None` where none was said: who proposed it comes over.
        hindrance: Why it is not entered in their days; `None` if it is.
        hindered: Who is asleep then, or engaged.
    """

    run: str
    number: int = Field(ge=1)
    made: datetime
    agreement: Agreement
    place: str | None = None
    hindrance: Hindrance | None = None
    hindered: str | None = None

    @property
    def meets_at(self) -> datetime | None:
        """When the two are to meet; `None` if it is a task, or can't be entered in their days."""
        return self.agreement.time if self.agreement.kind == "meet" and self.hindrance is None else None

    @property
    def appointment(self) -> Appointment:
        """What is said of it when they meet."""
        return Appointment(run=self.run, number=self.number, made=self.made, what=self.agreement.what)


class Entries(Record):
    """All that a conversation of a town agreed on, as it is stored behind its last turn."""

    entries: tuple[Entry, ...]
