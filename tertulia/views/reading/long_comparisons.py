"""Comparisons of long runs, of which only some turns are read: those that may differ, and of these the wanted ones."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.views.reading.comparing import RunComparison, settings_of_both
from tertulia.views.reading.differences import (
    Comparison,
    TurnComparison,
    compare_turns_of,
    differing_turns,
    settings_that_differ_in,
)


def compare_to_parting(store: SqlStore, a: str, b: str) -> tuple[RunComparison, list[int]]:
    """Return the comparison of two runs up to the turn in which they part, and the turns that differ.

    Turns after the parting are in the list if they may differ; `compare_turns` tells whether they do. The comparison
    holds the turn of the parting alone; the last turn, if all are the same.

    Raises:
        NotFoundError: There is no such run.
    """
    runs = (store.run(a), store.run(b))
    numbers = differing_turns(store, *runs)
    same = [turn.turn for turn in takewhile(lambda turn: turn.is_same, _compared_in_steps(store, runs, numbers))]
    differing = numbers[len(same) :]
    shown = differing[0] if differing else min(run.turns for run in runs)
    return _comparison(store, runs, [*compare_turns_of(store, runs, [shown])], with_settings=True), differing


def compare_turns(store: SqlStore, a: str, b: str, numbers: Sequence[int]) -> RunComparison:
    """Return the comparison of some turns of two runs, without their settings.

    Args:
        numbers: Their numbers, ascending; one that neither run has is left out.
    """
    runs = (store.run(a), store.run(b))
    return _comparison(store, runs, [*compare_turns_of(store, runs, numbers)], with_settings=False)


def _comparison(
    store: SqlStore, runs: tuple[RunRecord, RunRecord], turns: Sequence[TurnComparison], with_settings: bool
) -> RunComparison:
    a, b = runs
    starts = (store.start(a.run), store.start(b.run))
    settings = settings_that_differ_in(a, starts[0], b, starts[1]) if with_settings else ()
    return RunComparison(
        runs, starts, ([], []), Comparison(tuple(settings), tuple(turns)), settings_of_both(store, runs)
    )


def _compared_in_steps(
    store: SqlStore, runs: tuple[RunRecord, RunRecord], numbers: Sequence[int]
) -> Iterator[TurnComparison]:
    """Yield turns one after the other, reading few at first: two runs that part mostly part in the first of them."""
    done, size = 0, 2
    while done < len(numbers):
        yield from compare_turns_of(store, runs, numbers[done : done + size])
        done, size = done + size, 2 * size
