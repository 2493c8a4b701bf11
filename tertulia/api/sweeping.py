"""`sweep` of the public Python API: many conversations at once, in every combination of the values of parameters."""

import os
import warnings
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from tertulia.api.arguments import MODEL, check_given_once, limits_of, speaking_model
from tertulia.api.calling import awaitable
from tertulia.api.experiment import Experiment
from tertulia.api.kept_cases import Cases, named_by, named_cases
from tertulia.api.progress_bar import TrialBar
from tertulia.api.store_handle import StoreHandle
from tertulia.api.stores import Store
from tertulia.lab.executors.choosing import LOCAL, executor_of
from tertulia.lab.experiments import experiment as definitions
from tertulia.lab.experiments.cautions import cautions
from tertulia.lab.experiments.estimating import forecast
from tertulia.lab.experiments.progress import ExperimentProgress
from tertulia.lab.experiments.reached import Progress, progress_of
from tertulia.lab.experiments.running import run_experiment
from tertulia.lab.experiments.sweeping import sweep_experiment
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.access.named_files import remember_files
from tertulia.runs.driving.events import Emit, Noted
from tertulia.runs.driving.limits import Limits
from tertulia.runs.driving.session import events_of
from tertulia.runs.planning.additions import Additions, additions_of
from tertulia.runs.planning.request import DEFAULT_MODEL
from tertulia.state.budget import Budget
from tertulia.state.errors import SettingError, StoppedError
from tertulia.state.parameters import ALIASES
from tertulia.state.text import clean
from tertulia.state.wrong_arguments import (
    SEED,
    check_argument,
    check_texts,
    path_of,
    refusal,
    whole_number,
    with_named_arguments,
)
from tertulia.storage.addresses import DEFAULT_STORE, StoreAddress

#: A value of a parameter, or several, which are an axis.
Values = Any

_LAMBDA = "removal_factor"


@with_named_arguments
def sweep(
    cases: Cases,
    *,
    removal_factor: float | Iterable[float] | None = None,
    trials: int = 10,
    rounds: int | None = None,
    seed: int | None = None,
    model: str | None = None,
    rehearse: bool = False,
    settings: Mapping[str, Values] | None = None,
    name: str | None = None,
    side_by_side: int = 10,
    workers: int | None = None,
    additions: Additions | None = None,
    budget: Budget | None = None,
    store: StoreAddress | str | StoreHandle = DEFAULT_STORE,
    cache: Path | str | None = None,
    api_keys: Mapping[str, str] | None = None,
    progress: bool = True,
) -> Experiment:
    """Run cases in every setting, many trials of each, and return them as an experiment.

    It is the experiment of `tertulia sweep`, under the same name and with the same conversations. Called again, it runs
    the missing trials: of more λ, more trials, and those interrupted or failed.

    ::

        experiment = tertulia.sweep("tidewell:all", removal_factor=[0, 0.5, 1], trials=5, rounds=6)
        experiment.measure("dist2", "sim")
        experiment.plot("dist3")

    Args:
        cases: Scenarios as `run` takes them, `Case` and `Meeting` objects among them (those that are in no file are
            written to the folder `STORE.cases`); `NAME:all` for all cases of a town or a log; or `RUN@TURN` alone, for
            trials that go on from a turn of a run of the store.
        removal_factor: λ in [0, 1], or several; without it, that of the scenario.
        trials: Conversations of each case in each setting, from 1; trial t has the seed `seed` + t − 1.
        rounds: At most so many rounds of each (utterances, in a dialogue).
        seed: Seed of the first trial; 1 if it is not given.
        model: As in `run`.
        rehearse: Whether a stand-in without weights speaks, in place of a model.
        settings: Other parameters by name; a list is an axis, and each combination of axes' values a setting, such as
            `λ = 0.5, temperature = 1`.
        name: Name of the experiment; else that follows from all that is given but λ and trials.
        side_by_side: Conversations whose calls of models meet in batches.
        workers: At most so many processes, 1 for this one; by default as many as suit model and machine.
        additions: Extensions whose nodes and mechanisms the settings name (`Additions`).
        budget: The budget of all trials and workers together (`Budget`).
        store, cache, api_keys, progress: As in `run`.

    Raises:
        BudgetError: A budget is spent: called again, it goes on, with a new budget or none.
        StoppedError: It was stopped (`Experiment.stop`, `tertulia stop`); likewise.
        TertuliaError: It can't be run like that; the text is the line that the command prints. A trial that fails is a
            warning, and does not stop the others.
        KeyboardInterrupt: It was interrupted; called again, it goes on.
    """
    handle = store if isinstance(store, StoreHandle) else Store(store)
    handle.check_open()
    check_argument("model", model, str, MODEL)
    check_argument("name", name, str, "an experiment is named by a text")
    speaker, added = speaking_model(model, rehearse), additions_of(additions)
    if given := next((name for name in ("nodes", "mechanisms") if getattr(added, name)), None):
        raise refusal(given, getattr(added, given), "trials take files: extensions=['FILE']; settings choose")
    _check_counts(trials=trials, rounds=rounds, side_by_side=side_by_side, workers=workers)
    axes, common = _axes_and_settings(removal_factor, settings)
    limits = limits_of(budget)
    names, objects = named_cases(cases, handle)
    named_files, named_models = named_by(objects)
    files = [*(os.fspath(file) for file in added.extensions), *named_files]
    defined = partial(sweep_experiment, trials=trials, rounds=rounds, name=name, cohort_size=side_by_side)
    with handle.opened() as opened:
        experiment = defined(
            names,
            None,
            common,
            seed=None if seed is None else whole_number("seed", seed, SEED),
            model=speaker,
            extensions=files,
            store=opened,
            axes=axes,
        )
        for caution in cautions(opened, experiment, additions=Additions(extensions=files)):
            warnings.warn(caution, stacklevel=3)
    access = _access(experiment, [model or DEFAULT_MODEL, *named_models], cache, api_keys)
    _run(handle, experiment, access, replace(added, extensions=files), workers, progress, limits)
    return Experiment(handle, experiment.name, experiment)


