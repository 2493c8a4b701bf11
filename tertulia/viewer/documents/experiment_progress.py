"""The progress of an experiment, for the viewer, and its consequences for a reader of the figures."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from tertulia.state.documents import Document
from tertulia.state.errors import StorageError
from tertulia.state.records import RunRecord
from tertulia.state.text import counted
from tertulia.storage.stop_requests import experiment_key
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.experiments.reached import Progress

#: Cohorts of which the time between two beginnings is taken as the pace, and failed runs that are named.
_PACE_OF, _NAMED_FAILURES = 20, 5


def read_progress(store: SqlStore, name: str) -> "Progress":
    """Return how far an experiment of a store is, of all that was ever asked of it."""
    from tertulia.lab.experiments.experiment import experiment_of
    from tertulia.lab.experiments.reached import progress_of

    record = store.experiments.get(name)
    try:
        experiment = experiment_of(record)
    except StorageError as error:
        raise StorageError(
            f"{error}. If a newer version of this program wrote it, update the program; its conversations are in the "
            "list of runs."
        ) from None
    return progress_of(store, experiment)


def progress_document(store: SqlStore, reached: "Progress") -> Document:
    """Return how many conversations have finished, failed, run and are missing, and about how long the rest takes."""
    failed, finished = reached.with_status("failed"), reached.with_status("finished")
    drivers = store.drivers()
    running = [run for run in reached.with_status("running") if drivers.is_driven(run.run)]
    is_driven = bool(running) or drivers.is_driven(experiment_key(reached.experiment.name))
    planned = len(reached.experiment.cases) * len(reached.experiment.settings) * reached.experiment.trials
    utterances = sum(map(_own_turns, reached.runs.values()))
    each = median(map(_own_turns, finished)) if finished else reached.experiment.rounds
    expected = None if each is None else max(utterances, round(planned * each))
    left = None if expected is None else expected - utterances
    return {
        "planned": planned,
        "finished": len(finished),
        "failed": len(failed),
        "running": len(running),
        "is_driven": is_driven,
        "missing": reached.missing - len(failed),
        "utterances": utterances,
        "utterances_expected": expected,
        "failures": [{"run": run.run, "error": run.error} for run in failed[:_NAMED_FAILURES]],
        "seconds_left": _seconds_left(reached, running, left) if is_driven else None,
    }


def _seconds_left(reached: "Progress", running: Sequence[RunRecord], utterances_left: int | None) -> float | None:
    """Return how long the rest takes: at the pace at which the last cohorts began, or before two have, of utterances.

    `None` before the first utterance.
    """
    own = [run for run in reached.runs.values() if run.trial and run.trial.experiment == reached.experiment.name]
    begun: dict[int, list[float]] = {}
    for run in own:
        if run.trial is not None:
            begun.setdefault(run.trial.cohort, []).append(run.created.timestamp())
    starts = sorted(min(times) for times in begun.values())[-_PACE_OF - 1 :]
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    if gaps:
        return median(gaps) * reached.missing / (len(own) / len(begun))
    utterances = sum(map(_own_turns, running))
    if not utterances or utterances_left is None:
        return None
    since = min(run.created for run in running)
    return (datetime.now(UTC) - since).total_seconds() / utterances * utterances_left


def _own_turns(run: RunRecord) -> int:
    """Return the turns of a run without those that a fork has of its parent."""
    return run.turns - (run.parent[1] - 1 if run.parent else 0)


def notes_of(reached: "Progress") -> list[str]:
    """Return the consequences of the progress for a reader of the figures, in sentences."""
    experiment = reached.experiment
    finished = len(reached.with_status("finished"))
    planned = len(experiment.cases) * len(experiment.settings) * experiment.trials
    notes = []
    if not finished:
        notes.append("No conversation of it has finished yet, so there is nothing to measure.")
    elif finished < planned:
        notes.append(
            f"Not complete: of {counted(planned, 'conversation')} {finished:,} have finished. Figures are over the "
            "trials that all settings have."
        )
    if len(experiment.cases) == 1:
        notes.append("It has one case: there is no interval, as intervals are over cases.")
    if len(experiment.settings) == 1:
        notes.append("It has one setting: there is nothing to compare it with.")
    if any(run.rehearsed for run in reached.runs.values()):
        notes.append("Rehearsed: a stand-in without weights spoke, and its figures mean nothing.")
    return notes


def finished_runs(reached: "Progress") -> Sequence[str]:
    """Return the ids of the finished runs: as long as they are the same, so are the figures."""
    return [run.run for run in reached.with_status("finished")]
