"""What a run does with long items: which prompts have them cut, and what asks for whole ones gets them."""

from itertools import repeat
from typing import Any

import pytest
from support.dialogue_case import a_context, a_memory, a_pier
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.prompts.cut import item_of
from tertulia.state.context import Context
from tertulia.state.records import Case, Prompt

SENTENCES = [f"In year {100 + n} Mara mended the net of a neighbour." for n in range(30)]
LONG = " ".join(SENTENCES)
START: dict[str, Any] = {"round": 1, "turn": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}


def a_case(background: str | None = None, memory: str | None = None) -> Case:
    """The pier, where Mara has a long background or, as her second memory, a long one."""
    case = a_pier(3)
    initiator = case.initiator
    persona = initiator.persona.model_copy(update={"background": (background or "Mara sells fish.",)})
    first, *_, last = initiator.memories
    memories = (first, a_memory(77, memory, hours_ago=2), last) if memory else initiator.memories
    return case.model_copy(
        update={"initiator": initiator.model_copy(update={"persona": persona, "memories": memories})}
    )


async def spoken(model: ScriptedModel | None = None, **settings: Any) -> tuple[Context, Prompt, dict[str, Any]]:
    start = settings.pop("start", a_case(LONG))
    model = model or ScriptedModel(endings=repeat(False))
    context = a_context(model, start=start, **{"removal_factor": 0.5, "judge_runs": 1, **settings})
    outcome = await build_utterance_graph().ainvoke(START, context=context)
    return context, context.store.prompt(outcome["prompt"]), dict(outcome)


def pieces_of(prompt: Prompt) -> list[str]:
    return [unit.id for unit in prompt.units if item_of(unit.id) != unit.id]


async def test_the_stored_prompt_has_a_unit_for_each_sentence_with_a_score_of_its_own() -> None:
    context, prompt, outcome = await spoken()
    pieces = pieces_of(prompt)
    assert len(pieces) == len(SENTENCES)
    assert set(pieces) < set(outcome["scores"])
    removed = set(pieces) & set(outcome["removed"])
    assert 0 < len(removed) < len(pieces)
    (answered,) = context.model.asked("generate")[:1]  # type: ignore[attr-defined]
    assert set(pieces) & set(answered.prompt.token_spans) == set(pieces) - removed


async def test_lengths_and_names_are_of_whole_items_which_then_are_cut() -> None:
    start = a_case(memory=LONG)
    _, prompt, _ = await spoken(start=start, block_lengths="m=3", names="rare")
    memories = dict.fromkeys(item_of(unit.id) for unit in prompt.units if unit.block == "memory")
    assert len(memories) == 1 + 3  # with the lead
    assert "memory.m77" in memories
    assert not any("Mara" in unit.text for unit in prompt.units)
    assert len(pieces_of(prompt)) == len(SENTENCES)


@pytest.mark.parametrize("revision", ["rollback", "rewrite"])
async def test_the_judge_and_who_rewrites_read_removed_sentences_of_an_item_as_one_statement(revision: str) -> None:
    model = ScriptedModel(endings=repeat(False), ratings=[9, 1], speech=["A.", "B."], comments=["No."])
    context, prompt, outcome = await spoken(model, judge="rating", revision=revision)
    removed = [unit for unit in prompt.units if unit.id in outcome["removed"] and unit.id in pieces_of(prompt)]
    calls = [call for call in context.store.calls(context.run) if call.node in ("judge", "rewrite")]
    assert len(calls) == 1 + 1 + (revision == "rewrite")
    for call in calls:
        statements = [u.text for u in context.store.prompt(call.prompt or "").units if u.block == "statements"]
        found = [text for text in statements if removed[0].text.strip() in text]
        assert len(found) == 1
        assert all(unit.text.strip() in found[0] for unit in removed)
