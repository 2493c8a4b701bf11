"""An inner graph gives the same, walked through or run by LangGraph: updates, events and errors, for drawn states.

Nodes are stand-ins that draw their updates, or fail, by a seed; edges and questions are the graphs' own.
"""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, TypedDict, get_args, get_origin, get_type_hints

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from support.dialogue_case import a_context
from typing_extensions import is_typeddict

from tertulia.graphs.album_chat import exchange_graph
from tertulia.graphs.cognition import cognition_graph
from tertulia.graphs.utterance import utterance_graph
from tertulia.graphs.walking import InnerGraph, _Decision
from tertulia.state.context import Context
from tertulia.state.errors import ModelError, NodeError

GRAPHS = {
    "utterance": utterance_graph(),
    "prompted utterance": utterance_graph(has_prompt=True),
    "cognition": cognition_graph(),
    "exchange": exchange_graph(),
}
STATES = 200
FAILURES: tuple[Any, ...] = (NodeError("a node failed"), ModelError("no answer"), TimeoutError("slow"), KeyError("key"))
SETTINGS: tuple[dict[str, Any], ...] = (
    {"removal_factor": 0},
    {"removal_factor": 0.5, "revision": "rollback"},
    {"removal_factor": 0.5, "revision": "rewrite"},
    {"removal_factor": 0.5, "revision": "combined", "block_lengths": "m=5"},
    {"removal_factor": 0.5, "revision": "off", "judge": "off"},
    {"removal_factor": 0, "record_scores": "true", "judge_baseline": "true"},
)

#: The start and the end of a node's execution: its name, its graph's path, its input, and its update.
Told = list[tuple[str, Any]]


def drawn(kind: Any, chance: random.Random) -> Any:
    """Draw a value of a type of the states."""
    if hasattr(kind, "__metadata__") or str(get_origin(kind)).endswith("NotRequired"):
        return drawn(get_args(kind)[0], chance)
    if is_typeddict(kind):
        return {key: drawn(inner, chance) for key, inner in get_type_hints(kind).items()}
    if get_origin(kind) is list:
        return [drawn(get_args(kind)[0], chance) for _ in range(chance.randrange(3))]
    if get_origin(kind) is dict:
        return {f"k{n}": drawn(get_args(kind)[1], chance) for n in range(chance.randrange(3))}
    if get_origin(kind) is Literal or get_args(kind):
        choice = chance.choice(get_args(kind))
        return drawn(choice, chance) if isinstance(choice, type) or get_args(choice) else choice
    simple = {bool: chance.random() < 0.4, int: chance.randrange(9), float: chance.random(), str: f"{chance.random()}"}
    return simple.get(kind)


class Nodes:
    """Stand-ins for the nodes of a graph; each execution draws from its own generator."""

    def __init__(self, seed: int, fails: bool) -> None:
        self.seed, self.fails, self.executed = seed, fails, dict[str, int]()

    def of(self, name: str, types: dict[str, Any]) -> Any:
        async def run(state: dict[str, Any], runtime: Any) -> dict[str, Any] | None:
            number = self.executed[name] = self.executed.get(name, 0) + 1
            chance = random.Random(f"{self.seed} {name} {number} {sorted(state)}")
            await asyncio.sleep(0)
            if self.fails and chance.random() < 0.1:
                raise chance.choice(FAILURES)
            keys = [key for key in types if chance.random() < 0.3]
            update = {key: drawn(types[key], chance) for key in keys if key not in ("speaker", "part")}
            # What the questions ask for; a conflict ends, as it does when no backup is left.
            update |= {"removed": [*map(str, range(chance.randrange(2)))], "active": ["a"] * chance.randrange(2)}
            update |= {"conflict": number < 6 and chance.random() < 0.6, "rewritable": chance.random() < 0.5}
            update = {key: value for key, value in update.items() if key in types}
            return chance.choice([update, update, update | {"unknown": 1}, update])

        run.__name__ = name
        return run


def with_nodes(graph: InnerGraph, nodes: Nodes) -> InnerGraph:
    """Return a graph with the same edges and questions, and other nodes."""
    other = InnerGraph(graph._graph.state_schema, graph._graph.input_schema, graph._graph.output_schema)
    for name, step in graph._steps.items():
        inner = with_nodes(step.node, nodes) if isinstance(step.node, InnerGraph) else nodes.of(name, graph._types)
        other.add_node(name, inner)
    for before, following in graph._next.items():
        if isinstance(following, _Decision):
            other.add_conditional_edges(before, following.question, dict(following.paths))
        else:
            other.add_edge(before, following)
    return other


def beginning(graph: InnerGraph, chance: random.Random) -> dict[str, Any]:
    kinds = get_type_hints(graph._graph.input_schema)
    state = {key: drawn(kind, chance) for key, kind in kinds.items() if chance.random() < 0.9}
    return {**state, "round": 1, "turn": 1, **{key: "Mara" for key in ("speaker", "asker", "agent") if key in kinds}}


def outside(graph: InnerGraph, walks: bool) -> Any:
    """Return a graph with this one as its node, as a conversation has it."""
    schemas = (graph._graph.input_schema, graph._graph.state_schema)
    keys = {key: kind for schema in schemas for key, kind in get_type_hints(schema, include_extras=True).items()}
    parent: Any = StateGraph(TypedDict("Parent", keys, total=False), context_schema=Context)  # type: ignore[operator]
    parent.add_node("inner", graph.walked if walks else graph.compiled)
    parent.add_edge(START, "inner")
    parent.add_edge("inner", END)
    return parent.compile(checkpointer=InMemorySaver() if walks else None)


