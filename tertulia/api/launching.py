"""Launch runs from Python: check their arguments, and drive them in a thread with a progress bar."""

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.api.arguments import ASK, MODEL, check_given_once, check_names, named_as_arguments
from tertulia.api.progress_bar import ProgressBar
from tertulia.api.store_handle import StoreHandle
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.driving.events import Emit, Noted, RunStarted
from tertulia.runs.driving.limits import Limits
from tertulia.runs.driving.session import Drive, events_of
from tertulia.runs.planning.additions import Additions, additions_of
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import RunPlan, begin, plan_run, reopen
from tertulia.state.errors import SettingError
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.state.seat import Ask
from tertulia.state.text import clean
from tertulia.state.wrong_arguments import BY_NAME, SEED, check_argument, check_texts, path_of, refusal, whole_number
from tertulia.storage.store import SqlStore
from tertulia.worlds.scenario_object import ScenarioObject

if TYPE_CHECKING:
    from tertulia.nodes.machinery.node import Node
    from tertulia.nodes.mechanisms.mechanism import Mechanism
    from tertulia.state.context import Context

#: Opens the models of a run in an open store, in the thread that drives it, and returns the run's context.
Opening = Callable[[SqlStore], "Context"]


class RunLauncher:
    """Plans runs and drives them for Python code."""

    def __init__(
        self,
        store: StoreHandle,
        additions: Additions | None,
        cache: Path | str | None,
        api_keys: Mapping[str, str] | None,
    ) -> None:
        """Take the arguments of `run`, `Run.fork` and `Run.resume` under their names there."""
        store.check_open()
        self.store, self.additions = store, additions_of(additions)
        check_texts("api_keys", api_keys, "keys are given by variable: api_keys={'OPENAI_API_KEY': …}")
        keys = dict(api_keys or {})
        self._access = ModelAccess(keys=keys) if cache is None else ModelAccess(Path(path_of("cache", cache)), keys)

    def request(
        self,
        settings: Mapping[str, Any] | None,
        options: Mapping[str, Any],
        *,
        removal_factor: float | None,
        model: str | None,
        seed: int | None,
        seat: str | None,
        label: str | None,
    ) -> RunRequest:
        """Return what a plan is given, checked: the settings with the given options over them, and the rest."""
        check_names(model, seat, label)
        check_texts("settings", settings, BY_NAME)
        if settings and "seed" in settings:
            raise SettingError("seed", settings["seed"], ": it is an argument, seed=…, beside settings")
        check_given_once(settings or {}, {"removal_factor": removal_factor, "seat": seat, **options})
        chosen = {**(settings or {}), **{name: value for name, value in options.items() if value is not None}}
        drawn = None if seed is None else whole_number("seed", seed, SEED)
        return RunRequest(chosen, removal_factor, model, drawn, seat, self.additions, label)

    def plan(self, scenario: Path | str | ScenarioObject, request: RunRequest, options: Mapping[str, Any]) -> RunPlan:
        """Return the plan of a new run; a parameter that is refused is named as the option that set it."""
        check_argument("model", request.model, str, MODEL, optional=False)
        check_argument("seed", request.seed, int, SEED, optional=False)
        with named_as_arguments(options):
            return plan_run(_scenario(scenario), request)

    def check_resumed(self, run: RunRecord) -> None:
        """Refuse nodes and mechanisms that differ from those of a run.

        Raises:
            SettingError: The run has another node in a place, or was begun without a mechanism.
            ExtensionError: The source of one differs from the record, or can't be read.
        """
        from tertulia.nodes.machinery.extensions import check_objects
        from tertulia.nodes.machinery.objects import PREFIX

        chosen = Parameters.model_validate(run.parameters).nodes
        way_on = "; resume goes on with what it has, fork it to change that"
        for place, node in self.additions.nodes.items():
            name, has = node if isinstance(node, str) else node.name, chosen.get(place, "its default")
            if name != has:
                raise SettingError(f"nodes.{place}", name, f": run {run.run} has {has} there{way_on}")
        recorded = {extension.source for extension in run.extensions}
        for mechanism in self.additions.mechanisms:
            if f"{PREFIX}{mechanism.name}" not in recorded:
                raise SettingError("mechanisms", mechanism.name, f": run {run.run} was begun without it{way_on}")
        objects: list[Node | Mechanism] = [*self.additions.node_objects, *self.additions.mechanisms]
        check_objects(run.extensions, objects, self.additions.accept_changed)

    def beginning(self, plan: RunPlan, limits: Limits | None = None) -> Opening:
        """Return a function that begins a run; `SettingError` if money is limited, and a model has no price."""
        if limits is not None:
            limits.budget.check_prices(plan.models)
        return lambda store: begin(store, plan, self._access)

    def reopening(self, run: str) -> Opening:
        """Return a function that reopens a run."""
        return lambda store: reopen(store, store.run(run), self._access, RunRequest(additions=self.additions))

    def drive(self, opening: Opening, ask: Ask | None, limits: Limits | None = None) -> Drive:
        """Return a function that drives a run to its end, with a connection of its own."""
        check_argument("ask", ask, Callable, ASK)  # type: ignore[arg-type]

        def drive(emit: Emit) -> None:
            with self.store.opened() as store:
                drive_run(store, opening(store), emit, ask, limits)

        return drive

    def drive_to_end(self, opening: Opening, ask: Ask | None, progress: bool, limits: Limits) -> str:
        """Drive a run to its end with a progress bar, and return its id."""
        bar, run = ProgressBar(progress), None
        try:
            with closing(events_of(self.drive(opening, ask, limits))) as events:
                for event in events:
                    if isinstance(event, RunStarted):
                        run = event.run
                    if isinstance(event, Noted):
                        warnings.warn(clean(event.text), stacklevel=4)
                    bar.show(event)
        except BaseException as error:
            bar.close()
            if run is not None and not isinstance(error, GeneratorExit):
                self._note_how_to_go_on(error, run, ask)
            raise
        assert run is not None  # a run that is driven has begun
        return run

    def _note_how_to_go_on(self, error: BaseException, run: str, ask: Ask | None) -> None:
        objects = [*self.additions.node_objects, *self.additions.mechanisms]
        again = "".join(f", {name}=…" for name, given in (("additions", objects), ("ask", ask)) if given)
        note = f"run {run} is kept; to go on: tertulia.resume({run!r}, store={str(self.store.path)!r}{again})"
        error.add_note(note)
        if isinstance(error, KeyboardInterrupt):
            print(note, file=sys.stderr)


def _scenario(given: Any) -> str | ScenarioObject:
    """Return the scenario to run: a name, a file, or an object; raise `SettingError` for anything else."""
    if isinstance(given, ScenarioObject):
        return given
    if not isinstance(given, str | os.PathLike):
        expected = "a scenario is a name, a file, or a tertulia.Case, tertulia.Meeting or tertulia.Population"
        raise refusal("scenario", given, f"{expected}; tertulia.sweep takes several")
    return path_of("scenario", given)
