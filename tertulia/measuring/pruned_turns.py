"""What pruning did in stored runs: shares removed, and inconsistency before and after revision (metrics/pruning.py)."""

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
    """Return what was removed from the prompts of all utterances of runs, the mean over prompts.

    Args:
        runs: The runs, each once.
    """
    return mean_removal(
        removal_of(record, store.prompt(record.prompt) if record.prompt else None)
        for run in runs
        for _, record in _records(store, run)
    )


def inconsistency_of_runs(store: Store, runs: Iterable[RunRecord]) -> Inconsistency:
    """Return how inconsistent first and chosen candidates are with what was removed, the mean over judged utterances.

    Args:
        runs: The runs, each once, with one kind of judge: ratings and likelihoods have other units.
    """
    return mean_inconsistency(
        inconsistency_of(record, store.candidates(run.run, record.turn.turn, part))
        for run in runs
        for part, record in _records(store, run)
    )


def _records(store: Store, run: RunRecord) -> Iterator[tuple[str, TurnRecord]]:
    """Yield how every utterance of a run came about; in an album chat plans and answers too, each with its part."""
    for turn in store.turns(run.run):
        yield "", store.turn_record(run.run, turn.turn)
        if run.kind == "album_chat":
            parts = store.parts(run.run, turn.turn)
            yield from ((part, parts[part]) for part in PARTS.values() if part in parts)
