"""Trials on this machine: in this process, or side by side in processes of their own."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from tertulia.lab.executors.dispatch import Dispatcher
from tertulia.lab.executors.processes import ProcessCrew
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.fork_points import parents_of
from tertulia.lab.experiments.reached import CohortTask
from tertulia.lab.experiments.running import InProcessExecutor
from tertulia.lab.experiments.shards import ShardFolder
from tertulia.models.local.embedded import ID as EMBEDDED
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.access.model_names import ROLES
from tertulia.runs.driving.events import Emit
from tertulia.runs.driving.limits import Limits
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.state.language_model import REHEARSAL
from tertulia.storage.sqlite.opening import MEMORY
from tertulia.storage.store import SqlStore

#: Rehearsed trials for which it is worth to start a process: it takes about as long as so many.
_REHEARSED_PER_WORKER = 25

#: The memory of a process with the embedded models and ten conversations side by side, in bytes (docs/scale.md).
_EMBEDDED_BYTES = 4 << 30


@dataclass(frozen=True)
class LocalExecutor:
    """Drives cohorts on this machine: in this process, or in several, each with models of its own.

    Attributes:
        workers: The most processes; `None` for as many as suit machine, model and experiment.
        shards: The folder for shards; `None` for one beside the store.
        limits: The most that all trials together may spend.
    """

    store: SqlStore
    access: ModelAccess
    additions: Additions = NOTHING_ADDED
    workers: int | None = None
    shards: str | None = None
    limits: Limits = field(default_factory=Limits)

    def folder(self, experiment: str) -> ShardFolder:
        """Return the folder of an experiment's shards."""
        return ShardFolder.of(self.store, experiment, self.access.cache, self.shards)

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        """Drive cohorts to their ends (see `lab.experiments.running.Executor` and `Dispatcher.drive`).

        An experiment of a single cohort stays in this process, which computes with all threads.
        """
        if not tasks:
            return
        experiment, number = tasks[0].experiment, workers_for(tasks, self.workers)
        if number == 1 or self.store.path == MEMORY:
            InProcessExecutor(self.store, self.access, self.additions, self.limits).drive(tasks, emit)
            return
        folder = self.folder(experiment.name)
        dispatcher = Dispatcher(self.store, folder, self.access, self.additions, emit, self.limits)
        dispatcher.drive(tasks, ProcessCrew(), number)


def workers_for(tasks: Sequence[CohortTask], most: int | None) -> int:
    """Return how many processes drive cohorts; `most` is the number that is asked for."""
    experiment = tasks[0].experiment
    suitable = 1 if parents_of(experiment.cases) else suitable_workers(tasks)
    return min(most or suitable, cohorts_of(experiment))


def cohorts_of(experiment: Experiment) -> int:
    """Return how many cohorts a whole experiment has."""
    trials = len(experiment.cases) * len(experiment.settings) * experiment.trials
    return ceil(trials / experiment.cohort_size)


def suitable_workers(tasks: Sequence[CohortTask]) -> int:
    """Return how many processes suit this machine and the rest of an experiment.

    Only small models are loaded more than once without being asked to, and not if a GPU may have them. Requests to a
    server are in flight together in one process already, which keeps the server's limits.
    """
    experiment, cores = tasks[0].experiment, usable_cores()
    named = {setting.get(role) for setting in experiment.settings.values() for role in ROLES.values()}
    if experiment.model == REHEARSAL:
        trials = sum(len(task.trials or task.runs) for task in tasks)
        return max(1, min(cores, trials // _REHEARSED_PER_WORKER))
    if {experiment.model, *named} <= {EMBEDDED, None} and not may_have_gpu():
        return max(1, min(cores, free_memory() // _EMBEDDED_BYTES))
    return 1


def usable_cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> int:
    """Return how many bytes of memory are free; half of all memory if that can't be seen."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def may_have_gpu() -> bool:
    """Return whether there is a driver of a GPU here; torch would take a second to say for sure."""
    is_apple = (platform.system(), platform.machine()) == ("Darwin", "arm64")
    return is_apple or any(os.path.exists(device) for device in ("/dev/nvidiactl", "/dev/kfd"))
