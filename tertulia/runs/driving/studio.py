"""Conversation graphs, and that of a town, that LangGraph's own server can run (docs/studio.md).

Tertulia's graphs need a run, models and a store, which that server can't give. So each is wrapped in a graph of two
steps: `begin` makes the run, `hold` reopens it and runs the conversation as a subgraph. Days of a town pass in
a thread of their own, with the checkpoints of the store.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from typing_extensions import TypedDict

from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.driver import recorded_ending
from tertulia.runs.planning.additions import Additions
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.simulations import begin_simulation, plan_simulation, reopen_simulation
from tertulia.runs.planning.starting import begin, plan_run, reopen
from tertulia.state.errors import UsageError
from tertulia.state.language_model import REHEARSAL
from tertulia.state.records import Record, RunKind
from tertulia.state.town import Encounter
from tertulia.state.wrong_values import value_problem
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    Graph = CompiledStateGraph["Conversation", "Settings", "Conversation", "Conversation"]

#: The scenario of each kind if none is chosen.
_SHIPPED: Mapping[RunKind, str] = {"dialogue": "tidewell", "group_chat": "team_building", "album_chat": "villagers"}

#: The most steps of a graph in a round; LangGraph stops a graph at a limit.
_STEPS_A_ROUND = 60


class Settings(Record):
    """Settings of a conversation; the server calls them the assistant's context.

    Attributes:
        scenario: As in `tertulia run`; `None` for a shipped one.
        removal_factor: λ in [0, 1]; `None` for the scenario's own.
        rounds: At most so many rounds; `None` for the scenario's own.
        seed: Seed of all draws.
        model: `rehearsal`, `smollm2`, a folder or a hub id.
    """

    scenario: str | None = None
    removal_factor: float | None = None
    rounds: int | None = None
    seed: int = 1
    model: str = REHEARSAL


class Line(TypedDict):
    """A turn; a silence has no speaker."""

    speaker: str | None
    text: str


class Conversation(TypedDict, total=False):
    """State that the server keeps: the run's id in the store, and in the end its turns."""

    run: str
    turns: list[Line]


class TownSettings(Record):
    """Settings of the days of a town.

    Attributes:
        town: A shipped town, or `ga:FOLDER`.
        encounters_per_day: How many are drawn for a day; `None` for the default.
        removal_factor, seed, model: As of `Settings`, for every conversation.
    """

    town: str = "tidewell"
    days: int = 1
    encounters_per_day: int | None = None
    removal_factor: float | None = None
    seed: int = 1
    model: str = REHEARSAL


class Met(TypedDict):
    """An encounter and its lines; its conversation is a run of its own."""

    day: int
    time: str
    people: list[str]
    run: str
    turns: list[Line]


class TownDays(TypedDict, total=False):
    """State of a town that the server keeps: the simulation's id in the store, and in the end its encounters."""

    simulation: str
    encounters: list[Met]


AnySettings = TypeVar("AnySettings", bound=Record)


