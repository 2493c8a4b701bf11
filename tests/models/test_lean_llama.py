"""The lean passes of Llama-like models against transformers' modules, and weights in half precision."""

from __future__ import annotations

import pytest
from support.on_use import on_use
from support.tiny import FAMILIES, drawn_tokens, relative_error, save_tiny, tiny_model

from tertulia.models.loading import open_model
from tertulia.models.local.engine import ENGINE
from tertulia.models.local.platforms import platform_of

local_attention = on_use("tertulia.models.local.attention")
attention_scores = on_use("tertulia.models.local.attention_scores")
causal = on_use("tertulia.models.local.causal")
decoding_state = on_use("tertulia.models.local.decoding_state")
kept_chunks = on_use("tertulia.models.local.kept_chunks")
lean_llama = on_use("tertulia.models.local.lean_llama")
lean_parts = on_use("tertulia.models.local.lean_parts")
packed_linear = on_use("tertulia.models.local.packed_linear")
row_groups = on_use("tertulia.models.local.row_groups")
torch = on_use("torch")
nn = on_use("torch.nn")
transformers = on_use("transformers")

LEAN = ["llama, grouped heads", "llama, ungrouped heads", "qwen2, sliding windows", "mistral, all sliding"]

half_too = pytest.mark.parametrize("half", [False, True])


@pytest.fixture(autouse=True)
def packed(request: pytest.FixtureRequest) -> None:
    """Skip tests of weights that are not packed on this processor."""
    asked = getattr(request.node, "callspec", None)
    needs_half = (asked is not None and asked.params.get("half") is True) or request.cls is not None
    if not packed_linear.pack_linear_layers(nn.Sequential(nn.Linear(8, 8))) or (
        needs_half and not packed_linear.computes_with_half_weights()
    ):
        pytest.skip("no packed weights here")


def _rounded(model: transformers.PreTrainedModel) -> transformers.PreTrainedModel:
    """Return a model with the weights of its products rounded to half precision."""
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear):
                module.weight.copy_(module.weight.half().float())
    return model


