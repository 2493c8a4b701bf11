"""The fast attention path against the plain definition of Eq. 1."""

import pytest
import torch
from support.tiny import FAMILIES, VOCABULARY, tiny_language_model, tiny_model
from transformers import BloomConfig, BloomForCausalLM, MambaConfig, MambaForCausalLM

from models.attention import (
    IMPLEMENTATION,
    Decoding,
    read_prefix,
    require_exact_attention,
    rows_by_definition,
    rows_of,
)
from models.causal import unit_scores
from state.errors import AttentionUnavailableError
from state.language_model import RenderedPrompt, ScoringOptions


def _tokens(count: int, seed: int) -> list[int]:
    return torch.randint(3, VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def _relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return ((found - expected).abs() / expected.abs().clamp_min(1e-4)).max().item()


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_equal_the_definition(family: str) -> None:
    model = tiny_model(family)
    require_exact_attention(model)
    prompt = _tokens(60, 1)
    responses = [_tokens(n, n) for n in (1, 2, 17)]
    prefix = read_prefix(model, prompt)
    for response, rows in zip(responses, rows_of(model, prefix, responses), strict=True):
        expected = rows_by_definition(model, prompt, response)
        assert rows.shape == expected.shape == (len(response), len(prompt))
        assert _relative(rows, expected) < 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_ragged_rows_decoded_together_equal_the_definition(family: str) -> None:
    model = tiny_model(family)
    model.set_attn_implementation(IMPLEMENTATION)
    prompt = _tokens(40, 1)
    responses = [_tokens(9, 5), _tokens(9, 6)]
    decoding = Decoding(model, read_prefix(model, prompt), 2, 9, catch=True)
    # Rows advance by different numbers of tokens, one goes back and on again.
    decoding.read([[prompt[-1], *responses[0][:4]], [prompt[-1]]])
    decoding.read([[7, 7], responses[1][:1]])
    decoding.forget(0, 2)
    decoding.read([responses[0][4:5], responses[1][1:4]])
    decoding.read([responses[0][5:8], responses[1][4:8]])
    assert decoding.rows is not None
    for row, response in zip(decoding.rows, responses, strict=True):
        assert _relative(row, rows_by_definition(model, prompt, response)) < 1e-4


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("in_line", [True, False])
def test_rows_of_several_prefixes_equal_the_definition(family: str, in_line: bool) -> None:
    model = tiny_model(family)
    model.set_attn_implementation(IMPLEMENTATION)
    prompts = [_tokens(n, n) for n in (40, 9, 1, 23)]
    prefixes = [read_prefix(model, prompt) for prompt in prompts]
    of_row = [0, 1, 1, 2, 3]  # rows of one prompt among those of others
    responses = [_tokens(9, 50 + row) for row in range(5)]
    decoding = Decoding(model, [prefixes[i] for i in of_row], 1, 10, catch=True)
    read = decoding.read_on if in_line else decoding.read
    # Rows advance by different numbers of tokens, one goes back and on again.
    read([[prompts[i][-1], *response[:row]] for row, (i, response) in enumerate(zip(of_row, responses, strict=True))])
    read([[7, 7], *(response[row : row + 1] for row, response in enumerate(responses) if row)])
    decoding.forget(0, 2)
    read([responses[0][:1], *(response[row + 1 : 7] for row, response in enumerate(responses) if row)])
    read([responses[0][1:7], *(response[7:8] for response in responses[1:])])
    read([responses[0][7:8], *([7] for _ in responses[1:])])
    for row, (i, response) in enumerate(zip(of_row, responses, strict=True)):
        rows = decoding.caught(row, 9)
        assert rows.shape == (9, len(prompts[i]))
        assert _relative(rows, rows_by_definition(model, prompts[i], response)) < 1e-4


def test_a_row_without_new_tokens_stays_as_it_is() -> None:
    model = tiny_model("qwen2, sliding windows")
    model.set_attn_implementation(IMPLEMENTATION)
    prompts = [_tokens(30, 1), _tokens(12, 2)]
    responses = [_tokens(6, 3), _tokens(3, 4)]
    for of_row in ([0, 1], [0, 0]):
        prefixes = [read_prefix(model, prompt) for prompt in prompts]
        decoding = Decoding(model, [prefixes[i] for i in of_row], 1, 6, catch=True)
        decoding.read_on([[prompts[i][-1], *response[:2]] for i, response in zip(of_row, responses, strict=True)])
        for token in responses[0][2:5]:
            decoding.read_on([[token], []])
        assert decoding.lengths == [6, 3]
        for row, (i, response) in enumerate(zip(of_row, responses, strict=True)):
            expected = rows_by_definition(model, prompts[i], response)
            assert _relative(decoding.caught(row, len(response)), expected) < 1e-4


def test_logits_of_rows_of_several_prefixes_equal_those_of_the_plain_model() -> None:
    model = tiny_model("gemma2, capped and sliding")
    prompts, replies = [_tokens(30, 2), _tokens(11, 3)], [_tokens(6, 4), _tokens(2, 5)]
    with torch.inference_mode():
        expected = [model(torch.tensor([[*p, *r]])).logits[0, -1] for p, r in zip(prompts, replies, strict=True)]
    model.set_attn_implementation(IMPLEMENTATION)
    prefixes = [read_prefix(model, prompt) for prompt in prompts]
    tokens = [[prompt[-1], *reply] for prompt, reply in zip(prompts, replies, strict=True)]
    found = Decoding(model, prefixes, 1, 8, catch=False).read_on(tokens)
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shared", [1, 20, 39])
def test_a_prompt_read_in_two_parts_has_the_rows_of_the_definition(family: str, shared: int) -> None:
    model = tiny_model(family)
    model.set_attn_implementation(IMPLEMENTATION)
    prompt, response = _tokens(40, 1), _tokens(7, 2)
    shared_prefix = read_prefix(model, [*prompt[:shared], 5])
    kept = [tensor.clone() for tensor in (*shared_prefix.keys, *shared_prefix.values)]
    prefix = read_prefix(model, prompt, shared_prefix)
    assert prefix.length == 39
    assert _relative(rows_of(model, prefix, [response])[0], rows_by_definition(model, prompt, response)) < 1e-4
    assert all(map(torch.equal, kept, (*shared_prefix.keys, *shared_prefix.values))), (
        "others will read on from the same shared_prefix"
    )


def test_logits_of_ragged_rows_equal_those_of_the_plain_model() -> None:
    model = tiny_model("llama, grouped heads")
    prompt, reply = _tokens(30, 2), _tokens(6, 3)
    with torch.inference_mode():
        expected = model(torch.tensor([[*prompt, *reply]])).logits[0, len(prompt) - 1 :]
    model.set_attn_implementation(IMPLEMENTATION)
    decoding = Decoding(model, read_prefix(model, prompt), 2, 8, catch=False)
    logits = decoding.read([[prompt[-1], *reply], [prompt[-1]]])
    torch.testing.assert_close(logits[0], expected, rtol=1e-4, atol=1e-4)


def test_a_long_reply_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("gemma2, capped and sliding")
    require_exact_attention(model)
    prompt, response = _tokens(50, 1), _tokens(23, 2)
    whole = rows_of(model, read_prefix(model, prompt), [response])[0]
    monkeypatch.setattr("models.attention.MAX_WEIGHTS", 1000)
    in_blocks = rows_of(model, read_prefix(model, prompt), [response])[0]
    torch.testing.assert_close(in_blocks, whole)
    in_parts = rows_of(model, read_prefix(model, prompt, read_prefix(model, prompt[:21])), [response])[0]
    torch.testing.assert_close(in_parts, whole)
    prefixes = [read_prefix(model, prompt), read_prefix(model, prompt[:20])]
    decoding = Decoding(model, prefixes, 1, len(response), catch=True)
    decoding.read_on([[prompt[-1], *response[:-1]], [prompt[19], *response[:4]]])
    torch.testing.assert_close(decoding.caught(0, len(response)), whole)


def test_a_prompt_of_one_token_can_be_scored() -> None:
    model = tiny_model("llama, grouped heads")
    require_exact_attention(model)
    rows = rows_of(model, read_prefix(model, [5]), [[6, 7]])[0]
    assert _relative(rows, rows_by_definition(model, [5], [6, 7])) < 1e-4


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: MambaForCausalLM(MambaConfig(vocab_size=99, hidden_size=16, num_hidden_layers=2)), "not softmax"),
        (lambda: BloomForCausalLM(BloomConfig(vocab_size=99, hidden_size=16, n_layer=2, n_head=2)), "interface"),
    ],
)
def test_a_model_whose_attention_cannot_be_had_is_refused_with_the_reason(model, reason: str) -> None:
    with pytest.raises(AttentionUnavailableError, match=reason):
        require_exact_attention(model().eval())


