"""What is recalled of a memory stream: from when, how much, by which weights, in which order."""

from itertools import pairwise, repeat
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dialogue_case import BEGINNING, NOW, a_context, a_memory, a_pier, many_memories, some_turns
from support.scripted import ScriptedModel

from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.shared.memory import point_vectors, retrieve_memories, texts_of
from tertulia.nodes.utterance.retrieve import focal_points, in_places
from tertulia.state.parameters import Parameters
from tertulia.state.recall import recency
from tertulia.state.records import Memory


def recalled(memories: Any, points: list[str] | None = None, **parameters: Any) -> list[Memory]:
    chosen = Parameters().with_settings(parameters)
    return retrieve_memories(memories, points or ["the ferry"], NOW, RehearsalEmbedder(), chosen)


def only(weight: str) -> dict[str, float]:
    weights = dict.fromkeys(("retrieval_relevance", "retrieval_recency", "retrieval_importance"), 0.0)
    return {**weights, f"retrieval_{weight}": 1.0}


def numbers(memories: list[Memory]) -> list[int]:
    return [int(memory.id.removeprefix("m")) for memory in memories]


def test_only_what_is_from_before_now_is_recalled() -> None:
    stream = [a_memory(i, f"Ferry {i}.", hours_ago=hours) for i, hours in enumerate((2, 1, 0, -1))]
    assert numbers(recalled(stream)) == [0, 1]
    assert recalled(stream[2:]) == []
    assert recalled([]) == []


def test_chats_and_idle_things_are_not_recalled() -> None:
    stream = [
        a_memory(0, "Mara talked about the ferry.", kind="chat"),
        a_memory(1, "the lantern is idle"),
        a_memory(2, "Mara sees idle hands."),
        a_memory(3, "The ferry matters.", kind="thought"),
    ]
    assert numbers(recalled(stream)) == [2, 3]


def test_of_memories_with_the_same_text_the_latest_counts() -> None:
    stream = [a_memory(i, "The ferry is late.", hours_ago=hours) for i, hours in enumerate((3, 1, 2))]
    assert numbers(recalled(stream)) == [1]


@pytest.mark.parametrize("other", [{"hours_ago": -1}, {"hours_ago": 0.5, "kind": "chat"}])
def test_what_is_left_out_does_not_hide_a_memory_with_the_same_text(other: dict[str, Any]) -> None:
    stream = [a_memory(0, "The ferry is late.", hours_ago=2), a_memory(1, "The ferry is late.", **other)]
    assert numbers(recalled(stream)) == [0]


