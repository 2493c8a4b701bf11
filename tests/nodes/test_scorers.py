"""Scorers: what each of them counts, that all units have a score, and that λ acts on any of them."""

from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest
from langgraph.runtime import Runtime
from support.dialogue_case import BEGINNING, a_context, some_turns
from support.scripted import ScriptedModel

from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.nodes.machinery.guard import guarded
from tertulia.nodes.machinery.registry import NODES, Registry
from tertulia.nodes.scorers.attention import carried_scores, score_attention, scores_before
from tertulia.nodes.utterance.retrieve import retrieve_memory
from tertulia.prompts.render import render
from tertulia.state.context import Context
from tertulia.state.errors import AttentionUnavailableError
from tertulia.state.language_model import RenderedPrompt
from tertulia.state.records import Prompt, TurnRecord, Unit

SCORERS = [node.name for node in NODES.values() if node.place == "score"]
START: dict[str, Any] = {"round": 3, "turn": 3, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 9.0}


async def scored(context: Context, name: str) -> tuple[Prompt, dict[str, float], str]:
    """What a scorer says of the third turn at the pier; guarded, so that it keeps to what it declares."""
    for turn in some_turns(2):
        context.store.save_turn(context.run, TurnRecord(turn=turn))
    state = {**START, **await retrieve_memory(START, Runtime(context=context))}
    update = await guarded(NODES[name])(state, Runtime(context=context))
    return context.store.prompt(state["prompt"]), update["scores"], update["scored_by"]


@pytest.mark.parametrize("name", SCORERS)
async def test_every_unit_has_a_score_and_the_same_again(name: str) -> None:
    prompt, scores, scored_by = await scored(a_context(), name)
    assert list(scores) == [unit.id for unit in prompt.units]
    assert all(score >= 0 for score in scores.values())
    assert len(set(scores.values())) > 3
    assert scored_by == "scripted" if name == "attention" else name in scored_by
    assert (await scored(a_context(), name))[1] == scores


async def test_similarity_is_that_with_the_last_lines() -> None:
    context = a_context(block_order="bmc")
    prompt, scores, _ = await scored(context, "embedding_similarity")
    lines = "Mara: Line 1.\nPiotr: Line 2."
    for unit in prompt.units:
        lines_vector, unit_vector = context.embedder.embed([lines, unit.text])
        assert scores[unit.id] == pytest.approx(
            max(0.0, sum(a * b for a, b in zip(lines_vector, unit_vector, strict=True)))
        )
    lines = [unit.id for unit in prompt.units if unit.id.startswith("current_dialogue.turn")]
    assert min(scores[line] for line in lines) > max(s for unit, s in scores.items() if unit.startswith("memory.m"))


async def test_leaving_out_takes_the_drop_in_likelihood_of_one_response() -> None:
    def likelihood(prompt: RenderedPrompt) -> float:
        return -1.0 - ("memory.m3" not in prompt.token_spans) + 0.5 * ("memory.m4" not in prompt.token_spans)

    model = ScriptedModel(speech=["One."], likelihood=likelihood)
    context = a_context(model)
    prompt, scores, _ = await scored(context, "leave_one_out")
    assert {unit: score for unit, score in scores.items() if score} == {"memory.m3": 1.0}
    asked = model.asked("log_likelihood")
    assert len(asked) == len(prompt.units) + 1
    assert [len(rendered.token_spans) for rendered in asked] == [
        len(prompt.units),
        *repeat(len(prompt.units) - 1, len(asked) - 1),
    ]


async def test_length_is_in_tokens_as_the_prompt_has_them() -> None:
    context = a_context()
    prompt, scores, _ = await scored(context, "length")
    spans = render(prompt, context.model.tokenizer).token_spans
    assert scores == {unit: past_last - first for unit, (first, past_last) in spans.items()}


async def test_draws_are_keyed_by_seed_and_round() -> None:
    first = (await scored(a_context(seed=1), "random"))[1]
    assert first != (await scored(a_context(seed=2), "random"))[1]
    assert all(0 <= draw < 1 for draw in first.values())


class Blind(ScriptedModel):
    """A model that shows no attention."""

    async def generate_scored(self, request: Any, options: Any) -> Any:
        raise AttentionUnavailableError("this model shows no attention")


