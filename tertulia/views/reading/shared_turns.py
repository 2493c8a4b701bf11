"""A run as it was in each of its turns: a fork shares turns that another run has made, with its own settings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, Turn
from tertulia.state.store import Store

#: The fields of a run's record that say how its turns were made.
_HOW = {"model", "embedder", "seed", "parameters", "participant_models", "extensions"}


@dataclass(frozen=True)
class Stretch:
    """Turns in a row that one run has made.

    Attributes:
        first: The first of them, from 1.
        maker: The id of the run that made them: the run itself, or an ancestor.
        run: The run with the settings, models and seed of its maker, so with those that these turns were made with.
    """

    first: int
    maker: str
    run: RunRecord


def stretches(store: Store, run: RunRecord) -> list[Stretch]:
    """Return the stretches of a run in their order; there is one if it is no fork.

    A turn that a fork rewrites belongs to its parent's: all but its words is as it was there.
    """
    found: list[Stretch] = []
    maker, end = run, None
    while True:
        first = 1 if maker.parent is None else maker.parent[1] + maker.rewritten
        if end is None or first < end:
            found.insert(0, Stretch(first, maker.run, _made_by(maker, run)))
            end = first
        if maker.parent is None or end <= 1:
            return found
        maker = store.run(maker.parent[0])


def stretch_with(store: Store, run: RunRecord, turn: int) -> Stretch:
    """Return the stretch of a run that has a turn; the first for turn 0, the preparation."""
    if run.parent is None or turn >= run.parent[1] + run.rewritten:
        return Stretch(1, run.run, _made_by(run, run))
    return stretch_among(stretches(store, run), turn)


def stretch_among(found: Sequence[Stretch], turn: int) -> Stretch:
    """Return the stretch among those of a run that has a turn; the first for turn 0."""
    return next((stretch for stretch in reversed(found) if stretch.first <= turn), found[0])


def as_it_was(store: Store, run: RunRecord, turn: int) -> RunRecord:
    """Return a run with the settings, models and seed that a turn was made with."""
    return stretch_with(store, run, turn).run


def by_stretch(store: Store, run: RunRecord, turns: Sequence[Turn]) -> Iterator[tuple[Stretch, list[Turn]]]:
    """Yield the stretches of a run with those of these turns that they have; one without any is passed over."""
    found = stretches(store, run)
    for stretch, after in zip_longest(found, found[1:]):
        there = [turn for turn in turns if stretch.first <= turn.turn and (after is None or turn.turn < after.first)]
        if there:
            yield stretch, there


def settings_of_turns(store: Store, run: RunRecord) -> Callable[[int], Parameters]:
    """Return a function that returns the parameters with which a turn of a run was made."""
    found = stretches(store, run)
    by_maker = {stretch.maker: Parameters.model_validate(stretch.run.parameters) for stretch in found}
    return lambda turn: by_maker[stretch_among(found, turn).maker]


def _made_by(maker: RunRecord, run: RunRecord) -> RunRecord:
    how = {name: getattr(maker, name) for name in _HOW} if maker is not run else {}
    return run.model_copy(update={**how, "rehearsed": maker.is_rehearsal})
