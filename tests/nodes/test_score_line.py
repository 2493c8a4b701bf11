"""What a line leaned on: which prompt and which words are read, by which scores, and where nothing is."""

from dataclasses import replace
from typing import Any

import pytest
from support.dialogue_case import BEGINNING, a_context, a_pier
from support.scripted import ScriptedModel
from support.tiny import tiny_language_model

from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.nodes.utterance.score_line import scores_of_line
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render
from tertulia.state.context import Context
from tertulia.state.head_weights import HeadWeights
from tertulia.state.language_model import LanguageModel
from tertulia.state.records import Candidate, TurnRecord

WEIGHTS = HeadWeights(model="tiny", fingerprint="", weights=[[0.0, 3.0, 0.0, 1.0]] * 4, floor=0.05)
SHORT: dict[str, Any] = {"ending": "off", "judge": "off", "max_turns": 2, "max_utterance_tokens": 8}


async def held(model: LanguageModel, **settings: Any) -> Context:
    context = a_context(model, start=a_pier(4), **{**SHORT, **settings})  # type: ignore[arg-type]
    await build_dialogue_graph().ainvoke(BEGINNING, context=context)
    return context


def said(context: Context, turn: int) -> tuple[TurnRecord, Candidate]:
    record = context.store.turn_record(context.run, turn)
    candidates = context.store.candidates(context.run, turn)
    return record, next(candidate for candidate in candidates if candidate.attempt == record.chosen)


@pytest.mark.parametrize("factor", [0.0, 0.6])
async def test_the_words_of_the_line_are_read_behind_the_prompt_that_it_answered(factor: float) -> None:
    model = tiny_language_model(context_window=None, head_weights=WEIGHTS)
    context = await held(model, removal_factor=factor)
    for turn in (1, 2):
        record, candidate = said(context, turn)
        assert bool(record.removed) == (factor > 0)
        assert record.line_scored_by == f"tiny, learned heads {WEIGHTS.hash}"
        full = context.store.prompt(record.prompt or "")
        answered = remove_units(full, record.removed)
        assert record.line_scores is not None
        assert list(record.line_scores) == [unit.id for unit in answered.units if unit.removable]
        rendered = render(answered, model.tokenizer, reply_prefix_of(full))
        first, past_last = candidate.reply.text_tokens
        heads = await model.head_attention(rendered, candidate.reply.tokens, (first, past_last))
        for unit, score in record.line_scores.items():
            weighed = sum(3 * layer[1] + layer[3] for layer in heads[unit])
            assert score == pytest.approx(max(0.0, weighed - 0.05), rel=1e-3, abs=1e-6)


async def test_without_learned_weights_it_is_the_attention_beyond_a_neutral_replys() -> None:
    model = tiny_language_model(context_window=None)
    context = await held(model, removal_factor=0.0)
    record, candidate = said(context, 2)
    assert record.line_scored_by == "tiny, attention beyond a neutral reply's"
    assert record.scores is None, "at λ = 0 nothing is scored for removal"
    assert record.line_scores is not None
    assert 0 < max(record.line_scores.values()) < 1
    prompt = context.store.prompt(record.prompt or "")
    assert await scores_of_line(model, prompt, candidate.reply, is_writer=True) == record.line_scores


async def test_a_line_of_a_model_that_shows_text_alone_is_read_by_its_surrogate_if_it_has_one() -> None:
    assert said(await held(ScriptedModel(text_only=True), removal_factor=0.0), 1)[0].line_scores is None
    context = a_context(ScriptedModel(text_only=True), start=a_pier(4), **SHORT, removal_factor=0.0, surrogate="tiny")
    reader = tiny_language_model(context_window=None, head_weights=WEIGHTS)
    context = replace(context, roles={"score": (reader, context.parameters)})
    await build_dialogue_graph().ainvoke(BEGINNING, context=context)
    record, _ = said(context, 1)
    assert record.line_scored_by == f"tiny, learned heads {WEIGHTS.hash} (surrogate of scripted)"
    assert record.line_scores


async def test_where_all_is_removed_nothing_is_left_to_lean_on() -> None:
    record, _ = said(await held(tiny_language_model(context_window=None), removal_factor=1.0), 1)
    assert record.removed
    assert (record.line_scores, record.line_scored_by) == (None, None)


async def test_a_model_whose_layers_see_no_whole_prompt_speaks_and_its_lines_are_not_scored() -> None:
    model = tiny_language_model(context_window=None)
    model.traits = replace(model.traits, layer_windows=(8, 8, 8, 8))
    record, _ = said(await held(model, removal_factor=0.0), 1)
    assert (record.line_scores, record.line_scored_by) == (None, None)


async def test_what_scores_a_line_changes_no_word() -> None:
    plain, learned = (tiny_language_model(context_window=None, head_weights=weights) for weights in (None, WEIGHTS))
    texts = []
    for model in (plain, learned):
        context = await held(model, removal_factor=0.6)
        texts.append([turn.text for turn in context.store.turns(context.run)])
    assert texts[0] == texts[1]