@pytest.mark.parametrize("name", SCORERS)
async def test_a_model_without_attention_takes_any_other_scorer(name: str) -> None:
    if name == "attention":
        with pytest.raises(AttentionUnavailableError):
            await scored(a_context(Blind()), name)
    else:
        assert (await scored(a_context(Blind()), name))[1]


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("removal_factor", [0.3, 1])
async def test_lambda_acts_on_any_scorer(name: str, removal_factor: float) -> None:
    settings: dict[str, Any] = {"removal_factor": removal_factor, "max_turns": 2, "nodes.score": name}
    context = a_context(ScriptedModel(endings=repeat(False)), **settings)
    graph = build_dialogue_graph(chosen=Registry().functions(context.parameters, "dialogue"))
    await graph.ainvoke({"turn": 0, "round": 0, "speaker": "", "sim_time_s": 0.0, "finished": False}, context=context)
    record = context.store.turn_record("k3f9", 2)
    assert record.prompt is not None
    assert record.scores is not None
    units = {unit.id: unit for unit in context.store.prompt(record.prompt).units}
    total = sum(record.scores[unit] for unit, entry in units.items() if entry.removable)
    taken = sum(record.scores[unit] for unit in record.removed if units[unit].removable)
    assert 0 < taken <= removal_factor * total + 1e-9
    if removal_factor == 1:
        weighty = {unit for unit, entry in units.items() if entry.removable and record.scores[unit] > 0}
        assert weighty <= set(record.removed)  # what has no score is no part of the share, and may stand


def test_carried_scores_are_the_weighted_mean_on_one_scale() -> None:
    scores = {"a": 2.0, "b": 6.0, "new": 5.0}
    assert carried_scores(scores, {"a": 1.0, "b": 1.0}, 1.0) == {"a": 3.0, "b": 5.0, "new": 5.0}
    assert carried_scores(scores, {"a": 3.0, "b": 1.0}, 0.5) == pytest.approx({"a": 10 / 3, "b": 14 / 3, "new": 5.0})
    assert carried_scores(scores, {"a": 0.0}, 0.5) == carried_scores(scores, {}, 0.5) == scores


@pytest.mark.parametrize("decay", [0.0, 0.5])
async def test_scores_can_be_computed_again_from_what_is_stored(decay: float) -> None:
    context = a_context(ScriptedModel(endings=repeat(False)), score_decay=decay, max_turns=6)
    await build_dialogue_graph().ainvoke(BEGINNING, context=context)
    fresh_context = a_context(ScriptedModel(endings=repeat(False)), score_decay=0, max_turns=6)
    for turn in context.store.turns(context.run):
        record = context.store.turn_record(context.run, turn.turn)
        prompt = context.store.prompt(record.prompt or "")
        fresh_context.store.save_prompt(prompt)
        state: Any = {"round": turn.round, "turn": turn.turn, "speaker": turn.speaker, "prompt": record.prompt}
        fresh = (await score_attention(state, Runtime(context=fresh_context)))["scores"]
        before = scores_before(context, turn.speaker or "", turn.turn, prompt)
        assert bool(before) == (turn.turn > 2)
        assert record.scores == (carried_scores(fresh, before, decay) if before else fresh)
        assert ("carried" in (record.scored_by or "")) == (decay > 0 and turn.turn > 2)


def test_a_unit_with_another_text_carries_nothing() -> None:
    context = a_context()
    units = [Unit(id=i, block="memory", kind="item", text=i, removable=True) for i in ("memory.a", "memory.b")]
    prompt = Prompt(units=tuple(units), speaker="Mara", layout="single_message")
    scores = {"memory.a": 1.0, "memory.b": 2.0}
    record = TurnRecord(turn=some_turns(1)[0], prompt=context.store.save_prompt(prompt), scores=scores)
    context.store.save_turn(context.run, record)
    changed = prompt.model_copy(update={"units": (units[0], units[1].model_copy(update={"text": "other"}))})
    assert scores_before(context, "Mara", 2, changed) == {"memory.a": 1.0}
    assert scores_before(context, "Piotr", 2, prompt) == {}


async def test_trials_of_a_case_may_share_what_is_drawn_for_their_prompts() -> None:
    async def asked(seed: int, draws: str) -> tuple[Any, ...]:
        model = ScriptedModel(layout="chat_turns")
        prompt, scores, _ = await scored(replace(a_context(model, prompt_draws=draws), seed=seed), "attention")
        (request,) = model.asked("generate_scored")
        return prompt, scores, [generator.getstate()[1] for generator in request.generators]

    assert await asked(1, "case") == await asked(2, "case")
    assert (await asked(1, "run"))[2] != (await asked(2, "run"))[2]
