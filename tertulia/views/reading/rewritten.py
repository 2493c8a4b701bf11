"""Which lines of a conversation a person has rewritten before they were said."""

from collections.abc import Sequence

from tertulia.state.line_edit import EDITED, EDITED_ATTEMPT, LineEdit
from tertulia.state.records import Turn
from tertulia.state.store import Store


def rewritten_turns(store: Store, run: str, turns: Sequence[Turn]) -> frozenset[int]:
    """Return the numbers of those of a run's turns in which a person's words stand in the place of a model's line.

    A fork that says something else in such a turn has the edit in its lineage, and a line of its own.
    """
    numbers = {turn.turn for turn in turns if turn.turn and turn.speaker is not None}
    if not numbers:
        return frozenset()
    edits = store.steps(run, EDITED, LineEdit, min(numbers), max(numbers), "")
    edited = {round for (round, _), edit in edits.items() if edit.words is not None}
    return frozenset(n for n in numbers & edited if store.turn_record(run, n).chosen == EDITED_ATTEMPT)