async def outcome(graph: InnerGraph, walks: bool, state: dict[str, Any], context: Context) -> tuple[Any, Told]:
    """Return what a graph ends with, its values or its error, and what it told of its nodes."""
    told: Told = []

    def watch(within: str, task: Any) -> None:
        told.append((task["name"], task["input"] if "input" in task else task["result"]))

    stream = outside(graph, walks).astream(
        state,
        {"configurable": {"thread_id": "t"}},
        context=replace(context, watch=watch),
        durability="exit",
        stream_mode=["tasks", "values"],
        subgraphs=True,
        version="v2",
    )
    values: Any = None
    try:
        async for event in stream:
            if event["type"] == "tasks" and event["data"].get("error") is None:
                # An update may lack keys that its graph does not have: LangGraph passes them over.
                watch("", event["data"])
            elif event["type"] == "values" and not event["ns"]:
                values = event["data"]
    except Exception as error:
        return (type(error), str(error)), told
    return values, told


def known(told: Told, graph: InnerGraph) -> Told:
    """Return what was told of nodes, without keys that no state has, and without the input of the whole graph."""
    keys = {*graph._types, *(key for step in graph._steps.values() if isinstance(step.node, InnerGraph)
                             for key in step.node._types)}  # fmt: skip
    return [(name, {key: value for key, value in dict(of or {}).items() if key in keys}) for name, of in told[1:]]


def cases() -> Iterator[Any]:
    for name in GRAPHS:
        for fails in (False, True):
            yield pytest.param(name, fails, id=f"{name}{' with failures' * fails}")


@pytest.mark.full  # half a minute
@pytest.mark.parametrize(("name", "fails"), list(cases()))
async def test_both_give_the_same_for_drawn_states(name: str, fails: bool) -> None:
    graph, errors, paths = GRAPHS[name], 0, set()
    contexts = [a_context(**settings) for settings in SETTINGS]
    for seed in range(STATES // 2):
        chance = random.Random(seed + 1000 * fails)
        state, context = beginning(graph, chance), contexts[seed % len(contexts)]
        found = []
        for walks in (True, False):
            with_stand_ins = with_nodes(graph, Nodes(seed + 1000 * fails, fails))
            values, told = await outcome(with_stand_ins, walks, state, context)
            found.append((values, known(told, with_stand_ins)))
        assert found[0] == found[1], f"seed {seed}"
        errors += isinstance(found[0][0], tuple)
        paths.add(tuple(node for node, _ in found[0][1]))
    assert bool(errors) == fails
    assert len(paths) > (1 if name == "cognition" else 10)


@pytest.mark.parametrize("walks", [True, False])
async def test_a_cancelled_graph_cancels_its_node(walks: bool) -> None:
    begun, cancelled = asyncio.Event(), list[str]()

    async def waits(state: Any, runtime: Any) -> Any:
        begun.set()
        await until_cancelled(state["agent"], cancelled)

    graph = cognition_graph({"assess": waits, "perceive": replaced, "choose_mechanisms": chooses_none})
    task = asyncio.create_task(outcome(graph, walks, {"round": 1, "agent": "Mara", "present": []}, a_context()))
    await asyncio.wait_for(begun.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled == ["Mara"]


async def until_cancelled(agent: str, cancelled: list[str]) -> None:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        cancelled.append(agent)
        raise


async def replaced(state: Any, runtime: Any) -> Any:
    return {}


async def chooses_none(state: Any, runtime: Any) -> Any:
    return {"active": []}


@pytest.mark.parametrize("walks", [True, False])
async def test_a_sibling_that_fails_stops_the_others(walks: bool) -> None:
    cancelled = list[str]()

    async def assess(state: Any, runtime: Any) -> Any:
        if state["agent"] == "Piotr":
            await asyncio.sleep(0.01)
            raise ModelError("no answer")
        await until_cancelled(state["agent"], cancelled)

    inner = cognition_graph({"assess": assess, "perceive": replaced, "choose_mechanisms": chooses_none})
    parent: Any = StateGraph(inner._graph.state_schema, context_schema=Context)
    parent.add_node("inner", inner.walked if walks else inner.compiled)
    sent = [Send("inner", {"round": 1, "agent": name, "present": []}) for name in ("Mara", "Piotr", "Ana")]
    parent.add_conditional_edges(START, lambda state: sent, ["inner"])
    with pytest.raises(ModelError, match="no answer"):
        await parent.compile().ainvoke({"round": 1}, context=a_context())
    assert sorted(cancelled) == ["Ana", "Mara"]


@pytest.mark.parametrize("walks", [True, False])
async def test_a_node_that_takes_too_long_is_a_timeout(walks: bool) -> None:
    async def assess(state: Any, runtime: Any) -> Any:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60)

    graph = cognition_graph({"assess": assess, "perceive": replaced, "choose_mechanisms": chooses_none})
    (kind, _), told = await outcome(graph, walks, {"round": 1, "agent": "Mara", "present": []}, a_context())
    assert kind is TimeoutError
    assert [name for name, _ in told][-1] == "assess"