@given(
    count=st.integers(0, 90),
    bounds=st.tuples(st.integers(1, 50), st.integers(1, 50)).map(sorted),
    points=st.lists(st.sampled_from(["ferry", "Mara and Piotr", "the letter", "on day 7"]), min_size=1, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_as_many_as_the_limits_say_if_there_are_so_many(count: int, bounds: list[int], points: list[str]) -> None:
    low, high = bounds
    found = recalled(many_memories("Mara", count), points, memory_items_min=low, memory_items_max=high)
    assert min(count, low) <= len(found) <= high
    assert len({memory.id for memory in found}) == len(found)
    assert found == sorted(found, key=lambda memory: memory.created)


STREAM = [
    a_memory(0, "The ferry sails at noon.", hours_ago=90, importance=1),
    a_memory(1, "A quarrel about money.", hours_ago=60, importance=9),
    a_memory(2, "Bread smells good.", hours_ago=1, importance=2),
    a_memory(3, "Rain on the roof.", hours_ago=30, importance=4),
]


@pytest.mark.parametrize(
    ("weight", "first", "second"),
    [("relevance", 0, None), ("recency", 2, 3), ("importance", 1, 3)],
)
def test_each_weight_alone_brings_its_own(weight: str, first: int, second: int | None) -> None:
    def best(count: int) -> set[int]:
        limits = {"memory_items_min": count, "memory_items_max": count}
        return set(numbers(recalled(STREAM, ["When does the ferry sail?"], **only(weight), **limits)))

    assert best(1) == {first}
    if second is not None:
        assert best(2) == {first, second}


def test_weights_are_summed_over_equal_scales() -> None:
    limits = {"memory_items_min": 1, "memory_items_max": 1}
    unasked = {**only("recency"), "retrieval_importance": 1.0}
    assert numbers(recalled(STREAM, **unasked, **limits)) == [1]  # importance 1, recency about a third
    assert numbers(recalled(STREAM, **{**unasked, "retrieval_recency": 2.0}, **limits)) == [2]


def test_every_focal_point_brings_its_best() -> None:
    points = ["the ferry sails", "a quarrel about money", "rain on the roof"]
    found = recalled(STREAM, points, **only("relevance"), memory_items_min=3, memory_items_max=3)
    assert numbers(found) == [0, 1, 3]


def test_focal_points_are_the_other_one_the_situation_and_what_was_said_last() -> None:
    case = a_pier()
    assert focal_points(case, "Mara", ["Piotr"], []) == ["Mara and Piotr", "Mara meets Piotr. the pier. reading"]
    assert focal_points(case, "Piotr", ["Mara"], some_turns(6)) == [
        "Piotr and Mara",
        "Piotr meets Mara. the pier. mending a net",
        ("Mara: Line 3.", "Piotr: Line 4.", "Mara: Line 5.", "Piotr: Line 6."),
    ]
    joined = focal_points(case, "Piotr", ["Mara"], some_turns(6), focal_lines="joined")
    assert joined[-1] == "Mara: Line 3.\nPiotr: Line 4.\nMara: Line 5.\nPiotr: Line 6."
    unknown = case.model_copy(update={"place": None, "partner": case.partner.model_copy(update={"activity": None})})
    assert focal_points(unknown, "Mara", ["Piotr"], [])[1] == "Mara meets Piotr"
    assert focal_points(unknown, "Mara", ["Piotr"], [], "zh") == ["Mara和Piotr", "Mara遇见Piotr"]


def test_each_line_is_embedded_by_itself_and_lines_count_by_their_length() -> None:
    embedder = RehearsalEmbedder()
    lines = ("Mara: No.", "Piotr: The ferry sails at noon, if it sails.", "Mara: So?")
    mean = np.array([len(line) for line in lines]) @ np.array(embedder.embed(lines))
    found = point_vectors(embedder, ["the pier", lines])
    np.testing.assert_allclose(found, [*embedder.embed(["the pier"]), mean / np.linalg.norm(mean)])
    assert texts_of(["the pier", lines]) == ["the pier", *lines]


def test_recency_halves_by_its_decay_per_hour() -> None:
    assert recency(0.0, 0.5) == 1
    assert recency(7200.0, 0.5) == 0.25
    assert recency(np.array([0.0, 3600.0]), 0.5).tolist() == [1.0, 0.5]


def test_memories_of_the_last_prompt_keep_their_places_and_new_ones_come_last() -> None:
    memories = list(many_memories("Mara", 6))
    shown = [f"m{n}" for n in (4, 9, 1, 3)]  # 9 is not recalled any more
    assert numbers(in_places(memories, shown)) == [4, 1, 3, 0, 2, 5]
    assert in_places(memories, []) == memories


async def test_a_speakers_prompts_keep_the_order_of_memories() -> None:
    script = ScriptedModel(endings=repeat(False))
    context = a_context(script, start=a_pier(40), memory_items_min=4, memory_items_max=6, max_turns=8)
    await build_dialogue_graph().ainvoke(BEGINNING, context=context)
    prompts: dict[str, list[list[str]]] = {}
    for turn in context.store.turns(context.run):
        prompt = context.store.prompt(context.store.turn_record(context.run, turn.turn).prompt or "")
        prompts.setdefault(turn.speaker or "", []).append([u.id for u in prompt.units if u.id.startswith("memory.m")])
    differ = False
    for shown in prompts.values():
        for before, after in pairwise(shown):
            stayed = [unit for unit in before if unit in after]
            stable = [*stayed, *(unit for unit in after if unit not in before)]
            by_time = sorted(after, key=lambda unit: int(unit.removeprefix("memory.m")))
            assert after == stable
            differ = differ or stable != by_time
    assert differ, "prompts in which both orders are the same test nothing"
