"""Simulated days of a town: plan, begin, reopen and drive them, conversation after conversation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from tertulia.access.engines import Engines, ModelAccess, named_models, open_engines, reopen_engines
from tertulia.access.model_names import check_models
from tertulia.driving.driver import recorded_ending
from tertulia.driving.events import (
    Emit,
    EncounterFinished,
    Event,
    Noted,
    SimulationEnded,
    SimulationStarted,
    StepStarted,
)
from tertulia.driving.interrupting import interruptible, run_or_abandon
from tertulia.planning.starting import DEFAULT_MODEL, DEFAULT_SEED, context_of, with_case_seed
from tertulia.state.errors import SettingError, TertuliaError, UsageError
from tertulia.state.languages import language_of
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, RunStatus
from tertulia.state.town import Simulation, TownContext

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.types import StateSnapshot

    from tertulia.state.context import Context
    from tertulia.state.graph_state import TownState
    from tertulia.storage.store import SqlStore
    from tertulia.worlds.town import OpenedTown

#: How many encounters are drawn for a day by default.
ENCOUNTERS_PER_DAY = 4


@dataclass(frozen=True)
class SimulationPlan:
    """A simulation as it will be begun.

    Attributes:
        name: The town, as it was asked for.
        town: The town, and the first memories of its residents.
        parameters: Of every conversation; `auto` settings are still open.
        encounters_per_day: How many encounters are drawn for a day; `None`: the town's log has them.
        named: Models that the user names.
    """

    name: str
    town: "OpenedTown"
    parameters: Parameters
    days: int
    encounters_per_day: int | None
    model: str
    seed: int
    named: frozenset[str]


def plan_simulation(
    town: str,
    settings: Mapping[str, Any],
    *,
    days: int = 1,
    encounters_per_day: int | None = None,
    from_log: bool = False,
    model: str = DEFAULT_MODEL,
    seed: int = DEFAULT_SEED,
) -> SimulationPlan:
    """Return the plan of a simulation, checked before any model is opened.

    Args:
        town: A shipped town, or `ga:FOLDER`.
        settings: Parameters of every conversation, by name.
        encounters_per_day: How many encounters are drawn for a day; `None` for the default.
        from_log: Whether people meet when the town's log says so.

    Raises:
        TertuliaError: There is no such town, or it can't be simulated like that.
    """
    from tertulia.prompts.renaming import check_known
    from tertulia.worlds.town import open_town

    if from_log and encounters_per_day is not None:
        raise UsageError("--from-log has the encounters of the log; leave out --encounters-per-day")
    opened = open_town(town, from_log)
    language = language_of(memory.text for memories in opened.memories.values() for memory in memories)
    parameters = Parameters().with_settings({"language": language, **settings})
    if parameters.seat is not None:
        problem = ": nobody is asked while days pass; fork a conversation and sit there"
        raise SettingError("seat", parameters.seat, problem)
    check_known([resident.persona.name for resident in opened.town.residents], parameters.names)
    check_models(model, None, parameters)
    drawn = None if from_log else encounters_per_day or ENCOUNTERS_PER_DAY
    return SimulationPlan(town, opened, parameters, days, drawn, model, seed, named_models(settings, model))


def begin_simulation(store: "SqlStore", plan: SimulationPlan, access: ModelAccess) -> tuple[Simulation, Engines]:
    """Open the models of a simulation, store it, and return both.

    Raises:
        TertuliaError: A model can't be opened, or the store can't be written.
    """
    store.check_writable()
    engines = open_engines(plan.model, None, plan.parameters, access.naming(plan.named))
    store.make_file()
    simulation = Simulation(
        simulation=store.new_run_id(),
        status="running",
        town=plan.name,
        model=engines.model.id,
        embedder=engines.embedder.id,
        rehearsed=engines.model.traits.rehearsed,
        seed=plan.seed,
        days=plan.days,
        encounters_per_day=plan.encounters_per_day,
        parameters=engines.recorded(with_case_seed(plan.parameters, plan.town.town)),
        created=datetime.now(UTC),
    )
    streams = {
        name: (memories, engines.embedder.embed([memory.text for memory in memories]))
        for name, memories in plan.town.memories.items()
    }
    store.simulations.create(simulation, plan.town.town, streams)
    return simulation, engines


def reopen_simulation(
    store: "SqlStore", simulation: Simulation, access: ModelAccess, days: int | None = None
) -> tuple[Simulation, Engines]:
    """Return a stored simulation, with more days if they are given, and its models.

    Raises:
        UsageError: Fewer days are given than it has.
        TertuliaError: A model can't be opened.
    """
    check_days(simulation, days)
    engines = reopen_engines(run_of(simulation, "", 0), access)
    if days is not None:
        changes = {} if days == simulation.days else {"status": "interrupted"}
        store.simulations.update(simulation.simulation, days=days, **changes)
    return store.simulations.get(simulation.simulation), engines


def check_days(simulation: Simulation, days: int | None) -> None:
    """Raise `UsageError` for fewer days than a simulation has."""
    if days is not None and days < simulation.days:
        raise UsageError(f"--days {days}: simulation {simulation.simulation} has {simulation.days} already")


def drive_simulation(store: "SqlStore", simulation: Simulation, engines: Engines, emit: Emit) -> None:
    """Drive a simulation to its last day; whatever stops it, its turns and memories are kept.

    Args:
        emit: Receives the events, `SimulationStarted` first and `SimulationEnded` last.

    Raises:
        StorageError: Another process drives the simulation; nothing of it is touched.
        TertuliaError: It failed.
        KeyboardInterrupt: It was interrupted.
    """
    name = simulation.simulation

    def set_status(status: RunStatus, error: str | None = None) -> None:
        store.simulations.set_status(name, status, error)
        for encounter in store.simulations.encounters(name)[-1:]:  # the conversation that was under way
            if store.run(encounter.run).status == "running":
                store.set_status(encounter.run, status, error)

    def report_end(status: RunStatus, error: TertuliaError | None) -> None:
        emit(summary(store, simulation, status, error))

    with store.drive_lock(name), interruptible(), recorded_ending(store, set_status, report_end):
        emit(SimulationStarted(simulation))
        run_or_abandon(_pass_days(store, simulation, engines, emit))


def summary(
    store: "SqlStore", simulation: Simulation, status: RunStatus, error: TertuliaError | None = None
) -> SimulationEnded:
    """Return the event that tells how far a simulation has come."""
    encounters = store.simulations.encounters(simulation.simulation)
    return SimulationEnded(
        simulation=simulation.simulation,
        status=status,
        days=len({encounter.day for encounter in encounters}),
        encounters=len(encounters),
        turns=sum(store.run(encounter.run).turns for encounter in encounters),
        error=error,
    )


async def _pass_days(store: "SqlStore", simulation: Simulation, engines: Engines, emit: Emit) -> None:
    from tertulia.driving.conversation import drive
    from tertulia.nodes.machinery.extensions import load_extensions
    from tertulia.storage.checkpointing import checkpoints_of

    registry = load_extensions([])
    noted: set[str] = set()

    def pass_on(event: Event) -> None:
        """Emit the steps of a conversation, and each note once for the whole simulation."""
        if isinstance(event, StepStarted) or (isinstance(event, Noted) and event.text not in noted):
            noted.update([event.text] if isinstance(event, Noted) else [])
            emit(event)

    def on_encounter(state: "TownState") -> None:
        encounter = store.simulations.encounter(simulation.simulation, state["day"], state["number"])
        if encounter is not None:
            emit(EncounterFinished(encounter, store.run(encounter.run).turns))

    async with checkpoints_of(store) as checkpointer:

        async def drive_conversation(context: "Context") -> None:
            if store.run(context.run).status == "finished":
                return
            with store.drive_lock(context.run):
                store.set_status(context.run, "running")
                await drive(context, checkpointer, pass_on)
                store.set_status(context.run, "finished")

        context = TownContext(
            simulation=simulation,
            town=store.simulations.town(simulation.simulation),
            store=store,
            simulations=store.simulations,
            embedder=engines.embedder,
            record_of=lambda run, seed: run_of(simulation, run, seed),
            context_of=lambda run: context_of(store, store.run(run), engines, registry),
            drive_conversation=drive_conversation,
        )
        await drive_town(context, checkpointer, on_encounter)


async def drive_town(
    context: TownContext, checkpointer: "BaseCheckpointSaver[Any]", on_encounter: Callable[["TownState"], None]
) -> None:
    """Drive a simulation to its last day, from the encounter at which it was interrupted.

    An unfinished encounter starts over: what is stored of it stays, and its conversation goes on after its last whole
    turn.

    Args:
        context: The simulation; its id names the thread of checkpoints.
        on_encounter: Receives the state once an encounter is over and all its results are stored.
    """
    from tertulia.driving.conversation import forget_behind, states_of
    from tertulia.graphs.town import build_town_graph

    graph = build_town_graph(checkpointer)
    config: Any = {"configurable": {"thread_id": context.simulation.simulation}}
    beginning: TownState = {"day": 0, "number": 0}
    state = cast("TownState", {**beginning, "finished": False})
    whole: StateSnapshot | None = None
    async for snapshot in states_of(graph, config):
        if snapshot.next not in (("next_encounter",), ()):
            continue
        if whole is not None and _place_of(snapshot.values) != _place_of(whole.values):
            break
        whole = snapshot  # the newer one of the same place was stored when the next encounter was stopped
    if whole is None or _place_of(whole.values) == _place_of(beginning):
        await checkpointer.adelete_thread(context.simulation.simulation)  # what a first encounter has left
    else:
        forget_behind(checkpointer, whole)
        # There may be more days than when it was finished.
        state = cast("TownState", {**beginning, **whole.values, "finished": False})
    while not state["finished"]:
        await graph.ainvoke(state, config, context=context, durability="exit")
        state = cast("TownState", (await graph.aget_state(config)).values)
        if not state["finished"]:
            on_encounter(state)


def run_of(simulation: Simulation, run: str, seed: int) -> RunRecord:
    """Return the record of a conversation of a simulation."""
    return RunRecord(
        run=run,
        status="running",
        kind="dialogue",
        scenario=simulation.town,
        model=simulation.model,
        embedder=simulation.embedder,
        rehearsed=simulation.rehearsed,
        seed=seed,
        parameters=simulation.parameters,
        created=simulation.created,  # started over, it is the same
    )


def _place_of(values: Mapping[str, Any]) -> tuple[int | None, int | None]:
    return values.get("day"), values.get("number")