@half_too
@pytest.mark.parametrize("family", LEAN)
def test_attention_is_read_without_logits(family: str, half: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, prompt, response = tiny_model(family), drawn_tokens(40, 1), drawn_tokens(9, 2)
    assert lean_parts.use_lean_passes(model, half=half)
    prefix = decoding_state.prefill(model, prompt)
    state = decoding_state.DecodingState(model, prefix, 1, 9, capture=True)
    state.read([[prompt[-1], *response[:-1]]])
    monkeypatch.setattr(decoding_state.lean_passes[model], "_head", None)
    (found,) = attention_scores.attention_to_prompt(model, prefix, [response])
    assert torch.equal(found, state.attention_of_row(0, 9))


@half_too
@pytest.mark.parametrize("family", LEAN)
def test_rows_behind_several_prefixes_equal_the_plain_model(
    family: str, half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.models.local.decoding_state.CHUNK", 16)
    monkeypatch.setattr("tertulia.models.local.row_groups.GROWTH", 2)
    # Tied or not, the embeddings that tokens are looked up in stay as they are.
    plain = tiny_model(family) if not half else _rounded(tiny_model(family))
    model = tiny_model(family)
    assert lean_parts.use_lean_passes(model, half=half)
    attention_scores.require_exact_attention(model)
    prompts, of_row = [drawn_tokens(n, n) for n in (40, 9, 1, 23)], [0, 1, 1, 2, 3]
    responses = [drawn_tokens(9, 50 + row) for row in range(5)]
    prefixes, kept = [decoding_state.prefill(model, prompt) for prompt in prompts], kept_chunks.KeptChunks(1 << 30)
    decoding_state.prefill(model, prompts[0], 20, kept)
    prefixes[0] = decoding_state.prefill(model, prompts[0], 20, kept)
    state = decoding_state.DecodingState(model, [prefixes[at] for at in of_row], 1, 10, capture=True)
    state.next_logits([[prompts[at][-1], *r[:row]] for row, (at, r) in enumerate(zip(of_row, responses, strict=True))])
    state.next_logits([[7, 7], *(r[row : row + 1] for row, r in enumerate(responses) if row)])
    state.truncate(0, 2)
    state.read([responses[0][:8], *(r[row + 1 : 8] for row, r in enumerate(responses) if row)])
    last = state.next_logits([[], *(r[8:] for r in responses[1:])])
    for row, (at, response) in enumerate(zip(of_row, responses, strict=True)):
        expected = attention_scores.attention_by_definition(plain, prompts[at], response)
        assert relative_error(state.attention_of_row(row, 9), expected) < 1e-4
        if row:
            logits = plain(torch.tensor([[*prompts[at], *response]])).logits[0, -1]
            torch.testing.assert_close(last[row], logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in LEAN])
def test_other_architectures_stay_as_they_are(family: str) -> None:
    model = tiny_model(family)
    before = [type(module) for module in model.modules()]
    assert not lean_parts.use_lean_passes(model)
    assert [type(module) for module in model.modules()] == before
    assert model not in decoding_state.lean_passes


def test_an_activation_that_is_another_is_left_to_transformers() -> None:
    model = tiny_model("llama, grouped heads")
    model.config.hidden_act = "gelu"
    assert not lean_parts.use_lean_passes(model)


@pytest.mark.parametrize("family", LEAN)
def test_passes_in_bfloat16_are_as_near_as_those_of_transformers(family: str) -> None:
    """With plain products: not every processor packs weights in bfloat16."""

    def plain(weight: torch.Tensor, bias: torch.Tensor | None) -> nn.Module:
        linear = nn.Linear(*reversed(weight.shape), bias=bias is not None, dtype=weight.dtype)
        linear.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
        return linear

    prompt, reply = drawn_tokens(30, 1), drawn_tokens(6, 2)
    tokens = torch.tensor([[*prompt, *reply]])
    with torch.inference_mode():
        exact = tiny_model(family)(tokens).logits[0, 29:]
        model = tiny_model(family).bfloat16()
        expected = model(tokens).logits[0, 29:]
    decoding_state.lean_passes[model] = lean_llama.LeanLlama(lean_parts.parts_of(model, plain))
    found = decoding_state.DecodingState(model, decoding_state.prefill(model, prompt), 1, 8, capture=True).forward(
        [[prompt[-1], *reply]]
    )[0]
    assert found.dtype == torch.bfloat16
    assert (found - exact).norm() < 1.3 * (expected - exact).norm()


@half_too
@pytest.mark.parametrize("family", LEAN)
def test_rows_of_one_prompt_in_one_go_have_the_digits_of_the_usual_way(
    family: str, half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.models.local.row_groups.GROWTH", 2)
    found, gone = [], list[bool]()
    for in_one_go in (True, False):
        model, prompt = tiny_model(family), drawn_tokens(40, 1)
        lean_parts.use_lean_passes(model, half=half)
        usual = lean_llama.LeanLlama._takes_one_go
        monkeypatch.setattr(
            lean_llama.LeanLlama, "_takes_one_go", lambda *given, usual=usual, go=in_one_go: go and usual(*given)
        )
        attend = row_groups.Group.attend
        monkeypatch.setattr(
            row_groups.Group, "attend", lambda *a, attend=attend, **k: gone.append(True) or attend(*a, **k)
        )
        state = decoding_state.DecodingState(model, decoding_state.prefill(model, prompt), 3, 12, capture=True)
        logits = [state.next_logits([[prompt[-1], 5], [prompt[-1]], [prompt[-1], 6, 7]])]
        logits.append(state.next_logits([[9], [], [8]]))
        state.truncate(2, 1)
        logits += [state.next_logits([[token], [token, 4], [token]]) for token in range(3, 7)]
        monkeypatch.undo()
        assert gone if in_one_go else not gone
        gone.clear()
        found.append((logits, state.captured_attention))
    (one_go, attention), (usual_way, usual_attention) = found
    assert all(torch.equal(a, b) for x, y in zip(one_go, usual_way, strict=True) for a, b in zip(x, y, strict=True))
    assert torch.equal(attention, usual_attention)


@pytest.mark.parametrize(
    ("heads", "shared", "n", "before"), [(9, 3, 17, 40), (4, 4, 1, 5), (6, 1, 64, 700), (2, 2, 5, 0)]
)
def test_attention_in_two_parts_is_that_in_one(heads: int, shared: int, n: int, before: int) -> None:
    generator = torch.Generator().manual_seed(n)
    query = torch.randn(1, heads, n, 16, generator=generator)
    key, value = (torch.randn(1, heads // shared, before + n, 16, generator=generator) for _ in range(2))
    for window in (None, 8):
        options = local_attention.AttentionOptions(0.25, window, None, None)
        expected = local_attention.attend_prompt(query, key, value, options, None)
        torch.testing.assert_close(
            local_attention.attend_in_two_parts(query, key, value, options, None), expected, rtol=1e-5, atol=1e-6
        )


def test_attention_to_a_long_prompt_errs_no_more_in_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(3)
    exact = [torch.randn(1, heads, n, 64, generator=generator) for heads, n in ((9, 32), (3, 2500), (3, 2500))]
    query, key, value = (tensor.bfloat16() for tensor in exact)
    options = local_attention.AttentionOptions(0.125, None, None, None)
    in_one = local_attention.attend_in_two_parts(query[:, :, :1], key[:, :, :800], value[:, :, :800], options, None)
    expected = local_attention.attend_prompt(query.float(), key.float(), value.float(), options, None)
    errors = []
    for has_tiles in (False, True):
        monkeypatch.setattr("tertulia.models.local.attention._multiplies_tiles", lambda _, has=has_tiles: has)
        found = local_attention.attend_in_two_parts(query, key, value, options, None)
        assert found.dtype == torch.bfloat16
        errors.append(float((found.float() - expected).abs().mean()))
        short = local_attention.attend_in_two_parts(query[:, :, :1], key[:, :, :800], value[:, :, :800], options, None)
        assert torch.equal(short, in_one)  # shorter prompts keep their digits
    in_one_part, in_two_parts = errors
    assert in_two_parts < in_one_part < 1e-3


class TestHalfPrecision:
    @pytest.mark.parametrize("bias", [True, False])
    def test_a_product_is_that_of_the_rounded_weight_in_float32(self, bias: bool) -> None:
        linear = nn.Linear(48, 80, bias=bias)
        half = packed_linear.HalfLinear(linear.weight, linear.bias)
        with torch.inference_mode():
            for tokens in (1, 3, 17, 128):
                inputs = torch.randn(2, tokens, 48)
                expected = nn.functional.linear(inputs, linear.weight.half().float(), linear.bias)
                torch.testing.assert_close(half(inputs), expected, rtol=1e-5, atol=1e-6)
                assert torch.equal(half(inputs), half(inputs)), "the same call gives the same bits"

    def test_it_takes_half_the_bytes(self) -> None:
        plain, half = (nn.Sequential(nn.Linear(48, 80, bias=False)) for _ in range(2))
        packed_linear.pack_linear_layers(plain)
        packed_linear.pack_linear_layers(half, half=True)
        assert 2 * packed_linear.weight_bytes(half) == packed_linear.weight_bytes(plain) == 48 * 80 * 4

    @pytest.mark.parametrize("largest", [70_000.0, float("nan")])
    def test_weights_beyond_its_range_stay_in_float32(self, largest: float) -> None:
        model = nn.Sequential(nn.Linear(8, 8))
        with torch.no_grad():
            model[0].weight[0, 0] = largest
        assert packed_linear.pack_linear_layers(model, half=True)
        assert not isinstance(model[0], packed_linear.HalfLinear)

    def test_a_model_says_so_to_the_record(self, tmp_path) -> None:
        folder = save_tiny(tmp_path / "tiny")
        for precision in ("float16", "float32"):
            opened = open_model(str(folder), cache=tmp_path, precision=precision)
            assert isinstance(opened, causal.CausalLanguageModel)
            assert opened.model in decoding_state.lean_passes
            assert packed_linear.precision_of(opened.model) == precision
            platform = platform_of([opened])
            assert platform is not None
            assert platform.precision == precision
            assert platform.versions["engine"] == ENGINE

    def test_a_processor_without_bfloat16_takes_it_by_itself(self, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
        monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: False)
        opened = open_model(str(save_tiny(tmp_path / "tiny")), cache=tmp_path)
        assert isinstance(opened, causal.CausalLanguageModel)
        if opened.model.device.type == "cpu":
            assert packed_linear.precision_of(opened.model) == "float16"
