"""The fast attention path against the plain definition of Eq. 1."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.on_use import on_use
from support.tiny import EACH_FAMILY, drawn_tokens, relative_error, tiny_language_model, tiny_model

from tertulia.state.errors import AttentionUnavailableError
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, ScoringOptions

attention_interface = on_use("tertulia.models.local.attention_interface")
attention_scores = on_use("tertulia.models.local.attention_scores")
causal = on_use("tertulia.models.local.causal")
decoding_state = on_use("tertulia.models.local.decoding_state")
kept_chunks = on_use("tertulia.models.local.kept_chunks")
torch = on_use("torch")
transformers = on_use("transformers")


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_attention_equals_the_definition(family: str) -> None:
    model = tiny_model(family)
    attention_scores.require_exact_attention(model)
    prompt = drawn_tokens(60, 1)
    responses = [drawn_tokens(n, n) for n in (1, 2, 17)]
    prefix = decoding_state.prefill(model, prompt)
    for response, attention in zip(
        responses, attention_scores.attention_to_prompt(model, prefix, responses), strict=True
    ):
        expected = attention_scores.attention_by_definition(model, prompt, response)
        assert attention.shape == expected.shape == (len(response), len(prompt))
        assert relative_error(attention, expected) < 1e-4


@pytest.mark.parametrize("family", EACH_FAMILY)
@pytest.mark.parametrize("weights", [1 << 24, 1])
def test_attention_of_prefixes_that_share_a_tensor_equals_the_definition(
    family: str, weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows advance unevenly, go back, and end; prefixes in the middle have nothing to read, the tensor grows."""
    monkeypatch.setattr("tertulia.models.local.row_groups.GROWTH", 2)
    monkeypatch.setattr("tertulia.models.local.attention.MAX_WEIGHTS", weights)
    model = tiny_model(family)
    model.set_attn_implementation(attention_interface.IMPLEMENTATION)
    prompts = [drawn_tokens(n, n) for n in (30, 40, 9, 35, 34, 33, 32, 31)]
    state = decoding_state.DecodingState(
        model, [decoding_state.prefill(model, prompt) for prompt in prompts], 2, 12, capture=True, stacks=True
    )
    assert [type(group).__name__ for group in state.groups] == ["Stack", "Group"]
    rows = range(len(state.lengths))
    prompt_of = [prompts[row // 2] for row in rows]
    responses = [drawn_tokens(3 + row % 5 if row in (0, 3, 15) else 2 + row % 2, 50 + row) for row in rows]
    unread = [[prompt_of[row][-1], *responses[row][:-1]] for row in rows]
    plain = [model(torch.tensor([[*prompt_of[row], *responses[row][:-1]]])).logits[0] for row in rows]
    state.next_logits([[unread[row][0], 7] if row % 3 == 0 else [] for row in rows])
    for row in rows[::3]:
        state.truncate(row, 1)
    unread = [tokens[1:] if row % 3 == 0 else tokens for row, tokens in enumerate(unread)]
    while any(unread):
        read = [tokens[: 1 + row % 2] for row, tokens in enumerate(unread)]
        logits = state.next_logits(read)
        unread = [tokens[len(new) :] for tokens, new in zip(unread, read, strict=True)]
        for row in rows:
            if read[row]:
                expected = plain[row][len(prompt_of[row]) - 2 + state.lengths[row]]
                assert (logits[row] - expected).abs().max() < 1e-3
    for row in rows:
        expected = attention_scores.attention_by_definition(model, prompt_of[row], responses[row])
        model.set_attn_implementation(attention_interface.IMPLEMENTATION)
        assert relative_error(state.attention_of_row(row, len(responses[row])), expected) < 1e-4


@pytest.mark.parametrize("family", EACH_FAMILY)
@pytest.mark.parametrize("packed", [True, False])
def test_attention_to_several_prefixes_equals_the_definition(family: str, packed: bool) -> None:
    model = tiny_model(family)
    model.set_attn_implementation(attention_interface.IMPLEMENTATION)
    prompts = [drawn_tokens(n, n) for n in (40, 9, 1, 23)]
    prefixes = [decoding_state.prefill(model, prompt) for prompt in prompts]
    of_row = [0, 1, 1, 2, 3]  # rows of one prompt among those of others
    responses = [drawn_tokens(9, 50 + row) for row in range(5)]
    state = decoding_state.DecodingState(model, [prefixes[i] for i in of_row], 1, 10, capture=True)
    read = state.next_logits if packed else state.forward
    # Rows advance by different numbers of tokens, one goes back and on again.
    read([[prompts[i][-1], *response[:row]] for row, (i, response) in enumerate(zip(of_row, responses, strict=True))])
    read([[7, 7], *(response[row : row + 1] for row, response in enumerate(responses) if row)])
    state.truncate(0, 2)
    read([responses[0][:1], *(response[row + 1 : 7] for row, response in enumerate(responses) if row)])
    read([responses[0][1:7], *(response[7:8] for response in responses[1:])])
    read([responses[0][7:8], *([7] for _ in responses[1:])])
    for row, (i, response) in enumerate(zip(of_row, responses, strict=True)):
        attention = state.attention_of_row(row, 9)
        assert attention.shape == (9, len(prompts[i]))
        assert relative_error(attention, attention_scores.attention_by_definition(model, prompts[i], response)) < 1e-4


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_more_rows_than_share_a_tensor_equal_the_definition(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.models.local.decoding_state.MOST_ROWS", 2)
    monkeypatch.setattr("tertulia.models.local.row_groups.GROWTH", 1)
    model = tiny_model(family)
    model.set_attn_implementation(attention_interface.IMPLEMENTATION)
    prompt, responses = drawn_tokens(40, 1), [drawn_tokens(9, 60 + row) for row in range(5)]
    state = decoding_state.DecodingState(model, decoding_state.prefill(model, prompt), 5, 9, capture=True)
    state.next_logits([[prompt[-1], *response[:row]] for row, response in enumerate(responses)])
    for place in range(8):
        state.next_logits(
            [response[place : place + 1] if place >= row else [] for row, response in enumerate(responses)]
        )
    for row, response in enumerate(responses):
        found = state.attention_of_row(row, 9)
        assert relative_error(found, attention_scores.attention_by_definition(model, prompt, response)) < 1e-4


@pytest.mark.parametrize("family", EACH_FAMILY)
@pytest.mark.parametrize("shared", [0, 1, 20, 39, 60])
def test_a_prompt_read_in_chunks_has_the_attention_of_the_definition(
    family: str, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.models.local.decoding_state.CHUNK", 16)
    model = tiny_model(family)
    model.set_attn_implementation(attention_interface.IMPLEMENTATION)
    prompt, response, kept = drawn_tokens(60, 1), drawn_tokens(7, 2), kept_chunks.KeptChunks(1 << 30)
    decoding_state.prefill(model, [*prompt[:41], *drawn_tokens(9, 3)], shared, kept)  # others begin alike
    copies = {key: kept.get(key).keys[0].clone() for key in kept}
    assert copies
    for chunks in (None, kept):
        prefix = decoding_state.prefill(model, prompt, shared, chunks)
        assert prefix.length == 59
        found = attention_scores.attention_to_prompt(model, prefix, [response])[0]
        assert relative_error(found, attention_scores.attention_by_definition(model, prompt, response)) < 1e-4
    assert all(torch.equal(copy, kept.get(key).keys[0]) for key, copy in copies.items()), (
        "others will read on from them"
    )


def test_a_long_reply_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("gemma2, capped and sliding")
    attention_scores.require_exact_attention(model)
    prompt, response = drawn_tokens(50, 1), drawn_tokens(23, 2)
    whole = attention_scores.attention_to_prompt(model, decoding_state.prefill(model, prompt), [response])[0]
    monkeypatch.setattr("tertulia.models.local.attention.MAX_WEIGHTS", 1000)
    in_blocks = attention_scores.attention_to_prompt(model, decoding_state.prefill(model, prompt), [response])[0]
    torch.testing.assert_close(in_blocks, whole)
    in_parts = attention_scores.attention_to_prompt(model, decoding_state.prefill(model, prompt, 21), [response])[0]
    torch.testing.assert_close(in_parts, whole)
    prefixes = [decoding_state.prefill(model, prompt), decoding_state.prefill(model, prompt[:20])]
    state = decoding_state.DecodingState(model, prefixes, 1, len(response), capture=True)
    state.next_logits([[prompt[-1], *response[:-1]], [prompt[19], *response[:4]]])
    torch.testing.assert_close(state.attention_of_row(0, len(response)), whole)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (
            lambda: transformers.MambaForCausalLM(
                transformers.MambaConfig(vocab_size=99, hidden_size=16, num_hidden_layers=2)
            ),
            "not softmax",
        ),
        (
            lambda: transformers.BloomForCausalLM(
                transformers.BloomConfig(vocab_size=99, hidden_size=16, n_layer=2, n_head=2)
            ),
            "interface",
        ),
    ],
)
def test_a_model_whose_attention_cannot_be_had_is_refused_with_the_reason(model, reason: str) -> None:
    with pytest.raises(AttentionUnavailableError, match=reason):
        attention_scores.require_exact_attention(model().eval())


def test_a_model_whose_reported_attention_differs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.models.local.attention_scores._attention_by_layer", lambda *_: torch.ones(3, 6, 24))
    with pytest.raises(AttentionUnavailableError, match="off by"):
        attention_scores.require_exact_attention(tiny_model("gpt2"))


#: Those that sum over heads; `test_head_attention` has the others.
REDUCERS = ("sum-mean", "mean-mean", "capped")
SPANS = {"a": (2, 9), "b": (9, 10), "c": (28, 30), "empty": (12, 12)}


def a_prompt(seed: int = 1) -> RenderedPrompt:
    return RenderedPrompt(tuple(drawn_tokens(30, seed)), SPANS, dict.fromkeys(SPANS, "block"))


def scores_written_out(
    model: causal.CausalLanguageModel, response: Sequence[int], reducer: str, rows: slice = slice(None)
) -> dict[str, float]:
    """Return the scores of the units of `a_prompt` from the full attention tensors, a formula each."""
    prompt = a_prompt().input_ids

    def per_token(response: Sequence[int], rows: slice = slice(None)) -> list[float]:
        model.model.set_attn_implementation("eager")
        tokens = torch.tensor([[*prompt, *response[:-1]]])
        attentions = model.model(tokens, output_attentions=True).attentions
        model.model.set_attn_implementation(attention_interface.IMPLEMENTATION)
        a = torch.stack(attentions)[:, 0, :, len(prompt) - 1 :, : len(prompt)]  # (L, H, n, P)
        return a[:, :, rows].double().mean(2).mean(1).sum(0).tolist()

    tokens = per_token(response, rows)
    if reducer == "capped":
        cap = np.quantile(
            [value for first, past_last in SPANS.values() for value in tokens[first:past_last]],
            attention_scores.CAP,
            method="lower",
        )
        tokens = [min(value, cap) for value in tokens]
    lengths = {unit: max(1, b - a) if reducer == "mean-mean" else 1 for unit, (a, b) in SPANS.items()}
    return {unit: sum(tokens[a:b]) / lengths[unit] for unit, (a, b) in SPANS.items()}


@pytest.mark.parametrize("family", EACH_FAMILY)
@pytest.mark.parametrize("reducer", REDUCERS)
async def test_scores_of_units_equal_their_formula_written_out(family: str, reducer: Any) -> None:
    model = tiny_language_model(family)
    responses = [drawn_tokens(5, 2), drawn_tokens(8, 3)]
    found = await model.score(a_prompt(), responses, ScoringOptions(reducer=reducer))
    for response, scores in zip(responses, found, strict=True):
        assert scores == pytest.approx(scores_written_out(model, response, reducer), rel=1e-4, abs=1e-6)
    assert all(scores["c"] > 0 for scores in found)


@pytest.mark.parametrize("reducer", REDUCERS)
async def test_scores_of_replies_as_they_are_drawn_equal_the_formula(reducer: Any) -> None:
    model = tiny_language_model()
    generators = tuple(random.Random(row) for row in range(2))
    request = GenerationRequest(a_prompt(), (ReplyField("x", "speech", max_tokens=8),), generators, 0.8, 0.9)
    replies, found = await model.generate_scored(request, ScoringOptions(reducer))
    expected = [scores_written_out(model, reply.tokens, reducer) for reply in replies]
    mean = {unit: (expected[0][unit] + expected[1][unit]) / 2 for unit in SPANS}
    assert found == pytest.approx(mean, rel=1e-4, abs=1e-6)


def test_a_token_that_takes_the_attention_of_every_response_counts_no_more() -> None:
    prompt = RenderedPrompt(tuple(range(20)), {"sink": (0, 2), "meant": (2, 6)}, {"sink": "b", "meant": "m"})
    attention = torch.full((3, 20), 0.01)
    attention[:, 0], attention[:, 3] = 0.5, 0.04
    scores = {reducer: attention_scores.unit_scores(attention, prompt, ScoringOptions(reducer)) for reducer in REDUCERS}
    assert scores["sum-mean"]["sink"] > 6 * scores["sum-mean"]["meant"]
    assert scores["capped"]["sink"] < scores["capped"]["meant"]


def test_only_the_rows_of_the_span_count() -> None:
    rows = torch.arange(12.0).reshape(4, 3) ** 2
    prompt = RenderedPrompt((1, 2, 3), {"u": (0, 2)}, {"u": "block"})
    scores = attention_scores.unit_scores(rows, prompt, ScoringOptions(), (1, 3))
    assert scores["u"] == pytest.approx((9 + 16 + 36 + 49) / 2)
