"""A recorded conversation, or a part of it, to be played back."""

from collections.abc import Sequence

from tertulia.state.documents import Document
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import RunRecord, Turn
from tertulia.state.store import Store
from tertulia.views.reading.documents import agent_document, run_document, turn_rows
from tertulia.views.reading.rounds import read_round
from tertulia.views.reading.shared_turns import as_it_was
from tertulia.views.reading.turns import parameters_of


def select_turns(turns: Sequence[Turn], first: int | None, last: int | None, run: str) -> list[Turn]:
    """Return the turns with numbers from `first` to `last`; `None` for no limit.

    Raises:
        UsageError: The last comes before the first.
        NotFoundError: One of them does not exist.
    """
    for number in (first, last):
        if number is not None and number not in {turn.turn for turn in turns}:
            which = f"turns {turns[0].turn} to {turns[-1].turn}" if turns else "no turns yet"
            raise NotFoundError(f"run {run} has no turn {number}; it has {which}")
    if first is not None and last is not None and last < first:
        raise UsageError(f"--from {first} --to {last}: the last turn comes before the first")
    return [turn for turn in turns if (first or 0) <= turn.turn <= (last or turn.turn)]


def recording_document(
    store: Store, run: RunRecord, start: Start, turns: Sequence[Turn], thoughts: bool = False
) -> Document:
    """Return a run with some of its turns as JSON; with `thoughts` also the cognition of each round."""
    wanted = {turn.turn for turn in turns}
    rows = [row for row in turn_rows(store, run, start) if row["turn"] in wanted]
    if thoughts and isinstance(start, Meeting):
        for row, turn in zip(rows, turns, strict=True):
            agents, was = read_round(store, run, turn.round, start).agents, as_it_was(store, run, turn.round)
            row["cognition"] = [agent_document(agent, parameters_of(was, agent.agent)) for agent in agents]
    return run_document(store, run, start) | {"turns": rows}