def test_a_model_whose_reported_attention_differs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.attention.rows_by_definition", lambda *_: torch.ones(6, 24))
    with pytest.raises(AttentionUnavailableError, match="off by"):
        require_exact_attention(tiny_model("gpt2"))


@pytest.mark.parametrize("reducer", ["sum-mean", "mean-mean"])
async def test_scores_of_units_equal_eq_1_written_out(reducer: str) -> None:
    model = tiny_language_model()
    prompt, responses = _tokens(30, 1), [_tokens(5, 2), _tokens(8, 3)]
    spans = {"a": (2, 9), "b": (9, 10), "c": (28, 30), "empty": (12, 12)}
    rendered = RenderedPrompt(tuple(prompt), spans, dict.fromkeys(spans, "block"))
    found = await model.score(rendered, responses, ScoringOptions(reducer=reducer))  # type: ignore[arg-type]
    for response, scores in zip(responses, found, strict=True):
        model.model.set_attn_implementation("eager")
        attentions = model.model(torch.tensor([[*prompt, *response[:-1]]]), output_attentions=True).attentions
        model.model.set_attn_implementation(IMPLEMENTATION)
        a = torch.stack(attentions)[:, 0, :, len(prompt) - 1 :]  # (L, H, n, P + n - 1)
        for unit, (first, past_last) in spans.items():
            reduced = a[..., first:past_last].sum(-1).mean(-1)  # (L, H): sum over the unit, mean over the response
            expected = reduced.mean(1).sum(0).item()
            if reducer == "mean-mean":
                expected /= max(1, past_last - first)
            assert scores[unit] == pytest.approx(expected, rel=1e-4)


def test_only_the_rows_of_the_span_count() -> None:
    rows = torch.arange(12.0).reshape(4, 3)
    prompt = RenderedPrompt((1, 2, 3), {"u": (0, 2)}, {"u": "block"})
    assert unit_scores(rows, prompt, ScoringOptions(), (1, 3))["u"] == pytest.approx((3 + 4 + 6 + 7) / 2)
