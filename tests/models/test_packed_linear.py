"""Packed linear layers give what plain ones give, whatever the number of tokens."""

from __future__ import annotations

import pytest
from support.on_use import on_use
from support.tiny import EACH_FAMILY, tiny_model

attention_scores = on_use("tertulia.models.local.attention_scores")
packed_linear = on_use("tertulia.models.local.packed_linear")
torch = on_use("torch")
nn = on_use("torch.nn")


def _is_packed(dtype: torch.dtype) -> bool:
    return packed_linear.pack_linear_layers(nn.Sequential(nn.Linear(8, 8, dtype=dtype)))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_packed_layer_returns_what_a_plain_one_does(precision: str, bias: bool) -> None:
    dtype = getattr(torch, precision)
    if not _is_packed(dtype):
        pytest.skip(f"no packed weights in {dtype} here")
    linear = nn.Linear(48, 80, bias=bias, dtype=dtype)
    with torch.inference_mode():
        packed = packed_linear.PackedLinear(linear.weight, linear.bias)
        for tokens in (1, 3, 17, 128):
            inputs = torch.randn(2, tokens, 48, dtype=dtype)
            found = packed(inputs)
            torch.testing.assert_close(found, linear(inputs), rtol=2e-2, atol=1e-5 if dtype == torch.float32 else 2e-2)
            assert torch.equal(found, packed(inputs)), "the same call gives the same bits"


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_attention_of_a_packed_model_is_exact(family: str) -> None:
    model, tokens = tiny_model(family), torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        expected = model(tokens).logits
        if not packed_linear.pack_linear_layers(model):
            pytest.skip("no linear layers, or no packed weights here")
        torch.testing.assert_close(model(tokens).logits, expected, rtol=1e-4, atol=1e-4)
    attention_scores.require_exact_attention(model)


def test_float64_layers_stay_as_they_are() -> None:
    assert not packed_linear.pack_linear_layers(model := nn.Sequential(nn.Linear(8, 8, dtype=torch.float64)))
    assert type(model[0]) is nn.Linear


def test_packed_weights_are_counted() -> None:
    model = nn.Sequential(nn.Linear(48, 80, bias=False), nn.LayerNorm(80))
    plain = packed_linear.weight_bytes(model)
    assert plain == (48 * 80 + 2 * 80) * 4
    if not packed_linear.pack_linear_layers(model):
        pytest.skip("no packed weights here")
    assert packed_linear.weight_bytes(model) == plain
