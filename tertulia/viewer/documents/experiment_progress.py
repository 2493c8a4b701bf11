"""The progress of an experiment, for the viewer, and its consequences for a reader of the figures."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from tertulia.state.documents import Document
from tertulia.state.errors import StorageError
from tertulia.state.text import counted
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
    failed = reached.with_status("failed")
    drivers = store.drivers()
    running = [run for run in reached.with_status("running") if drivers.is_driven(run.run)]
    return {
        "planned": len(reached.experiment.cases) * len(reached.experiment.settings) * reached.experiment.trials,
        "finished": len(reached.with_status("finished")),
        "failed": len(failed),
        "running": len(running),
        "missing": reached.missing - len(failed),
        "failures": [{"run": run.run, "error": run.error} for run in failed[:_NAMED_FAILURES]],
        "seconds_left": _seconds_left(reached) if running else None,
    }


def _seconds_left(reached: "Progress") -> float | None:
    """Return how long the rest takes at the pace at which the last cohorts began; `None` before two have."""
    own = [run for run in reached.runs.values() if run.trial and run.trial.experiment == reached.experiment.name]
    begun: dict[int, list[float]] = {}
    for run in own:
        if run.trial is not None:
            begun.setdefault(run.trial.cohort, []).append(run.created.timestamp())
    starts = sorted(min(times) for times in begun.values())[-_PACE_OF - 1 :]
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    if not gaps:
        return None
    return median(gaps) * reached.missing / (len(own) / len(begun))


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
