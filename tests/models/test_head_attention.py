"""The attention of a response by layer and head: of every family what transformers reports, and summed, Eq. 1."""

import pytest
import torch
from support.tiny import FAMILIES, VOCABULARY, tiny_language_model, tiny_model

from tertulia.models.local import attention
from tertulia.state.errors import ContextWindowError
from tertulia.state.language_model import RenderedPrompt, ScoringOptions
from tertulia.state.questions import HeadAttentionModel

SPANS = {"first": (2, 9), "middle": (12, 20), "last": (28, 30)}


def _tokens(count: int, seed: int) -> list[int]:
    return torch.randint(3, VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def a_prompt() -> RenderedPrompt:
    return RenderedPrompt(tuple(_tokens(30, 1)), SPANS, dict.fromkeys(SPANS, "block"))


@pytest.mark.parametrize("family", FAMILIES)
async def test_each_head_has_what_the_model_reports(family: str) -> None:
    response, prompt = _tokens(7, 2), a_prompt().input_ids
    whole = tiny_model(family)
    whole.set_attn_implementation("eager")
    with torch.inference_mode():
        attentions = whole(torch.tensor([[*prompt, *response[:-1]]]), output_attentions=True).attentions
    model = tiny_language_model(family)
    found = await model.head_attention(a_prompt(), response, (2, 6))
    for unit, (start, end) in SPANS.items():
        expected = [
            layer[0, :, len(prompt) - 1 :, start:end].double().sum(-1)[:, 2:6].mean(1).tolist() for layer in attentions
        ]
        assert len(found[unit]) == len(attentions)
        for heads, of_layer in zip(found[unit], expected, strict=True):
            assert heads == pytest.approx(of_layer, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
async def test_its_mean_over_heads_and_sum_over_layers_is_eq_1(family: str) -> None:
    model, response = tiny_language_model(family), _tokens(9, 3)
    (scores,) = await model.score(a_prompt(), [response], ScoringOptions())
    by_head = await model.head_attention(a_prompt(), response, (0, len(response)))
    summed = {unit: sum(sum(heads) / len(heads) for heads in layers) for unit, layers in by_head.items()}
    assert summed == pytest.approx(scores, rel=1e-5, abs=1e-7)


async def test_a_response_read_in_several_blocks_of_queries_has_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model, response = tiny_language_model(), _tokens(9, 4)
    whole = await model.head_attention(a_prompt(), response, (1, 8))
    monkeypatch.setattr(attention, "MAX_WEIGHTS", 200)
    model.clear_cache()
    in_blocks = await model.head_attention(a_prompt(), response, (1, 8))
    for unit, layers in whole.items():
        assert [h for heads in in_blocks[unit] for h in heads] == pytest.approx([h for heads in layers for h in heads])


async def test_a_local_model_shows_its_heads_within_its_window() -> None:
    model = tiny_language_model(context_window=32)
    assert isinstance(model, HeadAttentionModel)
    with pytest.raises(ContextWindowError, match="over the context window"):
        await model.head_attention(a_prompt(), _tokens(9, 5), (0, 9))
