"""The functions of the public Python API that drive a run: `run`, `arun`, `stream`, `resume` and `diff`.

Everything works inside a running event loop, as in a notebook, and outside of one: a run is driven in a thread of its
own (`tertulia.runs.driving.session`). The environment is not read: the store, the cache and keys are arguments.
"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.api.arguments import limits_of, speaking_model
from tertulia.api.calling import awaitable
from tertulia.api.launching import RunLauncher
from tertulia.api.store_handle import StoreHandle
from tertulia.api.stored_run import Run
from tertulia.api.stores import Store
from tertulia.runs.driving.events import Event
from tertulia.runs.driving.session import stream_of
from tertulia.runs.planning.additions import Additions
from tertulia.runs.planning.request import DEFAULT_MODEL, DEFAULT_SEED
from tertulia.state.budget import Budget
from tertulia.state.seat import Ask
from tertulia.state.wrong_arguments import check_argument, with_named_arguments
from tertulia.storage.addresses import DEFAULT_STORE, StoreAddress
from tertulia.views.reading.comparing import RunComparison

if TYPE_CHECKING:
    from tertulia.worlds.scenario_object import ScenarioObject


@with_named_arguments
def run(
    scenario: "Path | str | ScenarioObject",
    *,
    removal_factor: float | None = None,
    seed: int = DEFAULT_SEED,
    rounds: int | None = None,
    minutes: float | None = None,
    order: str | None = None,
    agents: int | None = None,
    setting: str | None = None,
    model: str = DEFAULT_MODEL,
    rehearse: bool = False,
    settings: Mapping[str, Any] | None = None,
    label: str | None = None,
    additions: Additions | None = None,
    seat: str | None = None,
    ask: Ask | None = None,
    budget: Budget | None = None,
    store: StoreAddress | str | StoreHandle = DEFAULT_STORE,
    cache: Path | str | None = None,
    api_keys: Mapping[str, str] | None = None,
    progress: bool = True,
) -> Run:
    """Run a conversation to its end and return it.

    If Ctrl-C or the notebook's stop button interrupts it, its turns are kept, and `resume` goes on.

    ::

        run = tertulia.run("tidewell", removal_factor=0.5, rounds=6)
        [(turn.speaker, turn.text) for turn in run.turns]

    Args:
        scenario: A shipped name (`tidewell`, `team_building`, …), a YAML file, `ga:FOLDER[:CASE]`, or a `Case`, a
            `Meeting` or a `Population`.
        removal_factor: λ in [0, 1]: how much of the attended information to remove.
        seed: Seed of all draws.
        rounds: At most so many rounds (utterances, in a dialogue).
        minutes: At most so many simulated minutes.
        order: How the next speaker of a group is found: self_driven, rule_based, centralised, random or designated.
        agents: In an album chat, how many take part.
        setting: In an album chat, how they are asked: low or high.
        model: smollm2 (embedded), a folder, a Hugging Face id, `openai:NAME`, or `http://SERVER/v1#NAME`.
        rehearse: Whether a stand-in without weights speaks, in place of a model.
        settings: Any other parameters, by name (`tertulia settings` lists them).
        label: Your name for the run.
        additions: Nodes, mechanisms and extensions of your own (`Additions`).
        seat: Whose words a person types.
        ask: Asks that person: an async function from an `Invitation` to an `Answer`, or `None` if they leave.
        budget: Calls, tokens, money and real time that it may take (`Budget`).
        store: The store: a file, or the address of a database, `postgresql://USER@HOST/DATABASE`.
        cache: The folder of converted models; `~/.cache/tertulia` if it is not given.
        api_keys: Keys of remote models, by variable: `{"OPENAI_API_KEY": …}`.
        progress: Whether a progress bar is shown, if there is a terminal or a notebook.

    Raises:
        BudgetError: A budget is spent: the run is interrupted, and `resume` goes on, with a new budget or none.
        StoppedError: It was stopped (`Run.stop`, `tertulia stop`); likewise.
        TertuliaError: The run can't be made like that, or failed; the text is the line that the command prints.
        KeyboardInterrupt: It was interrupted.
    """
    launcher = RunLauncher(_handle(store), additions, cache, api_keys)
    limits = limits_of(budget)
    options = {"max_turns": rounds, "max_minutes": minutes, "order": order, "agents": agents, "setting": setting}
    name = speaking_model(model, rehearse, DEFAULT_MODEL)
    request = launcher.request(
        settings, options, removal_factor=removal_factor, model=name, seed=seed, seat=seat, label=label
    )
    plan = launcher.plan(scenario, request, options)
    return Run(launcher.store, launcher.drive_to_end(launcher.beginning(plan, limits), ask, progress, limits))


@with_named_arguments
async def stream(
    scenario: "Path | str | ScenarioObject",
    *,
    removal_factor: float | None = None,
    seed: int = DEFAULT_SEED,
    rounds: int | None = None,
    minutes: float | None = None,
    order: str | None = None,
    agents: int | None = None,
    setting: str | None = None,
    model: str = DEFAULT_MODEL,
    rehearse: bool = False,
    settings: Mapping[str, Any] | None = None,
    label: str | None = None,
    additions: Additions | None = None,
    seat: str | None = None,
    ask: Ask | None = None,
    budget: Budget | None = None,
    store: StoreAddress | str | StoreHandle = DEFAULT_STORE,
    cache: Path | str | None = None,
    api_keys: Mapping[str, str] | None = None,
) -> AsyncIterator[Event]:
    """Run a conversation and yield its events as they happen. If you stop reading, it is interrupted.

    ::

        async for event in tertulia.stream("team_building", rounds=10):
            if isinstance(event, tertulia.TurnFinished):
                print(event.turn.speaker, event.turn.text)

    Args and Raises: As `run`.
    """
    launcher = RunLauncher(_handle(store), additions, cache, api_keys)
    limits = limits_of(budget)
    options = {"max_turns": rounds, "max_minutes": minutes, "order": order, "agents": agents, "setting": setting}
    name = speaking_model(model, rehearse, DEFAULT_MODEL)
    request = launcher.request(
        settings, options, removal_factor=removal_factor, model=name, seed=seed, seat=seat, label=label
    )
    plan = launcher.plan(scenario, request, options)
    events = stream_of(launcher.drive(launcher.beginning(plan, limits), ask, limits))
    try:
        async for event in events:
            launcher.store.check_open()
            yield event
    finally:
        await events.aclose()  # type: ignore[attr-defined]


@with_named_arguments
def resume(
    run: str | Run = "@last",
    *,
    additions: Additions | None = None,
    ask: Ask | None = None,
    budget: Budget | None = None,
    store: StoreAddress | str | StoreHandle = DEFAULT_STORE,
    cache: Path | str | None = None,
    api_keys: Mapping[str, str] | None = None,
    progress: bool = True,
) -> Run:
    """Go on with a run from its stop, and return it.

    Args:
        run: A run, its id, a unique beginning of it, or `@last`.
        additions, ask, budget, cache, api_keys, progress: As in `Run.resume`.
        store: The store of a named run.

    Raises:
        TertuliaError: There is no such run, it can't go on, or it failed.
    """
    check_argument("run", run, (str, Run), "a run is expected, or its id", optional=False)
    if not isinstance(run, Run):
        handle = _handle(store)
        with handle.opened() as opened:
            run = Run(handle, opened.run(run).run)
    return run.resume(
        additions=additions,
        ask=ask,
        budget=budget,
        cache=cache,
        api_keys=api_keys,
        progress=progress,
    )


arun = awaitable(
    run,
    """Run a conversation to its end without blocking the event loop, and return it (see `run`).

    If the task is cancelled, the run is interrupted as by Ctrl-C, and `resume` goes on.

    ::

        run = await tertulia.arun("tidewell", removal_factor=0.5, rounds=6)

    Args and Raises: As `run`; CancelledError where it is cancelled.
    """,
)


@with_named_arguments
def diff(a: Run, b: Run) -> RunComparison:
    """Return how two runs of a store differ, to the last record; ids, lineage and wall-clock times are disregarded.

    Raises:
        UsageError: They lie in two stores.
    """
    for name, run in (("a", a), ("b", b)):
        check_argument(name, run, Run, "a run is expected; open_store(…).run(ID) returns one", optional=False)
    return a.diff(b)


def _handle(store: StoreAddress | str | StoreHandle) -> StoreHandle:
    return store if isinstance(store, StoreHandle) else Store(store)
