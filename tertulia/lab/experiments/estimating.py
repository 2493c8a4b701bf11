"""Estimate the cost of an experiment: a trial of each setting is rehearsed, and the calls are counted."""

from collections import Counter
from dataclasses import dataclass, replace

from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.fork_points import plan_case
from tertulia.lab.experiments.progress import duration
from tertulia.lab.experiments.reached import Progress
from tertulia.runs.driving.estimating import estimate
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.runs.planning.starting import RunPlan
from tertulia.state.text import counted
from tertulia.storage.store import SqlStore

#: Most settings that are named.
_NAMED = 8

#: How many of the newest finished runs of a model the time is estimated from.
_RUNS_FOR_PACE = 12


@dataclass(frozen=True)
class ExperimentEstimate:
    """The cost of the missing trials, as rehearsed on the first case; tokens are the stand-in's.

    The time is at the pace of the store's runs of the same model; `None` if it has none.
    """

    trials: int
    of_trials: int
    utterances: int
    calls: int
    prompt_tokens: int
    reply_tokens: int
    seconds: float | None

    def lines(self, experiment: Experiment) -> list[str]:
        """Return it in words, a line each."""
        time = "unknown before the first trials" if self.seconds is None else f"about {duration(self.seconds)}"
        return [
            f"experiment {experiment.name}: {self.trials} of {self.of_trials} trials to run",
            f"{self.utterances} utterances, {self.calls} calls, {self.prompt_tokens} tokens to read and "
            f"{self.reply_tokens} to write, as rehearsed on {experiment.cases[0]}",
            f"time with {experiment.model}: {time}",
        ]


def estimate_experiment(store: SqlStore, reached: Progress, additions: Additions = NOTHING_ADDED) -> ExperimentEstimate:
    """Return the cost of the missing trials of an experiment.

    Raises:
        TertuliaError: A setting can't be run.
    """
    experiment = reached.experiment
    left = reached.left
    totals = {"utterances": 0, "calls": 0, "prompt_tokens": 0, "reply_tokens": 0}
    for setting in experiment.settings:
        number = sum(place[1] == setting for place in left)
        if not number:
            continue
        parameters = experiment.parameters(setting)
        plan = plan_case(store, experiment.cases[0], parameters, experiment.model, additions)
        rehearsed = estimate(_from_the_start(plan))
        totals["utterances"] += number * rehearsed.turns
        totals["calls"] += number * len(rehearsed.calls)
        totals["prompt_tokens"] += number * sum(call.prompt_tokens or 0 for call in rehearsed.calls)
        totals["reply_tokens"] += number * sum(call.reply_tokens or 0 for call in rehearsed.calls)
    pace = _seconds_a_turn(store, experiment.model)
    seconds = None if pace is None else pace * totals["utterances"]
    return ExperimentEstimate(len(left), len([*experiment.places()]), seconds=seconds, **totals)


def _from_the_start(plan: RunPlan) -> RunPlan:
    """Return a plan that needs no stored run: instead of a fork's new turns, as many of a conversation that begins."""
    if plan.parent is None:
        return plan
    new = plan.parameters.max_turns - (plan.parent[1] - 1)
    return replace(plan, parent=None, parameters=plan.parameters.model_copy(update={"max_turns": new}))


def _seconds_a_turn(store: SqlStore, model: str) -> float | None:
    """Return how many seconds of the model a turn took in the newest trials of a store."""
    runs = [run for run in store.runs(status="finished") if run.model == model and run.trial is not None]
    runs = runs[:_RUNS_FOR_PACE]
    turns = sum(run.turns - (run.parent[1] - 1 if run.parent else 0) for run in runs)
    seconds = sum(call.seconds or 0.0 for run in runs for call in store.calls(run.run))
    return seconds / turns if turns else None


def missing_phrase(store: SqlStore, reached: Progress) -> str:
    """Return which conversations are missing, by setting, and how long they would take.

    Raises:
        TertuliaError: A setting can't be run.
    """
    by_setting = Counter(setting for _, setting, _ in reached.left)
    named = [f"{setting}: {number}" for setting, number in by_setting.most_common(_NAMED)]
    named += [f"and {len(by_setting) - _NAMED} more settings"] if len(by_setting) > _NAMED else []
    found = estimate_experiment(store, reached)
    unknown = "how long they take is not known before the first"
    about = unknown if found.seconds is None else f"about {duration(found.seconds)}"
    return (
        f"{counted(found.trials, 'conversation')} of {found.of_trials} of {reached.experiment.name} missing "
        f"({', '.join(named)}); {counted(found.utterances, 'utterance')}, {about}"
    )
