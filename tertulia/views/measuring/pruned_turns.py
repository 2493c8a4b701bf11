"""Pruning in stored runs: shares removed, and inconsistency before and after revision (metrics/pruning.py)."""

from collections.abc import Iterable, Iterator

from tertulia.metrics.pruning import (
    Inconsistency,
    Removal,
    inconsistency_of,
    mean_inconsistency,
    mean_removal,
    removal_of,
)
from tertulia.state.album import PARTS
from tertulia.state.records import RunRecord, TurnRecord
from tertulia.state.store import Store


def removal_of_runs(store: Store, runs: Iterable[RunRecord]) -> Removal:
    """Return the mean removal over the prompts of all utterances of runs."""
    return mean_removal(
        removal_of(record, store.prompt(record.prompt) if record.prompt else None)
        for run in runs
        for _, record in _records(store, run)
    )


def inconsistency_of_runs(store: Store, runs: Iterable[RunRecord]) -> Inconsistency:
    """Return the mean inconsistency of first and chosen candidates with the removed units, over judged utterances.

    The runs must have one kind of judge: ratings and likelihoods have different units.
    """
    return mean_inconsistency(
        inconsistency_of(record, store.candidates(run.run, record.turn.turn, part))
        for run in runs
        for part, record in _records(store, run)
    )


def _records(store: Store, run: RunRecord) -> Iterator[tuple[str, TurnRecord]]:
    """Yield the record of every utterance with its part; in an album chat also of plans and answers."""
    for turn in store.turns(run.run):
        yield "", store.turn_record(run.run, turn.turn)
        if run.kind == "album_chat":
            parts = store.parts(run.run, turn.turn)
            yield from ((part, parts[part]) for part in PARTS.values() if part in parts)