def conversation_graph(
    kind: RunKind, config: Mapping[str, Any], store_path: StoreAddress, access: ModelAccess
) -> "Graph":
    """Return the graph of a conversation as a server runs it; `Settings` are read from `configurable` in the config.

    Raises:
        TertuliaError: A setting is not acceptable.
    """
    from langgraph.graph import END, START, StateGraph

    from tertulia.runs.driving.conversation import build_graph
    from tertulia.runs.planning.entering import first_state_of

    chosen = read_settings(Settings, config.get("configurable", {}))
    settings = {} if chosen.rounds is None else {"max_turns": chosen.rounds}
    additions = Additions(trust=access.trust)
    scenario = chosen.scenario or _SHIPPED[kind]
    plan = plan_run(
        scenario,
        RunRequest(
            settings, removal_factor=chosen.removal_factor, model=chosen.model, seed=chosen.seed, additions=additions
        ),
    )
    if plan.start.kind != kind:
        raise UsageError(f"scenario={chosen.scenario} is for another graph, {plan.start.kind}")
    inner: Any = build_graph(kind, plan.parameters.order, plan.registry.functions(plan.parameters, kind), None)
    steps = _STEPS_A_ROUND * (plan.parameters.max_turns + 1)

    async def begin_run(state: Conversation) -> Conversation:
        with SqlStore.open(store_path) as store:
            return {"run": begin(store, plan, access).run}

    async def hold(state: Conversation) -> Conversation:
        """Run the conversation; when it is run again, its calls come from the journal."""
        with SqlStore.open(store_path) as store, store.drive_lock(state["run"]):
            context = reopen(store, store.run(state["run"]), access, RunRequest(additions=additions))
            with recorded_ending(store, partial(store.set_status, state["run"]), lambda ended: None) as ending:
                last = await inner.ainvoke(first_state_of(context), {"recursion_limit": steps}, context=context)
                ending.by = last["ended_by"]
            turns = store.turns(state["run"])
        return {"turns": [{"speaker": turn.speaker, "text": turn.text} for turn in turns]}

    graph = StateGraph(Conversation, context_schema=Settings)
    graph.add_node("begin", begin_run)
    graph.add_node("hold", hold)
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "hold")
    graph.add_edge("hold", END)
    return graph.compile(name=kind)


def town_graph(
    config: Mapping[str, Any], store_path: StoreAddress, access: ModelAccess
) -> "CompiledStateGraph[TownDays, TownSettings, TownDays, TownDays]":
    """Return the graph of a town's days as a server runs it; `TownSettings` are read from `configurable`.

    Raises:
        TertuliaError: A setting is not acceptable.
    """
    from langgraph.graph import END, START, StateGraph

    from tertulia.graphs.town import build_town_graph

    chosen = read_settings(TownSettings, config.get("configurable", {}))
    plan = plan_simulation(
        chosen.town,
        RunRequest(removal_factor=chosen.removal_factor, model=chosen.model, seed=chosen.seed),
        days=chosen.days,
        encounters_per_day=chosen.encounters_per_day,
    )
    inner = build_town_graph()

    async def begin_days(state: TownDays) -> TownDays:
        with SqlStore.open(store_path) as store:
            return {"simulation": begin_simulation(store, plan, access)[0].simulation}

    async def pass_days(state: TownDays) -> TownDays:
        """Let the days pass; run again, it goes on from its stop."""
        assert inner.nodes  # for the drawing: LangGraph finds it here
        # Without the context of the caller, whose checkpointer is not the store's.
        passing = asyncio.get_running_loop().run_in_executor(None, _pass_days, state["simulation"], store_path, access)
        return {"encounters": await passing}

    graph = StateGraph(TownDays, context_schema=TownSettings)
    graph.add_node("begin", begin_days)
    graph.add_node("hold", pass_days)
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "hold")
    graph.add_edge("hold", END)
    return graph.compile(name="town")


def _pass_days(name: str, store_path: StoreAddress, access: ModelAccess) -> list[Met]:
    from tertulia.runs.driving.towns import drive_simulation

    with SqlStore.open(store_path) as store:
        additions = Additions(trust=access.trust)
        opened = reopen_simulation(store, store.simulations.get(name), access, additions=additions)
        if opened[0].status != "finished":
            drive_simulation(store, *opened, lambda event: None)
        return [
            {
                "day": met.day,
                "time": str(met.time),
                "people": list(met.pair),
                "run": met.run,
                "turns": _lines(store, met),
            }
            for met in store.simulations.encounters(name)
        ]


def _lines(store: SqlStore, met: Encounter) -> list[Line]:
    return [{"speaker": turn.speaker, "text": turn.text} for turn in store.turns(met.run)]


def read_settings(kind: type[AnySettings], configurable: Mapping[str, Any]) -> AnySettings:
    """Return the settings of a graph; `UsageError` if one is not acceptable."""
    try:
        return kind.model_validate({name: configurable[name] for name in kind.model_fields if name in configurable})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{first['loc'][0]}={first['input']}: {value_problem(first)}") from None
