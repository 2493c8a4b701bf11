"""A pause before the next line: the page's request, the line that waits, and a person's change of it.

All three are steps of the run, stored under its group (no agent's name), so that neither the page nor the process that
drives the run has to live as long as the pause.
"""

from pydantic import Field

from tertulia.state.records import Record
from tertulia.state.store import Store

#: The steps under which these are stored.
PAUSED, HELD, EDITED = STEPS = "pause_before_line", "hold_line", "edit_line"

#: The attempt number of the candidate that a person has written in the place of the one that was to be said.
EDITED_ATTEMPT = 2000


class Pause(Record):
    """The wish that the run stops before the next line, stored under the round that is under way.

    Attributes:
        wanted: False if it was taken back.
    """

    wanted: bool = True


class HeldLine(Record):
    """A line that waits until a person lets it pass, or rewrites it.

    Attributes:
        turn, round: The turn that is under way.
        attempt: The number of the candidate that is to be said, whose text is stored with the candidates.
        ended: Whether that candidate would end the conversation.
    """

    turn: int = Field(ge=1)
    round: int = Field(ge=1)
    speaker: str
    attempt: int = Field(ge=0)
    ended: bool


class LineEdit(Record):
    """A person's change of a held line.

    Attributes:
        words: The words said instead, as `tertulia.state.seat.as_utterance` returns it; `None`: the line as it was.
    """

    words: str | None = None


def pause_is_due(store: Store, run: str, round: int) -> bool:
    """Whether the line of a round is held: a pause was asked for, and no line has been held since.

    A fork takes over no pause of its parent's.
    """
    asked = {number: pause for (number, _), pause in store.steps(run, PAUSED, Pause, 1, round, "").items()}
    if not asked:
        return False
    record = store.run(run)
    first = record.parent[1] + record.rewritten if record.parent else 1
    newest = max((number for number in asked if number >= first), default=None)
    if newest is None or not asked[newest].wanted:
        return False
    return not store.steps(run, EDITED, LineEdit, newest, round - 1, "")
