"""Simulated days of a town: drive them, conversation after conversation."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from tertulia.runs.access.engines import Engines
from tertulia.runs.driving.driver import Ending, recorded_ending
from tertulia.runs.driving.events import (
    Emit,
    EncounterFinished,
    Event,
    Noted,
    SimulationEnded,
    SimulationStarted,
    StepStarted,
)
from tertulia.runs.driving.interrupting import interruptible, run_or_abandon
from tertulia.runs.driving.limits import Limits
from tertulia.runs.planning.simulations import run_of
from tertulia.runs.planning.starting import context_of
from tertulia.state.records import EndedBy, RunStatus
from tertulia.state.town import Diary, Simulation, TownContext

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.types import StateSnapshot

    from tertulia.nodes.machinery.registry import Registry
    from tertulia.state.context import Context
    from tertulia.state.graph_state import TownState
    from tertulia.storage.store import SqlStore


def drive_simulation(
    store: "SqlStore",
    simulation: Simulation,
    engines: Engines,
    registry: "Registry",
    emit: Emit,
    limits: Limits | None = None,
) -> None:
    """Drive a simulation to its last day; whatever stops it, its turns and memories are kept.

    Args:
        emit: Receives the events, `SimulationStarted` first and `SimulationEnded` last.
        limits: The budget of its conversations together; without them nothing is limited.

    Raises:
        StorageError: Another process drives the simulation; nothing of it is touched.
        StoppedError: The budget is spent, or a stop was requested; it is interrupted.
        TertuliaError: It failed.
        KeyboardInterrupt: It was interrupted.
    """
    name, limits = simulation.simulation, limits or Limits()

    def set_status(status: RunStatus, error: str | None = None, ended_by: EndedBy | None = None) -> None:
        store.simulations.set_status(name, status, error, ended_by)
        for encounter in store.simulations.encounters(name)[-1:]:  # the conversation that was under way
            if store.run(encounter.run).status == "running":
                store.set_status(encounter.run, status, error, ended_by)

    def report_end(ended: Ending) -> None:
        emit(summary(store, simulation, ended))

    recorded = recorded_ending(store, set_status, report_end, limits.why)
    with store.drive_lock(name), interruptible(), recorded as ending, limits.stopping():
        store.simulations.update(name, days=simulation.days)
        emit(SimulationStarted(simulation))
        run_or_abandon(_pass_days(store, simulation, engines, registry, emit, limits))
        ending.by = "days"


def summary(store: "SqlStore", simulation: Simulation, ended: Ending) -> SimulationEnded:
    """Return the event that tells how far a simulation has come."""
    encounters = store.simulations.encounters(simulation.simulation)
    return SimulationEnded(
        simulation=simulation.simulation,
        status=ended.status,
        days=len({encounter.day for encounter in encounters}),
        encounters=len(encounters),
        turns=sum(store.run(encounter.run).turns for encounter in encounters),
        error=ended.error,
        ended_by=ended.by,
    )


async def _pass_days(
    store: "SqlStore", simulation: Simulation, engines: Engines, registry: "Registry", emit: Emit, limits: Limits
) -> None:
    from tertulia.runs.driving.conversation import drive
    from tertulia.storage.checkpointing import checkpoints_of
    from tertulia.storage.stop_requests import StopRequests

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

    def context_within_limits(run: str) -> "Context":
        context = context_of(store, store.run(run), engines, registry)
        context.broker.use(limits)
        return context

    requests = StopRequests(store, "simulation", simulation.simulation)
    async with checkpoints_of(store) as checkpointer, limits.watching(requests.look_if_possible):

        async def drive_conversation(context: "Context") -> None:
            if store.run(context.run).status == "finished":
                return
            with store.drive_lock(context.run):
                store.set_status(context.run, "running")
                store.set_status(context.run, "finished", None, await drive(context, checkpointer, pass_on))

        town = store.simulations.town(simulation.simulation)
        context = TownContext(
            simulation=simulation,
            town=town,
            store=store,
            simulations=store.simulations,
            embedder=engines.embedder,
            record_of=lambda run, seed: run_of(simulation, run, seed, registry.extensions),
            context_of=context_within_limits,
            drive_conversation=drive_conversation,
            diary=Diary(town, store.simulations.diary(simulation.simulation)),
        )
        await drive_town(context, checkpointer, on_encounter)


async def drive_town(
    context: TownContext, checkpointer: "BaseCheckpointSaver[Any]", on_encounter: Callable[["TownState"], None]
) -> None:
    """Drive a simulation to its last day, from the encounter at which it was interrupted.

    An unfinished encounter starts over: its records stay stored, and its conversation goes on after its last whole
    turn.

    Args:
        context: The simulation; its id names the thread of checkpoints.
        on_encounter: Receives the state once an encounter is over and all its results are stored.
    """
    from tertulia.graphs.town import build_town_graph
    from tertulia.runs.driving.conversation import forget_behind, states_of

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
        await checkpointer.adelete_thread(context.simulation.simulation)  # remains of a first encounter
    else:
        forget_behind(checkpointer, whole)
        # There may be more days than when it was finished.
        state = cast("TownState", {**beginning, **whole.values, "finished": False})
    while not state["finished"]:
        await graph.ainvoke(state, config, context=context, durability="exit")
        state = cast("TownState", (await graph.aget_state(config)).values)
        if not state["finished"]:
            on_encounter(state)


def _place_of(values: Mapping[str, Any]) -> tuple[int | None, int | None]:
    return values.get("day"), values.get("number")
