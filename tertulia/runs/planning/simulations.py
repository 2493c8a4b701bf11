"""From a user's request to a simulation of a town: planned, begun, and opened again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tertulia.runs.access.engines import Engines, ModelAccess, named_models, open_engines, reopen_engines
from tertulia.runs.access.model_names import check_models
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.runs.planning.request import DEFAULT_MODEL, DEFAULT_SEED, NOTHING_ASKED, RunRequest
from tertulia.runs.planning.starting import with_case_seed
from tertulia.runs.planning.word_rules import rating_by_words
from tertulia.state.case_seed import resolve_case_seed
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.languages import language_of
from tertulia.state.parameters import Parameters
from tertulia.state.records import Extension, RunRecord
from tertulia.state.town import Simulation, Town
from tertulia.views.reading.platforms import precision_to_keep

if TYPE_CHECKING:
    from tertulia.nodes.machinery.registry import Registry
    from tertulia.storage.store import SqlStore
    from tertulia.worlds.town import OpenedTown

#: A simulation, its models, and the nodes that its conversations can have.
OpenedSimulation = tuple[Simulation, Engines, "Registry"]

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
        registry: The nodes that its conversations can have.
    """

    name: str
    town: "OpenedTown"
    parameters: Parameters
    days: int
    encounters_per_day: int | None
    model: str
    seed: int
    named: frozenset[str]
    registry: "Registry"


def plan_simulation(
    town: str,
    request: RunRequest = NOTHING_ASKED,
    *,
    days: int = 1,
    encounters_per_day: int | None = None,
    from_log: bool = False,
) -> SimulationPlan:
    """Return the plan of a simulation, checked before any model is opened.

    Args:
        town: A shipped town, or `ga:FOLDER`.
        request: Of every conversation.
        encounters_per_day: How many encounters are drawn for a day; `None` for the default.
        from_log: Whether people meet when the town's log says so.

    Raises:
        TertuliaError: There is no such town, or it can't be simulated like that.
    """
    from tertulia.nodes.machinery.extensions import with_shipped
    from tertulia.prompts.renaming import check_known
    from tertulia.worlds.town import open_town

    if from_log and encounters_per_day is not None:
        raise UsageError("--from-log has the encounters of the log; leave out --encounters-per-day")
    opened = open_town(town, from_log)
    language = language_of(memory.text for memories in opened.memories.values() for memory in memories)
    given = {"language": language, **request.settings, **request.additions.settings}
    parameters = Parameters().with_settings(given, removal_factor=request.removal_factor)
    registry = with_shipped(request.additions.registry(), parameters.nodes.values())
    registry.functions(parameters, "dialogue")
    if parameters.seat is not None:
        problem = ": nobody is asked while days pass; fork a conversation and sit there"
        raise SettingError("seat", parameters.seat, problem)
    parameters.check_wording()
    if parameters.items_from is not None:
        problem = ": people of a town remember their own days; fork a conversation of it with items_from"
        raise SettingError("items_from", parameters.items_from, problem)
    check_known([resident.persona.name for resident in opened.town.residents], parameters.names)
    model, seed = request.model or DEFAULT_MODEL, DEFAULT_SEED if request.seed is None else request.seed
    check_models(model, None, parameters)
    drawn = None if from_log else encounters_per_day or ENCOUNTERS_PER_DAY
    named = named_models(request.settings, model)
    return SimulationPlan(town, opened, parameters, days, drawn, model, seed, named, registry)


def begin_simulation(store: "SqlStore", plan: SimulationPlan, access: ModelAccess) -> OpenedSimulation:
    """Open the models of a simulation, store it, and return it with them and its nodes.

    Raises:
        TertuliaError: A model can't be opened, or the store can't be written.
    """
    store.check_writable()
    engines = open_engines(plan.model, None, plan.parameters, access.naming(plan.named))
    return store_simulation(store, plan, engines)


def store_simulation(store: "SqlStore", plan: SimulationPlan, engines: Engines) -> OpenedSimulation:
    """Store the simulation of a plan with open models (see `begin_simulation`)."""
    from tertulia.nodes.machinery.extensions import with_shipped

    parameters = rating_by_words(plan.parameters, engines)
    registry = with_shipped(plan.registry, parameters.nodes.values())
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
        parameters=engines.recorded(with_case_seed(parameters, plan.town.town)),
        created=datetime.now(UTC),
    )
    streams = {
        name: (memories, engines.embedder.embed([memory.text for memory in memories]))
        for name, memories in plan.town.memories.items()
    }
    town = _with_plans(plan).model_copy(update={"extensions": registry.extensions})
    store.simulations.create(simulation, town, streams)
    return simulation, engines, registry


def _with_plans(plan: SimulationPlan) -> Town:
    """Return the town of a plan, with the seed of its people's days, if these vary."""
    town, parameters = plan.town.town, plan.parameters
    if parameters.day_plans == "log" or plan.encounters_per_day is None:
        return town
    return town.model_copy(update={"plan_seed": resolve_case_seed(parameters.case_seed, plan.seed, town)})


def reopen_simulation(
    store: "SqlStore",
    simulation: Simulation,
    access: ModelAccess,
    days: int | None = None,
    additions: Additions = NOTHING_ADDED,
) -> OpenedSimulation:
    """Return a stored simulation, with more days if they are given, its models and its nodes; nothing is stored.

    Raises:
        UsageError: Fewer days are given than it has.
        TertuliaError: A model can't be opened, or an extension has changed or is gone.
    """
    from tertulia.nodes.machinery.extensions import with_shipped

    check_days(simulation, days)
    recorded = additions.registry_of(store.simulations.town(simulation.simulation).extensions)
    registry = with_shipped(recorded, Parameters.model_validate(simulation.parameters).nodes.values())
    last = store.simulations.encounters(simulation.simulation)[-1:]
    kept = precision_to_keep(store, last[0].run) if last else None
    engines = reopen_engines(run_of(simulation, "", 0), access, kept)
    return simulation.model_copy(update={} if days is None else {"days": days}), engines, registry


def check_days(simulation: Simulation, days: int | None) -> None:
    """Raise `UsageError` for fewer days than a simulation has."""
    if days is not None and days < simulation.days:
        raise UsageError(f"--days {days}: simulation {simulation.simulation} has {simulation.days} already")


def run_of(simulation: Simulation, run: str, seed: int, extensions: Sequence[Extension] = ()) -> RunRecord:
    """Return the record of a conversation of a simulation, with the extensions of its nodes."""
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
        extensions=tuple(extensions),
        created=simulation.created,  # started over, it is the same
    )
