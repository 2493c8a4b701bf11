"""Estimate the cost of an experiment: a few of its trials are rehearsed, and the calls are counted.

The time follows: a call takes as long as such calls took here before (`call_times.py`), and an utterance besides as
long as a rehearsed one. docs/laboratory.md has forecasts beside the true times.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tertulia.lab.experiments.call_times import CallTimes, parallel, probed_times, recorded_times
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.fork_points import parents_of, plan_case
from tertulia.lab.experiments.progress import ExperimentProgress, duration
from tertulia.lab.experiments.reached import Progress, progress_of
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.models.local.embedded import is_embedded
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.estimating import Estimate, estimate
from tertulia.runs.driving.events import ignore
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.runs.planning.starting import RunPlan
from tertulia.state.errors import TertuliaError
from tertulia.state.language_model import REHEARSAL
from tertulia.state.text import counted
from tertulia.storage.store import SqlStore

#: Most settings that are named.
_NAMED = 8

#: Trials that are rehearsed: so many at least, of so many settings at most, for about so many seconds.
_LEAST, _MOST, _REHEARSING_S = 4, 8, 3.0

#: Seconds until trials begin: a worker process starts; a local model and its embedder are loaded.
_STARTING_S, _LOADING_S = 1.0, 5.0

#: Runs an experiment in a store of its own, in this process.
Probe = Callable[[SqlStore, Experiment], object]


@dataclass(frozen=True)
class ExperimentEstimate:
    """The cost of the missing trials, as rehearsed on the first case; tokens are the stand-in's.

    Attributes:
        seconds: The time that they take; `None` if no call of the model was ever timed.
        source: Where the times of calls are from, in words.
    """

    trials: int
    of_trials: int
    utterances: int
    calls: int
    prompt_tokens: int
    reply_tokens: int
    seconds: float | None
    source: str

    @property
    def time(self) -> str:
        """How long they take, in words."""
        if self.seconds is None:
            return "not known before the first utterances: this store has no conversation of the model"
        return f"about {duration(self.seconds)}, {self.source}"

    def lines(self, experiment: Experiment) -> list[str]:
        """Return it in words, a line each."""
        return [
            f"experiment {experiment.name}: {self.trials} of {self.of_trials} trials to run",
            f"{self.utterances} utterances, {self.calls} calls, {self.prompt_tokens} tokens to read and "
            f"{self.reply_tokens} to write, as rehearsed on {experiment.cases[0]}",
            f"time with {experiment.model}: {self.time}",
        ]


def estimate_experiment(
    store: SqlStore,
    reached: Progress,
    additions: Additions = NOTHING_ADDED,
    workers: int | None = None,
    probe: Probe | None = None,
) -> ExperimentEstimate:
    """Return the cost of the missing trials of an experiment.

    Args:
        workers: The most worker processes; `None` for as many as suit this machine.
        probe: Runs a few lines of the embedded model if the store has no conversation of it.

    Raises:
        TertuliaError: A setting can't be run.
    """
    experiment = reached.experiment
    missing = Counter(setting for _, setting, _ in reached.left)
    samples = _rehearsed(store, reached, additions)
    means = {setting: _summed([(1 / len(found), each) for each in found]) for setting, found in samples.items()}
    mean_of_all = _summed([(1 / len(means), mean) for mean in means.values()])  # of settings that were not rehearsed
    of_all = _summed([(number, means.get(setting, mean_of_all)) for setting, number in missing.items()])
    pace = min((each.seconds / max(1.0, each.turns) for found in samples.values() for each in found), default=0.0)
    known = _call_times(store, experiment, probe) if missing else None
    seconds = _seconds(reached, of_all.calls, pace * of_all.turns, workers, known) if missing else None
    return ExperimentEstimate(
        len(reached.left),
        len([*experiment.places()]),
        round(of_all.turns),
        round(sum(of_all.calls.values())),
        round(of_all.prompt_tokens),
        round(of_all.reply_tokens),
        seconds=seconds,
        source="as rehearsed just now" if known is None else known.source,
    )


@dataclass(frozen=True)
class _Counts:
    """Turns, tokens, seconds, and calls by node of conversations; fractions in a mean."""

    turns: float
    prompt_tokens: float
    reply_tokens: float
    seconds: float
    calls: Mapping[str, float]


def _counts(rehearsed: Estimate, seconds: float) -> _Counts:
    read = sum(call.prompt_tokens or 0 for call in rehearsed.calls)
    written = sum(call.reply_tokens or 0 for call in rehearsed.calls)
    return _Counts(rehearsed.turns, read, written, seconds, Counter(call.node for call in rehearsed.calls))


def _summed(parts: Sequence[tuple[float, _Counts]]) -> _Counts:
    """Return a weighted sum."""
    nodes = dict.fromkeys(node for _, each in parts for node in each.calls)
    calls = {node: sum(weight * each.calls.get(node, 0.0) for weight, each in parts) for node in nodes}
    turns, read, written, seconds = (
        sum(weight * getattr(each, name) for weight, each in parts)
        for name in ("turns", "prompt_tokens", "reply_tokens", "seconds")
    )
    return _Counts(turns, read, written, seconds, calls)


def _rehearsed(store: SqlStore, reached: Progress, additions: Additions) -> dict[str, list[_Counts]]:
    """Return the counts of rehearsed trials of the first case, by setting; of few settings, of several seeds."""
    experiment, began = reached.experiment, time.monotonic()
    settings = list(dict.fromkeys(setting for _, setting, _ in reached.left))[:_MOST]
    samples: dict[str, list[_Counts]] = {}
    for number in range(max(_LEAST, len(settings)) if settings else 0):
        setting = settings[number % len(settings)]
        plan = plan_case(store, experiment.cases[0], experiment.parameters(setting), experiment.model, additions)
        start = time.monotonic()
        found = estimate(replace(_from_the_start(plan), seed=experiment.seed + number // len(settings)))
        samples.setdefault(setting, []).append(_counts(found, time.monotonic() - start))
        if time.monotonic() - began > _REHEARSING_S:
            break
    return samples


def _call_times(store: SqlStore, experiment: Experiment, probe: Probe | None) -> CallTimes | None:
    """Return the times of calls, as recorded or probed; `None` if there are none, as of a rehearsal."""
    if experiment.model == REHEARSAL:
        return None
    known = recorded_times(store, experiment.model)
    if known is None and probe is not None and is_embedded(experiment.model) and not parents_of(experiment.cases):
        with suppress(TertuliaError):  # without weights there is nothing to time
            return probed_times(experiment, probe)
    return known


def _seconds(
    reached: Progress, calls: Mapping[str, float], besides_s: float, workers: int | None, known: CallTimes | None
) -> float | None:
    """Return how long so many calls take, and the rest of all utterances; `None` if the calls' times are not known."""
    from tertulia.lab.executors.local import usable_cores, workers_for

    model, tasks = reached.experiment.model, reached.tasks()
    if known is None and model != REHEARSAL:
        return None
    if known is not None and known.concurrent is not None:
        return besides_s + known.of(calls) / known.together(len(tasks[0].trials or tasks[0].runs))
    number = workers_for(tasks, workers)
    faster, starting = parallel(len(tasks), number), _STARTING_S * (number > 1)
    if known is None:
        return starting + besides_s / faster
    return starting + _LOADING_S + besides_s / faster + known.of(calls) / (faster if number > 1 else usable_cores())