asweep = awaitable(
    sweep,
    """Run cases in every setting without blocking the event loop, and return the experiment (see `sweep`).

    If the task is cancelled, the experiment is interrupted as by Ctrl-C; called again, it goes on.
    """,
)


def _access(
    experiment: definitions.Experiment,
    models: Iterable[str],
    cache: Path | str | None,
    keys: Mapping[str, str] | None,
) -> ModelAccess:
    """Return the access to the models that the program names, in settings too."""
    check_texts("api_keys", keys, "keys are given by variable: api_keys={'OPENAI_API_KEY': …}")
    access = ModelAccess(keys=dict(keys or {}))
    if cache is not None:
        access = replace(access, cache=Path(path_of("cache", cache)))
    chosen = [value for values in experiment.settings.values() for value in values.values() if isinstance(value, str)]
    return access.naming([*models, *chosen])


def _run(
    handle: StoreHandle,
    experiment: definitions.Experiment,
    access: ModelAccess,
    additions: Additions,
    workers: int | None,
    progress: bool,
    limits: Limits,
) -> None:
    """Run the missing trials in a thread of their own, with a progress bar."""
    with handle.opened() as opened:
        counts = ExperimentProgress(progress_of(opened, experiment))
    bar = TrialBar(progress, experiment.name, counts)
    remember_files(experiment.files(), access.trust)

    def drive(emit: Emit) -> None:
        with handle.opened() as store:

            def announce(before: Progress) -> None:
                counts.begin(before)
                if bar.is_shown:
                    forecast(store, counts, additions, workers)

            executor = executor_of(LOCAL, store, access, additions, workers, limits=limits)
            run_experiment(store, experiment, executor, emit, announce)

    try:
        with bar, closing(events_of(drive)) as events:
            for event in events:
                if counts.note(event) and isinstance(event, Noted):
                    warnings.warn(clean(event.text), stacklevel=4)
                bar.show(event)
    except StoppedError as stopped:
        stopped.add_note(f"experiment {experiment.name} is kept ({counts.text}); the same call goes on")
        raise
    if counts.failed:
        run, error = next(iter(counts.failed.items()))
        failed = f"{len(counts.failed)} of {counts.total} trials failed, the first of them run {run}: {error}"
        warnings.warn(f"{failed}; the same call tries them again", stacklevel=4)


def _axes_and_settings(
    removal_factor: object, settings: Mapping[str, Values] | None
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the values of the parameters that differ, λ first, and the others as the command line has them."""
    check_texts("settings", settings, "parameters are given by name: settings={'temperature': [0.7, 1.0]}")
    given = dict(settings or {})
    if "seed" in given:
        raise SettingError("seed", given["seed"], ": it is an argument, seed=…, beside settings")
    check_given_once(given, {_LAMBDA: removal_factor})
    axes = {ALIASES.get(name, name): _listed(name, value) for name, value in given.items() if _is_axis(value)}
    common = {name: _as_typed(value) for name, value in given.items() if not _is_axis(value)}
    if removal_factor is not None:
        values: Iterable[Any] = removal_factor if _is_axis(removal_factor) else [removal_factor]
        axes = {_LAMBDA: _listed(_LAMBDA, values), **axes}
    if _LAMBDA in axes:
        axes = {_LAMBDA: [*map(_factor, axes[_LAMBDA])], **{axis: v for axis, v in axes.items() if axis != _LAMBDA}}
    return axes, common


def _is_axis(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)


def _listed(name: str, values: Iterable[Any]) -> list[Any]:
    """Return the values of an axis, those of numpy as Python's."""
    if isinstance(values, set | frozenset):
        raise refusal(name, values, f"a set has no order; give a list: {name}=[…]")
    found = [value.item() if hasattr(value, "item") else value for value in values]
    if not found:
        raise refusal(name, values, "a list of values has at least one")
    return found


def _factor(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise refusal(_LAMBDA, value, f"λ is a number from 0 to 1: {_LAMBDA}=[0, 0.5, 1]")
    return float(value)


def _as_typed(value: object) -> str:
    """Return a value as `--set` takes it, so that experiment and name are those of the command."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_counts(**counts: object) -> None:
    expected = "a whole number from 1 is expected"
    for name, value in counts.items():
        if value is not None and whole_number(name, value, expected) < 1:
            raise refusal(name, value, expected)
