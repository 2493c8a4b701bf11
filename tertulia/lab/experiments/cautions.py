"""Limits of an experiment, told before it begins: models that do not exist, one case, and settings without effect."""

from collections.abc import Iterator, Sequence

from tertulia.lab.experiments.experiment import Experiment, more_cases
from tertulia.lab.experiments.fork_points import fork_point_of, plan_case
from tertulia.lab.experiments.reached import progress_of
from tertulia.models.loading import check_model
from tertulia.runs.access.model_names import names_of_models
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.runs.planning.starting import RunPlan
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import ALIASES, parameter_groups
from tertulia.state.records import Case
from tertulia.storage.store import SqlStore

#: The reason why one case decides nothing.
ONE_CASE = "One case has no interval, however many trials it has, so no test is possible"

#: The groups of parameters that no step of a kind of conversation reads.
_UNREAD = {
    "a dialogue of two": ("cognition", "floor", "album", "town"),
    "a meeting": ("album", "town"),
    "an album chat": ("cognition", "floor", "town"),
}

#: Parameters that act only with a value of another one.
_ONLY_WITH = {
    "pruning_turns": ("pruning", "first"),
    "repetition_threshold": ("pruning", "when_repetitive"),
    "sequential_candidates": ("generation", "sequential"),
    "verbalized_below": ("generation", "verbalized"),
}

#: Parameters of removal, which do nothing at λ = 0.
_OF_REMOVAL = frozenset({"removal_order", "removal_walk", "pruning", "pruning_turns", "repetition_threshold"})

#: Settings that are looked at.
_LOOKED_AT = 8


def cautions(
    store: SqlStore, experiment: Experiment, arguments: Sequence[str] = (), additions: Additions = NOTHING_ADDED
) -> Iterator[str]:
    """Yield a sentence on each limit of an experiment.

    Args:
        arguments: Those of the command that asks for it, if its cases are among them.

    Raises:
        NotFoundError: A model of trials that are missing does not exist.
        UsageError: No served model can have such a name.
    """
    case = experiment.cases[0]
    plans = [
        plan_case(store, case, experiment.parameters(setting), experiment.model, additions)
        for setting in [*experiment.settings][:_LOOKED_AT]
    ]
    if progress_of(store, experiment).missing:
        for name in {name: None for plan in plans for name in names_of_models(plan.model, plan.start, plan.parameters)}:
            check_model(name)
    if len(experiment.cases) == 1 and len(experiment.settings) > 1 and fork_point_of(case) is None:
        yield f"{ONE_CASE}. {more_cases(case, arguments)}"
    given = dict.fromkeys(ALIASES.get(name, name) for values in experiment.settings.values() for name in values)
    for name in given:
        reasons = [_why_idle(name, plan) for plan in plans]
        if None not in reasons:
            yield f"{name} does nothing here: {reasons[0]}"


def _why_idle(name: str, plan: RunPlan) -> str | None:
    """Return why a parameter does nothing in a conversation; `None` if it may do something."""
    kind = _kind_of(plan)
    unread = [group for group in parameter_groups() if group.name in _UNREAD[kind]]
    if any(name == parameter.name for group in unread for parameter in group.parameters):
        return f"{kind} never reads it"
    needed, value = _ONLY_WITH.get(name, (None, None))
    if needed is not None and getattr(plan.parameters, needed) != value:
        return f"it acts with {needed}={value}"
    if name in _OF_REMOVAL and not plan.parameters.may_remove:
        return "at λ = 0 nothing is removed"
    return None


def _kind_of(plan: RunPlan) -> str:
    if isinstance(plan.start, Case):
        return "a dialogue of two"
    return "a meeting" if isinstance(plan.start, Meeting) else "an album chat"
