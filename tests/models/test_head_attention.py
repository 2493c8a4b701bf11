"""The attention of a response by layer and head: of every family what transformers reports, and summed, Eq. 1."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.on_use import on_use
from support.tiny import EACH_FAMILY, SPANS, drawn_tokens, spanned_prompt, tiny_language_model, tiny_model

from tertulia.state.errors import SettingError
from tertulia.state.head_weights import HeadWeights
from tertulia.state.language_model import GenerationRequest, ReplyField, ScoringOptions

attention = on_use("tertulia.models.local.attention")
head_attention = on_use("tertulia.models.local.head_attention")
torch = on_use("torch")


@pytest.mark.parametrize("family", EACH_FAMILY)
async def test_each_head_has_what_the_model_reports(family: str) -> None:
    response, prompt = drawn_tokens(7, 2), spanned_prompt().input_ids
    whole = tiny_model(family)
    whole.set_attn_implementation("eager")
    with torch.inference_mode():
        attentions = whole(torch.tensor([[*prompt, *response[:-1]]]), output_attentions=True).attentions
    model = tiny_language_model(family)
    found = await model.head_attention(spanned_prompt(), response, (2, 6))
    for unit, (start, end) in SPANS.items():
        expected = [
            layer[0, :, len(prompt) - 1 :, start:end].double().sum(-1)[:, 2:6].mean(1).tolist() for layer in attentions
        ]
        assert len(found[unit]) == len(attentions)
        for heads, of_layer in zip(found[unit], expected, strict=True):
            assert heads == pytest.approx(of_layer, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("family", EACH_FAMILY)
async def test_its_mean_over_heads_and_sum_over_layers_is_eq_1(family: str) -> None:
    model, response = tiny_language_model(family), drawn_tokens(9, 3)
    (scores,) = await model.score(spanned_prompt(), [response], ScoringOptions())
    by_head = await model.head_attention(spanned_prompt(), response, (0, len(response)))
    summed = {unit: sum(sum(heads) / len(heads) for heads in layers) for unit, layers in by_head.items()}
    assert summed == pytest.approx(scores, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("family", EACH_FAMILY)
async def test_scores_that_tell_heads_apart_equal_their_formulas_written_out(family: str) -> None:
    model, response = tiny_language_model(family), drawn_tokens(9, 3)
    by_head = await model.head_attention(spanned_prompt(), response, (2, 8))
    shape = np.array(by_head["first"]).shape
    weights = np.random.default_rng(1).random(shape) * (np.random.default_rng(2).random(shape) < 0.5)
    learned = HeadWeights(model="tiny", fingerprint="", weights=weights.tolist(), floor=0.0)
    model.traits = replace(model.traits, head_weights=learned)
    (scores,) = await model.score(spanned_prompt(), [response], ScoringOptions("learned"), [(2, 8)])
    expected = {unit: float((np.array(heads) * weights).sum()) for unit, heads in by_head.items()}
    assert scores == pytest.approx(expected, rel=1e-6)

    reply = model.tokenizer.encode(head_attention.NEUTRAL_REPLY)
    neutral = await model.head_attention(spanned_prompt(), reply, (0, len(reply)))
    (scores,) = await model.score(spanned_prompt(), [response], ScoringOptions("beyond-neutral"), [(2, 8)])
    beyond = {unit: np.maximum(0, np.array(by_head[unit]) - np.array(neutral[unit])) for unit in SPANS}
    assert scores == pytest.approx({unit: float(heads.mean(1).sum()) for unit, heads in beyond.items()}, abs=1e-6)
    layer = ScoringOptions("beyond-neutral", layers=(1,))
    (of_layer,) = await model.score(spanned_prompt(), [response], layer, [(2, 8)])
    assert of_layer == pytest.approx({unit: float(heads[1].mean()) for unit, heads in beyond.items()}, abs=1e-6)


@pytest.mark.parametrize("reducer", ["learned", "beyond-neutral"])
async def test_drawn_replies_are_scored_by_head_as_written_ones_are(reducer: Any) -> None:
    model = tiny_language_model()
    ones = HeadWeights(model="tiny", fingerprint="", weights=[[1.0, 0.5, 0.0, 2.0]] * 4, floor=0.0)
    model.traits = replace(model.traits, head_weights=ones)

    def request() -> GenerationRequest:
        generators = tuple(random.Random(row) for row in range(2))
        return GenerationRequest(spanned_prompt(), (ReplyField("x", "speech", max_tokens=8),), generators, 0.8, 0.9)

    replies, found = await model.generate_scored(request(), ScoringOptions(reducer))
    written = await model.score(spanned_prompt(), [reply.tokens for reply in replies], ScoringOptions(reducer))
    assert found == pytest.approx({unit: sum(scores[unit] for scores in written) / 2 for unit in SPANS}, rel=1e-5)
    assert await model.generate(request()) == replies, "the draws are the same whatever is scored"


async def test_a_model_without_learned_weights_says_how_to_learn_them() -> None:
    with pytest.raises(SettingError, match="tertulia scores fit tiny"):
        await tiny_language_model().score(spanned_prompt(), [drawn_tokens(9, 3)], ScoringOptions("learned"))
