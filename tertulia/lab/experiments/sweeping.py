"""The experiment of `tertulia sweep` and `tertulia.sweep`: scenarios × λ, or the product of several axes, × trials."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any

from tertulia.lab.experiments.axes import value_in_words
from tertulia.lab.experiments.experiment import Experiment, Setting, checked, experiment_with
from tertulia.lab.experiments.fork_points import checked_fork_point, given_fork_point
from tertulia.runs.planning.request import DEFAULT_MODEL, DEFAULT_SEED
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.parameters import NodeSetting
from tertulia.storage.store import SqlStore

#: The axis of the command, and the symbol by which settings are named after it.
_LAMBDA, _SYMBOL = "removal_factor", "λ"

#: The values of parameters that differ between settings, by parameter.
Axes = Mapping[str, Sequence[NodeSetting | None]]


def sweep_experiment(
    scenarios: Sequence[str],
    lambdas: str | None,
    settings: Mapping[str, Any],
    *,
    trials: int,
    rounds: int | None,
    seed: int | None,
    model: str | None,
    name: str | None = None,
    cohort_size: int = 10,
    extensions: Sequence[str] | None = None,
    store: SqlStore | None = None,
    axes: Axes = MappingProxyType({}),
) -> Experiment:
    """Return an experiment with a setting for every value of λ, or every combination of the values of several axes.

    Args:
        scenarios: As `tertulia run` takes them, or with `:all`; or a turn of a run of the store, `RUN@TURN`.
        lambdas: Values of λ, separated by commas; without them, one setting with the λ of the scenarios.
        trials, rounds, seed, model, cohort_size: As in `Experiment`, `None` for the usual value; from a turn of a run,
            rounds are new turns, and seed and model those of the run if they are `None`.
        name: Its name; without one it is named after all that is given but λ and trials, so that more of either belong
            to the same experiment.
        axes: By parameter, its values; `removal_factor` among them replaces `lambdas`. An experiment with other axes
            than λ is named after these, too.

    Raises:
        TertuliaError: It can't be run like that.
    """
    if store is not None and (given := given_fork_point(scenarios)) is not None:
        point, parent = checked_fork_point(store, given)
        scenarios, model = [point.case], model or parent.model
        seed = parent.seed if seed is None else seed
    seed, model = DEFAULT_SEED if seed is None else seed, model or DEFAULT_MODEL
    common: Setting = dict(settings)
    if lambdas is not None:
        axes = {_LAMBDA: read_lambdas(lambdas), **axes}
    named = _settings_of(axes, common)
    if name is None:
        others = sorted(axes.keys() - {_LAMBDA})
        parts = [sorted(scenarios), common, rounds, seed, model, *([others] if others else [])]
        same = json.dumps(parts, sort_keys=True, default=str)
        digest = hashlib.blake2b(same.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
        name = f"{re.sub(r'[^a-z0-9]+', '-', scenarios[0].lower()).strip('-')[-40:]}-{digest}"
    values = {
        "name": name,
        "cases": tuple(scenarios),
        "settings": named,
        "trials": trials,
        "rounds": rounds,
        "seed": seed,
        "model": model,
        "cohort_size": cohort_size,
    }
    return checked(experiment_with(values), extensions or (), store)


def _settings_of(axes: Axes, common: Setting) -> dict[str, Setting]:
    """Return a setting for every combination of values, named after them; the only one without axes is `as set`."""
    settings: dict[str, Setting] = {}
    for values in product(*axes.values()):
        unsigned = (value or 0.0 if isinstance(value, float) else value for value in values)  # −0 is no other setting
        chosen: Setting = dict(zip(axes, unsigned, strict=True))
        name = ", ".join(f"{_symbol(axis)} = {value_in_words(value)}" for axis, value in chosen.items()) or "as set"
        if name in settings:
            way = "leave one out" if settings[name] == {**chosen, **common} else "take values that differ in six digits"
            raise UsageError(f"two settings would be called {name!r}; {way}")
        settings[name] = {**chosen, **common}
    return settings


def _symbol(parameter: str) -> str:
    return _SYMBOL if parameter == _LAMBDA else parameter


def read_lambdas(text: str) -> list[float]:
    """Return values of λ as a user wrote them, with commas between them.

    Raises:
        SettingError: One is no number from 0 to 1, or there twice; the message has what was probably meant.
    """
    numbers = [_number(part) for part in text.split(",")]
    values = [value for value in numbers if value is not None and 0 <= value <= 1]
    if len(values) == len(numbers):
        if len(once := dict.fromkeys(values)) < len(values):
            several = ",".join(f"{value:g}" for value in once)
            raise SettingError("lambda", text, f": a value is there more than once; did you mean {several}?")
        return values
    problem = ": λ is a number from 0 to 1, and several have commas between them"
    parts = [part.replace(",", ".") for part in re.split(r"[;\s]+", text.strip("[](); "))]
    if len(parts) == 1 and re.fullmatch(r"[01],[0-9]+", text.strip()):
        raise SettingError("lambda", text, f"{problem}; did you mean {parts[0]}, or several, as in 0,0.5,1?")
    meant = [number for part in parts if (number := _number(part)) is not None and 0 <= number <= 1]
    if len(meant) == len(parts):
        raise SettingError("lambda", text, f"{problem}; did you mean {','.join(parts)}?")
    raise SettingError("lambda", text, f"{problem}, as in 0,0.5,1")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
