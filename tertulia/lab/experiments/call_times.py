"""The time that calls of a model took here: in the newest conversations of a store, or in a probe."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

from tertulia.lab.executors.local import usable_cores
from tertulia.lab.experiments.experiment import Experiment
from tertulia.models.served.chat_names import is_chat_name
from tertulia.state.parameters import Parameters
from tertulia.state.records import Platform, RunRecord
from tertulia.state.text import counted
from tertulia.storage.sqlite.opening import MEMORY
from tertulia.storage.store import SqlStore
from tertulia.views.reading.platforms import STEP

#: How many of the newest finished runs of a model are read.
_RUNS = 12

#: Conversations of a probe, of a line each.
_PROBED = 4


@dataclass(frozen=True)
class CallTimes:
    """The seconds of a call of a model, by node.

    Attributes:
        seconds: Of a local model on one core (on a GPU: on that); of a served one from question to answer.
        source: Where they were taken, in words.
        concurrent: Most requests that a server gets at once; `None`: the model is local.
    """

    seconds: Mapping[str, float]
    source: str
    concurrent: int | None = None

    def of(self, calls: Mapping[str, float]) -> float:
        """Return the seconds of so many calls by node, one after another; a node without records has the mean."""
        mean = sum(self.seconds.values()) / len(self.seconds)
        return sum(count * self.seconds.get(node, mean) for node, count in calls.items())

    def of_one_run(self, calls: Mapping[str, float]) -> float:
        """Return the seconds of the calls of a single conversation, for which a local model has all cores."""
        return self.of(calls) / (usable_cores() if self.concurrent is None else 1)

    def together(self, conversations: int) -> int:
        """Return how many of so many conversations a server answers at once."""
        return min(conversations, self.concurrent or 1)


def recorded_times(store: SqlStore, model: str, source: str = "", of_trials: bool = True) -> CallTimes | None:
    """Return the times of a model's calls in the newest finished conversations of a store; `None` if it has none.

    Args:
        of_trials: Whether trials come before single runs, whose calls meet in no batches, or after them.
    """
    finished = [run for run in store.runs(status="finished") if run.model == model]
    chosen = ([run for run in finished if (run.trial is not None) == of_trials] or finished)[:_RUNS]
    spent: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    is_served = is_chat_name(model)
    for run in chosen:
        factor = 1 if is_served else _threads(store, run)
        for call in store.calls_in_brief(run.run, 0, without_shared=True):
            if call.seconds is not None:
                spent[call.node] += call.seconds * factor
                counts[call.node] += 1
    if not counts:
        return None
    seconds = {node: spent[node] / counts[node] for node in counts}
    concurrent = Parameters.model_validate(chosen[0].parameters).max_concurrency if is_served else None
    return CallTimes(seconds, source or f"as in {counted(len(chosen), 'conversation')} of this store", concurrent)


def _threads(store: SqlStore, run: RunRecord) -> int:
    """Return how many threads a local model computed a run with; 1 for a GPU, or if that is not known."""
    platforms = [*store.steps(run.run, STEP, Platform).values()]
    return (platforms[-1].threads or 1) if platforms else 1


def probed_times(experiment: Experiment, run: Callable[[SqlStore, Experiment], object]) -> CallTimes | None:
    """Return the times of calls in a few conversations of a line each, which are kept in no file.

    Args:
        run: Runs an experiment in a store, in this process.

    Raises:
        TertuliaError: They can't be run.
    """
    settings = [*experiment.settings.items()]
    chosen = dict([settings[0], settings[-1]])  # one of them may cost more
    shape = {"name": "probe", "rounds": 1, "plan": "", "baseline": None, "cases": experiment.cases[:1]}
    probe = experiment.model_copy(update=shape | {"settings": chosen, "trials": _PROBED // len(chosen)})
    with SqlStore.open(MEMORY, create=True) as store:
        run(store, probe)
        return recorded_times(store, experiment.model, f"as a probe of {_PROBED} lines has it")


def parallel(cohorts: int, workers: int) -> float:
    """Return how many times as fast so many workers are as one: the last cohorts may leave some without."""
    return cohorts / ceil(cohorts / workers)
