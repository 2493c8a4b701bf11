"""Launching runs from Python: their arguments checked, driven in a thread of their own, with a progress bar."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from state.seat import Ask
from storage.store import SqliteStore
from tertulia.arguments import (
    SEED,
    check_additions,
    check_names,
    check_texts,
    named_as_arguments,
    path_of,
    whole_number,
)
from tertulia.driver import drive_run
from tertulia.engines import ModelAccess
from tertulia.events import Emit, RunStarted
from tertulia.progress_bar import ProgressBar
from tertulia.session import Drive, events_of
from tertulia.starting import Additions, RunPlan, begin, plan_run, reopen
from tertulia.store_handle import StoreFileHandle

if TYPE_CHECKING:
    from nodes.machinery.node import Node
    from nodes.mechanisms.mechanism import Mechanism
    from state.context import Context

#: Opens the models of a run in an open store, in the thread that drives it, and returns the run's context.
Opening = Callable[[SqliteStore], "Context"]


class RunLauncher:
    """Plans runs and drives them for Python code; has the store, additions, and access to models.

    Attributes:
        store: The store file.
        additions: Nodes and mechanisms of the user's own.
    """

    def __init__(
        self,
        store: StoreFileHandle,
        nodes: "Mapping[str, Node | str] | None",
        mechanisms: "Sequence[Mechanism]",
        extensions: Sequence[Path | str],
        cache: Path | str | None,
        api_keys: Mapping[str, str] | None,
        accept_changed: bool = False,
    ) -> None:
        """Take the arguments of `run`, `Run.fork` and `Run.resume` under their names there."""
        store.check_open()
        self.store = store
        if nodes or mechanisms or extensions:
            check_additions(nodes or {}, mechanisms, extensions)
        check_texts("api_keys", api_keys, "keys are given by variable: api_keys={'OPENAI_API_KEY': …}")
        self._nodes = dict(nodes or {})
        objects = [node for node in self._nodes.values() if not isinstance(node, str)]
        self.additions = Additions([os.fspath(file) for file in extensions], objects, tuple(mechanisms), accept_changed)
        keys = dict(api_keys or {})
        self._access = ModelAccess(keys=keys) if cache is None else ModelAccess(Path(path_of("cache", cache)), keys)

    @property
    def objects(self) -> dict[str, Sequence[Any]]:
        """What was handed over as Python objects, by argument; whoever goes on hands it over again."""
        return {"nodes": self.additions.nodes, "mechanisms": self.additions.mechanisms}

    def settings(self, settings: Mapping[str, Any] | None, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters by name: those given, over them the options that are given, and the chosen nodes."""
        check_texts("settings", settings, "parameters are given by name: settings={'temperature': 1.0}")
        nodes = {f"nodes.{place}": node if isinstance(node, str) else node.name for place, node in self._nodes.items()}
        given = {name: value for name, value in options.items() if value is not None}
        return {**(settings or {}), **given, **nodes}

    def plan(
        self,
        scenario: Path | str,
        settings: Mapping[str, Any] | None,
        options: Mapping[str, Any],
        *,
        model: str,
        seed: int,
        seat: str | None,
        label: str | None,
    ) -> RunPlan:
        """Return the plan of a new run (see `tertulia.starting.plan_run`)."""
        check_names(model, seat, label)
        with named_as_arguments(options):
            return plan_run(
                path_of("scenario", scenario),
                self.settings(settings, options),
                model=model,
                seed=whole_number("seed", seed, SEED),
                seat=seat,
                additions=self.additions,
                label=label,
            )

    def beginning(self, plan: RunPlan) -> Opening:
        """Return what begins a run."""
        return lambda store: begin(store, plan, self._access)

    def reopening(self, run: str) -> Opening:
        """Return what goes on with a run."""
        return lambda store: reopen(store, store.run(run), self._access, additions=self.additions)

    def drive(self, opening: Opening, ask: Ask | None) -> Drive:
        """Return a function that drives a run to its end, with a connection of its own."""

        def drive(emit: Emit) -> None:
            with SqliteStore.open(self.store.path, create=True) as store:
                drive_run(store, opening(store), emit, ask)

        return drive

    def drive_to_end(self, opening: Opening, ask: Ask | None, progress: bool) -> str:
        """Drive a run to its end, a progress bar shown meanwhile, and return its id."""
        bar, run = ProgressBar(progress), None
        try:
            for event in events_of(self.drive(opening, ask)):
                bar.show(event)
                if isinstance(event, RunStarted):
                    run = event.run.run
        except BaseException as error:
            bar.close()
            if run is not None and not isinstance(error, GeneratorExit):
                self._note_how_to_go_on(error, run, ask)
            raise
        assert run is not None  # a run that is driven has begun
        return run

    def _note_how_to_go_on(self, error: BaseException, run: str, ask: Ask | None) -> None:
        again = "".join(f", {name}=…" for name, given in (*self.objects.items(), ("ask", ask)) if given)
        note = f"run {run} is kept; to go on: tertulia.resume({run!r}, store={str(self.store.path)!r}{again})"
        error.add_note(note)
        if isinstance(error, KeyboardInterrupt):
            print(note, file=sys.stderr)
