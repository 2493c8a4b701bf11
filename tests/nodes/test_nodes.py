"""The contract that every node keeps to, in every state of conversations of every kind."""

import copy
import importlib
import inspect
import json
from itertools import repeat
from pathlib import Path
from typing import Any, get_type_hints

from langgraph.runtime import Runtime
from pydantic import TypeAdapter
from support.album_case import a_population
from support.dialogue_case import BEGINNING, a_context
from support.meeting_case import a_quay
from support.scripted import ScriptedModel

from tertulia.graphs.album_chat import build_album_chat_graph, build_exchange_graph
from tertulia.graphs.cognition import build_cognition_graph
from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.graphs.group_chat import ORDERS, build_group_chat_graph
from tertulia.graphs.town import build_town_graph
from tertulia.graphs.utterance import build_utterance_graph
from tertulia.nodes.conversation.seat import save_answer
from tertulia.nodes.machinery import registry
from tertulia.runs.planning.entering import album_state
from tertulia.state.context import Context
from tertulia.state.graph_state import (
    AlbumState,
    CognitionState,
    DialogueState,
    ExchangeState,
    GroupState,
    UtteranceState,
    first_state,
)
from tertulia.state.parameters import ALBUM_CHAT
from tertulia.state.seat import Answer
from tertulia.storage.sqlite.checkpoints import PlainSerializer

SETTINGS = [
    {"removal_factor": 0.5, "max_turns": 3},
    {
        "removal_factor": 0.5,
        "max_turns": 3,
        "judge": "likelihood",
        "ending": "continuation",
        "human_needs": "true",
        "case_seed": "seed",
    },
    {"removal_factor": 0, "max_turns": 2, "record_scores": "true", "judge_baseline": "true", "layout": "chat_turns"},
    {"removal_factor": 1, "max_turns": 2, "backups": "with_utterance", "max_minutes": 0.01},
    {"removal_factor": 0.5, "max_turns": 4, "revision": "combined", "names": "famous", "block_lengths": "m=4"},
    {"retain": "lowest", "max_turns": 2, "revision": "rewrite", "generation": "sequential", "removed_blocks": "p"},
    {"removal_factor": 0, "max_turns": 4, "seat": "Piotr"},
]
GROUP_SETTINGS: list[dict[str, Any]] = [
    *(
        {"order": order, "max_turns": rounds, "removal_factor": 0.5}
        for order, rounds in zip(ORDERS, (5, 2, 2, 2, 2), strict=False)
    ),
    {"order": "self_driven", "max_turns": 4, "removal_factor": 0, "seat": "Bo"},
    {"order": "self_driven", "max_turns": 3, "removal_factor": 0, "willingness": "rated", "willingness_threshold": 1},
]
ALBUM_SETTINGS: list[dict[str, Any]] = [
    {**ALBUM_CHAT, "setting": "low", "max_turns": 3},
    {
        **ALBUM_CHAT,
        "setting": "high",
        "max_turns": 2,
        "removal_factor": 0.6,
        "album_pictures": 2,
        "revision": "combined",
    },
]

GRAPHS: list[tuple[Any, Any]] = [
    (build_utterance_graph(), UtteranceState),
    (build_dialogue_graph(), DialogueState),
    (build_cognition_graph(), CognitionState),
    *((build_group_chat_graph(order), GroupState) for order in ORDERS),
    (build_exchange_graph(), ExchangeState),
    (build_album_chat_graph(), AlbumState),
]
#: By name, every node that is a function, and the state that it reads and writes.
NODES = {
    name: (inspect.unwrap(node.runnable.afunc), CognitionState if name in ("prepare", "attend") else schema)
    for graph, schema in GRAPHS
    for name, node in graph.builder.nodes.items()
    if name not in ("utterance", "cognition", "exchange", "plan", "question", "answer")
}


def test_every_node_stands_in_a_graph_under_its_own_name() -> None:
    room = Path(registry.__file__).parents[1]
    files = [file.relative_to(room).with_suffix("") for file in room.rglob("[!_]*.py")]
    steps = [file for file in files if file.parts[0] not in ("machinery", "mechanisms")]
    modules = [importlib.import_module(".".join(("tertulia", "nodes", *file.parts))) for file in steps]
    written = {
        function
        for module in modules
        for _, function in inspect.getmembers(module, inspect.iscoroutinefunction)
        if function.__module__ == module.__name__
        and list(inspect.signature(function).parameters) == ["state", "runtime"]
    }
    in_town = {node.runnable.afunc for node in build_town_graph().builder.nodes.values()}
    placed = {node.run for node in registry.NODES.values()}
    assert written == {function for function, _ in NODES.values()} | in_town | placed
    assert all(function.__name__ == name for name, (function, _) in NODES.items() if name != "score")


States = list[tuple[str, dict[str, Any]]]


async def states_of(graph: Any, beginning: Any, context: Context) -> States:
    """The name of every node that is executed, in order, and the state that it is given."""
    events = graph.astream(beginning, context=context, stream_mode="tasks", subgraphs=True, version="v2")
    started = [copy.deepcopy(event["data"]) async for event in events if "input" in event["data"]]
    return [(task["name"], task["input"]) for task in started if task["name"] in NODES]


def with_answers(context: Context) -> Context:
    """Store what a person who has a seat is going to answer, so that nobody is asked."""
    if context.parameters.seat is not None:
        for round in range(1, context.parameters.max_turns + 1):
            save_answer(context, round, context.parameters.seat, Answer(words=f"Number {round}."))
    return context


async def states_of_a_conversation(settings: dict[str, Any]) -> tuple[Context, States]:
    ratings = [9] * 12 + [2] * 90
    script: dict[str, Any] = {"ratings": ratings, "likelihood": lambda _: -1.0}
    if "order" in settings:
        context = with_answers(a_context(ScriptedModel(**script), start=a_quay(), **settings))
        graph, beginning = build_group_chat_graph(settings["order"]), first_state(a_quay())
        return context, await states_of(graph, beginning, context)
    if "setting" in settings:
        context = a_context(ScriptedModel(**script), start=a_population(5, pictures=2), **settings)
        return context, await states_of(build_album_chat_graph(), album_state(context), context)
    context = with_answers(a_context(ScriptedModel(endings=repeat(False), **script), **settings))
    return context, await states_of(build_dialogue_graph(), BEGINNING, context)


async def test_every_node_keeps_the_contract_in_every_state() -> None:
    """Known keys, valid types, plain data, the input as it was; and every node is reached."""
    reached, serializer = set(), PlainSerializer("tertulia.db")
    adapters = {schema: TypeAdapter(schema) for _, schema in NODES.values()}
    for settings in (*SETTINGS, *GROUP_SETTINGS, *ALBUM_SETTINGS):
        context, states = await states_of_a_conversation(settings)
        assert len(states) > 10, settings
        for name, state in states:
            node, schema = NODES[name]
            given = copy.deepcopy(state)
            update = await node(given, Runtime(context=context))
            assert given == state, f"{name} changed its input ({settings})"
            assert set(update) <= set(get_type_hints(schema)), f"{name} writes unknown keys ({settings})"
            adapters[schema].validate_python(update, strict=True)
            assert json.loads(json.dumps(update, allow_nan=False)) == update, (name, settings)
            assert serializer.loads_typed(serializer.dumps_typed(update)) == update, (name, settings)
            reached.add(name)
    assert reached == set(NODES)
