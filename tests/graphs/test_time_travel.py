"""Time travel on Tertulia's own graphs, as LangGraph's users know it: inner pauses, edits, earlier checkpoints."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.album_case import a_population
from support.dialogue_case import a_context, a_pier
from support.meeting_case import a_quay

from tertulia.graphs.album_chat import build_album_chat_graph
from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.graphs.group_chat import build_group_chat_graph
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.planning.additions import NOTHING_ADDED
from tertulia.runs.planning.entering import first_state_of
from tertulia.runs.planning.starting import RunPlan, begin
from tertulia.state.album import Pairs
from tertulia.state.graph_state import first_state
from tertulia.state.language_model import REHEARSAL
from tertulia.state.parameters import ALBUM_CHAT, Parameters
from tertulia.storage.store import SqlStore

CONFIG: Any = {"configurable": {"thread_id": "t"}}
RUN = "k3f9"


async def inner_of(graph: Any) -> list[Any]:
    return [task.state for task in (await graph.aget_state(CONFIG, subgraphs=True)).tasks]


async def test_a_dialogue_pauses_before_an_inner_step_and_goes_on_from_an_edit() -> None:
    context = a_context(removal_factor=0.5, judge="off", max_turns=2)
    graph: Any = build_dialogue_graph(InMemorySaver(), interrupt_before=["generate"])
    await graph.ainvoke(first_state(a_pier()), CONFIG, context=context)
    (inner,) = await inner_of(graph)
    assert inner.next == ("generate",)
    assert inner.values["removed"]
    await graph.aupdate_state(inner.config, {"removed": []})
    await graph.ainvoke(None, CONFIG, context=context)
    assert context.store.turn_record(RUN, 1).removed == ()
    await graph.ainvoke(None, CONFIG, context=context)
    history = [state async for state in graph.aget_state_history(CONFIG)]
    assert {state.values.get("turn") for state in history} >= {0, 1, 2}
    (first,) = [state for state in history if state.next == ("take_turn",) and state.values["turn"] == 0]
    await graph.ainvoke(None, first.config, context=context)
    (inner,) = await inner_of(graph)
    assert (inner.next, inner.values["turn"], bool(inner.values["removed"])) == (("generate",), 1, True)


@pytest.mark.parametrize("when", ["interrupt_before", "interrupt_after"])
async def test_every_agent_of_a_meeting_pauses_at_a_step_of_their_cognition(when: str) -> None:
    start = a_quay()
    context = a_context(start=start, max_turns=1)
    pauses: Any = {when: ["assess" if when == "interrupt_after" else "decide"]}
    graph: Any = build_group_chat_graph("self_driven", InMemorySaver(), **pauses)
    async with asyncio.timeout(20):
        await graph.ainvoke(first_state(start), CONFIG, context=context)
        minds = await inner_of(graph)
        assert {mind.next for mind in minds} == {("decide",)}
        assert sorted(mind.values["agent"] for mind in minds) == sorted(start.names)
        of = minds[0].values
        await graph.aupdate_state(minds[0].config, {"mind": {**of["mind"], "emotion": "angry"}})
        end = await graph.ainvoke(None, CONFIG, context=context)
    assert end["minds"][of["agent"]]["emotion"] == "angry"
    assert len(context.store.turns(RUN)) == 1


@pytest.mark.parametrize("pauses", [{"interrupt_before": ["generate"]}, {"interrupt_after": ["prune"]}])
async def test_every_pair_of_an_album_chat_pauses_at_a_step_of_each_utterance(tmp_path: Path, pauses: Any) -> None:
    parameters = Parameters().with_settings({**ALBUM_CHAT, "max_turns": 1, "removal_factor": 0.5, "judge": "off"})
    with SqlStore.open(tmp_path / "a.db", create=True) as store:
        plan = RunPlan(a_population(4), parameters, REHEARSAL, 1, NOTHING_ADDED.registry())
        context = begin(store, plan, ModelAccess())
        graph: Any = build_album_chat_graph(InMemorySaver(), **pauses)
        given: Any = first_state_of(context)
        paused = []
        async with asyncio.timeout(60):
            while given is not None or (await graph.aget_state(CONFIG)).next:
                await graph.ainvoke(given, CONFIG, context=context)
                given = None
                acts = [task.state for pair in await inner_of(graph) for task in pair.tasks]
                paused += [(act.values["speaker"], act.values["part"]) for act in acts]
                for act in acts:
                    assert act.next == ("generate",)
                    if act.values["part"] == "answer":
                        await graph.aupdate_state(act.config, {"removed": []})
        (drawn,) = store.steps(context.run, "pairs", Pairs).values()
        parts = [("plan", 0), ("", 0), ("answer", 1)]
        assert paused == [(pair[who], part) for part, who in parts for pair in drawn.pairs]
        for turn in (1, 2):
            assert store.parts(context.run, turn)["answer"].removed == ()
            assert store.turn_record(context.run, turn).removed


async def test_inner_steps_are_streamed_as_langgraph_runs_them() -> None:
    graph: Any = build_dialogue_graph(InMemorySaver())
    stream = graph.astream(
        first_state(a_pier()), CONFIG, context=a_context(max_turns=1), stream_mode="tasks", subgraphs=True, version="v2"
    )
    steps = [event["data"]["name"] async for event in stream if event["ns"] and "input" in event["data"]]
    assert steps[:2] == ["begin_utterance", "retrieve_memory"]


def test_a_misspelt_step_is_an_error_of_langgraph() -> None:
    for build in (build_dialogue_graph, build_album_chat_graph):
        with pytest.raises(ValueError, match="generat"):
            build(InMemorySaver(), interrupt_before=["generat"])
