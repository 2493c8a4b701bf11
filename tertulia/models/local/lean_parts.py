"""The parts of a model that transformers has opened, for the passes of `lean_llama`; its modules go on with them."""

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM, MistralConfig, MistralForCausalLM, PreTrainedModel, Qwen2ForCausalLM

from tertulia.models.local.bare_model import LayerParts, LlamaParts, Norm
from tertulia.models.local.decoding_state import lean_passes
from tertulia.models.local.lean_llama import LeanLlama
from tertulia.models.local.packed_linear import packing_of

#: Their layers are alike; other kinds, and classes derived from these, may differ anywhere.
_KINDS = (LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM)

#: Packs a weight and its bias.
_Pack = Callable[[Tensor, Tensor | None], nn.Module]


def use_lean_passes(model: PreTrainedModel, *, half: bool = False) -> bool:
    """Have a model's tokens read by `LeanLlama` from now on, and return whether it is of an architecture that can.

    Its products are joined and packed; with `half` they are kept in half precision, if all are within its range.
    """
    if type(model) not in _KINDS or model.config.hidden_act != "silu":
        return False
    products = [module for path, module in model.named_modules() if path.endswith(("_proj", "lm_head"))]
    linear = [module for module in products if type(module) is nn.Linear]  # others may be quantised, or have adapters
    pack = packing_of([layer.weight for layer in linear], half=half)
    if pack is None or len(linear) < len(products):
        return False
    lean_passes[model] = LeanLlama(parts_of(model, pack))
    return True


def parts_of(model: PreTrainedModel, pack: _Pack) -> LlamaParts:
    """Return the parts of a model; its modules use parts of its joined and packed products afterwards."""
    base: Any = model.base_model
    return LlamaParts(
        embed=base.embed_tokens,
        rotary=base.rotary_emb,
        layers=[_parts_of_layer(layer, pack) for layer in base.layers],
        norm=_norm(base.norm),
        head=_joined(model, ("lm_head",), pack),
        heads=int(model.config.num_attention_heads),
        key_heads=int(model.config.num_key_value_heads),
        size=int(base.layers[0].self_attn.head_dim),
    )


def _parts_of_layer(layer: Any, pack: _Pack) -> LayerParts:
    attention, mlp = layer.self_attn, layer.mlp
    config, window = attention.config, getattr(attention, "sliding_window", None)
    return LayerParts(
        attention_norm=_norm(layer.input_layernorm),
        in_attention=_joined(attention, ("q_proj", "k_proj", "v_proj"), pack),
        out_of_attention=_joined(attention, ("o_proj",), pack),
        mlp_norm=_norm(layer.post_attention_layernorm),
        in_mlp=_joined(mlp, ("gate_proj", "up_proj"), pack),
        out_of_mlp=_joined(mlp, ("down_proj",), pack),
        scaling=attention.scaling,
        window=config.sliding_window if isinstance(config, MistralConfig) else window,
    )


def _norm(module: Any) -> Norm:
    return Norm(module.weight, module.variance_epsilon)


def _joined(module: nn.Module, names: tuple[str, ...], pack: _Pack) -> nn.Module:
    """Return the packed product of some linear layers of a module, which get parts of it in their places."""
    layers = [cast(nn.Linear, module.get_submodule(name)) for name in names]
    biases = [layer.bias for layer in layers]
    joined = pack(
        torch.cat([layer.weight.detach() for layer in layers]),
        None if biases[0] is None else torch.cat([bias.detach() for bias in biases]),
    )
    ends = list(accumulate((layer.out_features for layer in layers), initial=0))
    for name, (first, past_last) in zip(names, pairwise(ends), strict=True):
        setattr(module, name, joined if len(names) == 1 else _Part(joined, first, past_last))
    return joined


class _Part(nn.Module):
    """Some of the outputs of a product that several layers have in common: for transformers' own modules."""

    def __init__(self, whole: nn.Module, first: int, past_last: int) -> None:
        super().__init__()
        self.whole, self.outputs = whole, slice(first, past_last)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return these outputs."""
        return self.whole(inputs)[..., self.outputs]  # type: ignore[no-any-return]