def estimate_here(
    store: SqlStore, experiment: Experiment, additions: Additions, access: ModelAccess, workers: int | None = None
) -> ExperimentEstimate:
    """Return the cost of the missing trials; the embedded model speaks a few lines if the store has none of it.

    Raises:
        TertuliaError: A setting can't be run.
    """

    def probe(memory: SqlStore, few: Experiment) -> None:
        run_experiment(memory, few, InProcessExecutor(memory, access, additions), ignore)

    return estimate_experiment(store, progress_of(store, experiment), additions, workers, probe)


def forecast(
    store: SqlStore, counts: ExperimentProgress, additions: Additions, workers: int | None = None, is_here: bool = True
) -> str:
    """Tell a progress how much is expected of the missing trials, and return it in a line.

    Args:
        is_here: Whether this machine alone runs them.
    """
    reached = counts.before
    parts = [f"experiment {reached.experiment.name}: {reached.missing} of {counted(counts.total, 'trial')} to run"]
    if reached.missing and not additions.extensions:  # nodes of a user may do more than count
        with suppress(TertuliaError):  # then the trials themselves say why
            found = estimate_experiment(store, reached, additions, workers)
            counts.expect(found.utterances, found.seconds if is_here else None)
            parts.append(f"about {counted(found.utterances, 'utterance')}")
            parts += [found.time] if is_here and found.seconds is not None else []
    return ", ".join(parts)


def _from_the_start(plan: RunPlan) -> RunPlan:
    """Return a plan that needs no stored run: instead of a fork's new turns, as many of a conversation that begins."""
    if plan.parent is None:
        return plan
    new = plan.parameters.max_turns - (plan.parent[1] - 1)
    return replace(plan, parent=None, parameters=plan.parameters.model_copy(update={"max_turns": new}))


def missing_phrase(store: SqlStore, reached: Progress) -> str:
    """Return which conversations are missing, by setting, and how long they would take, or why that is not known."""
    by_setting = Counter(setting for _, setting, _ in reached.left)
    named = [f"{setting}: {number}" for setting, number in by_setting.most_common(_NAMED)]
    named += [f"and {len(by_setting) - _NAMED} more settings"] if len(by_setting) > _NAMED else []
    try:
        found = estimate_experiment(store, reached)
        taken = f"{counted(found.utterances, 'utterance')}, time {found.time}"
    except TertuliaError as error:
        taken = f"how long they take is not known: {error}"
    of_all = len([*reached.experiment.places()])
    return (
        f"{counted(reached.missing, 'conversation')} of {of_all} of {reached.experiment.name} missing "
        f"({', '.join(named)}); {taken}"
    )
