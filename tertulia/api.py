"""The functions of the public Python API: `run`, `stream`, `resume`, `diff`; `import tertulia as tt` has them all.

Everything works inside a running event loop, as in a notebook, and outside of one: a run is driven in a thread of its
own (`tertulia.session`). The environment is not read: the store, the cache and keys are arguments.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from state.errors import SettingError, UsageError
from state.seat import Ask
from storage.store import SqliteStore
from tertulia.arguments import (
    SEED,
    check_additions,
    check_argument,
    check_names,
    check_texts,
    named_as_arguments,
    path_of,
    whole_number,
)
from tertulia.comparing import RunComparison, compare
from tertulia.driver import drive_run
from tertulia.engines import REHEARSAL, ModelAccess
from tertulia.events import Emit, Event, RunStarted
from tertulia.progress_bar import ProgressBar
from tertulia.session import Drive, events_of, stream_of
from tertulia.starting import DEFAULT_MODEL, DEFAULT_SEED, Additions, RunPlan, begin, plan_run, reopen
from tertulia.stored_run import Run, StoreFileHandle
from tertulia.stores import Store, open_store

if TYPE_CHECKING:
    from nodes.machinery.node import Node
    from nodes.mechanisms.mechanism import Mechanism
    from state.context import Context

#: The store of runs where none is named: in the current folder.
DEFAULT_STORE = "tertulia.db"

#: Opens the models of a run in an open store, in the thread that drives it, and returns the run's context.
Opening = Callable[[SqliteStore], "Context"]


def run(
    scenario: Path | str,
    *,
    removal_factor: float | None = None,
    seed: int = DEFAULT_SEED,
    rounds: int | None = None,
    minutes: float | None = None,
    order: str | None = None,
    model: str = DEFAULT_MODEL,
    rehearse: bool = False,
    settings: Mapping[str, Any] | None = None,
    label: str | None = None,
    nodes: "Mapping[str, Node | str] | None" = None,
    mechanisms: "Sequence[Mechanism]" = (),
    extensions: Sequence[Path | str] = (),
    seat: str | None = None,
    ask: Ask | None = None,
    store: Path | str | StoreFileHandle = DEFAULT_STORE,
    cache: Path | str | None = None,
    api_keys: Mapping[str, str] | None = None,
    progress: bool = True,
) -> Run:
    """Run a conversation to its end and return it.

    Where Ctrl-C, or the notebook's stop button, interrupts it, what it had is kept: `resume` goes on.

    ::

        run = tertulia.run("tidewell", removal_factor=0.5, rounds=6)
        [(turn.speaker, turn.text) for turn in run.turns]

    Args:
        scenario: A shipped name (`tidewell`, `team_building`, …), a YAML file, or `ga:FOLDER[:CASE]`.
        removal_factor: λ in [0, 1]: how much of the attended information to remove.
        seed: Seed of all draws.
        rounds: At most so many rounds (utterances, in a dialogue).
        minutes: At most so many simulated minutes.
        order: Who speaks next in a group: self_driven, rule_based, centralised, random or designated.
        model: smollm2 (embedded), a folder, a Hugging Face id, `openai:NAME`, or `http://SERVER/v1#NAME`.
        rehearse: Whether a stand-in without weights speaks.
        settings: Any other parameters, by name (`tertulia settings` lists them).
        label: What you call the run.
        nodes: By place, a node (see `scorer` and `node`) or the name of one that is shipped, or in an extension.
        mechanisms: Mechanisms of your own (see `mechanism`); in a meeting everybody may switch them on.
        extensions: Files (.py) or entry points with nodes and mechanisms.
        seat: Whose words a person types.
        ask: Asks that person: an async function from an `Invitation` to an `Answer`, or `None` where they leave.
        store: The store file.
        cache: Where converted models are kept; `~/.cache/tertulia` if it is not given.
        api_keys: Keys of remote models, by variable: `{"OPENAI_API_KEY": …}`.
        progress: Whether a progress bar is shown, where there is a terminal or a notebook.

    Raises:
        TertuliaError: The run can't be made like that, or failed; the text is the line that the command prints.
        KeyboardInterrupt: It was interrupted.
    """
    driven = Driven(store, nodes, mechanisms, extensions, cache, api_keys)
    options = {"removal_factor": removal_factor, "max_turns": rounds, "max_minutes": minutes, "order": order}
    name = REHEARSAL if rehearse else model
    plan = driven.plan(scenario, settings, options, model=name, seed=seed, seat=seat, label=label)
    return drive_with_bar(driven, driven.beginning(plan), ask, progress)


async def stream(
    scenario: Path | str,
    *,
    removal_factor: float | None = None,
    seed: int = DEFAULT_SEED,
    rounds: int | None = None,
    minutes: float | None = None,
    order: str | None = None,
    model: str = DEFAULT_MODEL,
    rehearse: bool = False,
    settings: Mapping[str, Any] | None = None,
    label: str | None = None,
    nodes: "Mapping[str, Node | str] | None" = None,
    mechanisms: "Sequence[Mechanism]" = (),
    extensions: Sequence[Path | str] = (),
    seat: str | None = None,
    ask: Ask | None = None,
    store: Path | str | StoreFileHandle = DEFAULT_STORE,
    cache: Path | str | None = None,
    api_keys: Mapping[str, str] | None = None,
) -> AsyncIterator[Event]:
    """Run a conversation and yield its events as they happen; whoever stops reading interrupts it.

    ::

        async for event in tertulia.stream("team_building", rounds=10):
            if isinstance(event, tertulia.TurnFinished):
                print(event.turn.speaker, event.turn.text)

    Args and Raises: As `run`.
    """
    driven = Driven(store, nodes, mechanisms, extensions, cache, api_keys)
    options = {"removal_factor": removal_factor, "max_turns": rounds, "max_minutes": minutes, "order": order}
    name = REHEARSAL if rehearse else model
    plan = driven.plan(scenario, settings, options, model=name, seed=seed, seat=seat, label=label)
    events = stream_of(driven.drive(driven.beginning(plan), ask))
    try:
        async for event in events:
            driven.store.check_open()
            yield event
    finally:
        await events.aclose()  # type: ignore[attr-defined]


def resume(
    run: str | Run = "@last",
    *,
    nodes: "Mapping[str, Node | str] | None" = None,
    mechanisms: "Sequence[Mechanism]" = (),
    extensions: Sequence[Path | str] = (),
    accept_changed: bool = False,
    ask: Ask | None = None,
    store: Path | str | StoreFileHandle = DEFAULT_STORE,
    cache: Path | str | None = None,
    api_keys: Mapping[str, str] | None = None,
    progress: bool = True,
) -> Run:
    """Go on with a run where it was stopped, and return it.

    Args:
        run: A run, its id, a unique beginning of it, or `@last`.
        nodes, mechanisms, extensions, accept_changed, ask, cache, api_keys, progress: As in `Run.resume`.
        store: The store file, where a run is named.

    Raises:
        TertuliaError: There is no such run, it can't go on, or it failed.
    """
    check_argument("run", run, (str, Run), "a run is expected, or its id", optional=False)
    if not isinstance(run, Run):
        run = open_store(_path_of(store)).run(run)
    return run.resume(
        nodes=nodes,
        mechanisms=mechanisms,
        extensions=extensions,
        accept_changed=accept_changed,
        ask=ask,
        cache=cache,
        api_keys=api_keys,
        progress=progress,
    )


def diff(a: Run, b: Run) -> RunComparison:
    """Return how two runs of a store differ, to the last record; ids, lineage and wall-clock times are disregarded.

    Raises:
        UsageError: They lie in two stores.
    """
    for name, run in (("a", a), ("b", b)):
        if not isinstance(run, Run):
            raise SettingError(name, run, ": a run is expected; open_store(…).run(ID) returns one")
    if a.store.path.resolve() != b.store.path.resolve():
        raise UsageError(f"{a.id} lies in {a.store.path} and {b.id} in {b.store.path}; compare runs of one store")
    with a.store.opened() as store:
        return compare(store, a.id, b.id)


class Driven:
    """What driving a run from Python takes besides its plan: the store, additions, and access to models.

    Attributes:
        store: The store file.
        additions: Nodes and mechanisms of the user's own.
    """

    def __init__(
        self,
        store: Path | str | StoreFileHandle,
        nodes: "Mapping[str, Node | str] | None",
        mechanisms: "Sequence[Mechanism]",
        extensions: Sequence[Path | str],
        cache: Path | str | None,
        api_keys: Mapping[str, str] | None,
        accept_changed: bool = False,
    ) -> None:
        """Take the arguments of `run`, `Run.fork` and `Run.resume` under their names there."""
        self.store = store if isinstance(store, StoreFileHandle) else Store(store)
        self.store.check_open()
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
        """Return what drives a run to its end, with a connection of its own."""

        def drive(emit: Emit) -> None:
            with SqliteStore.open(self.store.path, create=True) as store:
                drive_run(store, opening(store), emit, ask)

        return drive


def drive_with_bar(driven: Driven, opening: Opening, ask: Ask | None, progress: bool) -> Run:
    """Drive a run to its end, a progress bar shown meanwhile, and return it."""
    bar, run = ProgressBar(progress), None
    try:
        for event in events_of(driven.drive(opening, ask)):
            bar.show(event)
            if isinstance(event, RunStarted):
                run = Run(driven.store, event.run.run)
    except BaseException as error:
        bar.close()
        if run is not None and not isinstance(error, GeneratorExit):
            again = "".join(f", {name}=…" for name, given in (*driven.objects.items(), ("ask", ask)) if given)
            store = str(driven.store.path)
            way_on = f"run {run.id} is kept; to go on: tertulia.resume({run.id!r}, store={store!r}{again})"
            error.add_note(way_on)
            if isinstance(error, KeyboardInterrupt):
                print(way_on, file=sys.stderr)
        raise
    assert run is not None  # a run that is driven has begun
    return run


def _path_of(store: Path | str | StoreFileHandle) -> Path:
    return store.path if isinstance(store, StoreFileHandle) else Path(path_of("store", store))
