"""What `langgraph.json` names: both conversation graphs, for `langgraph dev` (docs/studio.md).

Tertulia's graphs need a run, models and a store, which that server can't give. So each stands here inside a graph of
two steps: `begin` makes the run, `hold` opens what it needs and runs the conversation as a subgraph.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from typing_extensions import TypedDict

from cli.driving import context_of, open_engines, reopen_engines
from cli.environment import store_path
from models.loading import REHEARSAL
from state.errors import UsageError
from state.graph_state import DialogueState
from state.meeting import Meeting
from state.parameters import Parameters
from state.records import Record, RunKind, RunRecord
from storage.store import SqliteStore

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    Graph = CompiledStateGraph["Conversation", "Settings", "Conversation", "Conversation"]


#: How a dialogue begins.
_BEGINNING: DialogueState = {"turn": 0, "round": 0, "speaker": "", "sim_time_s": 0.0, "finished": False}

#: Steps of a graph that a round takes, at most; LangGraph stops a graph that takes more than it is allowed.
_STEPS_A_ROUND = 60


class Settings(Record):
    """What can be chosen for a conversation; the server calls it the assistant's context.

    Attributes:
        scenario: As in `tertulia run`; `None` for a shipped one.
        removal_factor: λ in [0, 1]; `None` for what the scenario has.
        rounds: At most so many rounds; `None` for what the scenario has.
        seed: Seed of all draws.
        model: `rehearsal`, `smollm2`, a folder or a hub id.
    """

    scenario: str | None = None
    removal_factor: float | None = None
    rounds: int | None = None
    seed: int = 1
    model: str = REHEARSAL


class Said(TypedDict):
    """A turn; nobody's is a silence."""

    speaker: str | None
    text: str


class Conversation(TypedDict, total=False):
    """What the server keeps: the run's id in the store, and in the end what was said."""

    run: str
    turns: list[Said]


def dialogue(config: Mapping[str, Any]) -> "Graph":
    """Return the graph of a dialogue of two.

    Args:
        config: LangGraph's; `Settings` are read from its `configurable`.

    Raises:
        TertuliaError: A setting is not acceptable.
    """
    return _conversation("dialogue", "tidewell", config)


def group_chat(config: Mapping[str, Any]) -> "Graph":
    """Return the graph of a meeting (see `dialogue`)."""
    return _conversation("group_chat", "team_building", config)


def _conversation(kind: RunKind, shipped: str, config: Mapping[str, Any]) -> "Graph":
    from langgraph.graph import END, START, StateGraph

    from graphs.dialogue import build_dialogue_graph
    from graphs.driving import beginning_of
    from graphs.group_chat import build_group_chat_graph
    from nodes.machinery.extensions import load
    from worlds.catalog import extensions_of, resolve, settings_of
    from worlds.meeting_file import check_weights

    chosen = _settings(config.get("configurable", {}))
    scenario = chosen.scenario or shipped
    registry = load(extensions_of(scenario))
    known = tuple(registry.mechanisms)
    wanted = {"removal_factor": chosen.removal_factor, "max_turns": chosen.rounds}
    own = {name: value for name, value in wanted.items() if value is not None}
    parameters = Parameters().with_settings({**settings_of(scenario, known), **own})
    start = resolve(scenario, known)
    if start.kind != kind:
        raise UsageError(f"scenario={scenario} is for the other graph, {start.kind}")
    functions = registry.functions(parameters, kind)
    inner: Any = build_dialogue_graph(None, functions)
    first: Any = _BEGINNING
    if isinstance(start, Meeting):
        check_weights(start, parameters.willingness_threshold)
        inner, first = build_group_chat_graph(parameters.order, None, functions), beginning_of(start)

    async def begin(state: Conversation) -> Conversation:
        """Make the run."""
        with SqliteStore.open(store_path(None), create=True) as store:
            record = RunRecord.model_validate(
                {
                    "run": store.new_run_id(),
                    "status": "running",
                    "kind": kind,
                    "scenario": start.scenario,
                    "seed": chosen.seed,
                    "created": datetime.now(UTC),
                    "extensions": registry.extensions,
                    **open_engines(chosen.model, start, parameters).resolved(parameters),
                }
            )
            store.create_run(record, start)
        return {"run": record.run}

    async def hold(state: Conversation) -> Conversation:
        """Hold the conversation; one that is held again takes its calls from the journal."""
        with SqliteStore.open(store_path(None)) as store, store.drive_lock(state["run"]):
            record = store.run(state["run"])
            context = context_of(store, record, reopen_engines(record), registry)
            try:
                await inner.ainvoke(
                    first, {"recursion_limit": _STEPS_A_ROUND * (parameters.max_turns + 1)}, context=context
                )
            except BaseException:
                store.set_status(record.run, "interrupted")
                raise
            store.set_status(record.run, "finished")
            said: list[Said] = [{"speaker": turn.speaker, "text": turn.text} for turn in store.turns(record.run)]
        return {"turns": said}

    graph = StateGraph(Conversation, context_schema=Settings)
    graph.add_node("begin", begin)
    graph.add_node("hold", hold)
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "hold")
    graph.add_edge("hold", END)
    return graph.compile(name=kind)


def _settings(configurable: Mapping[str, Any]) -> Settings:
    """Return the settings among what a server has put together."""
    try:
        return Settings.model_validate(
            {name: configurable[name] for name in Settings.model_fields if name in configurable}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{first['loc'][0]}={first['input']}: {first['msg']}") from None
