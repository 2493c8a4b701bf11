"""The embedded model from its folder as a `BareModel`, with its adapters, for a processor and without transformers.

Its weights, products and positions are those that transformers gives it, to the bit. Folders that differ from the
conversion's (`embedded.folder`), and precisions for which this processor has no packed products, are left to
transformers, which reports the fault, or can read them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from tertulia.models.local.adapters import Adapters, matrices_for, merge
from tertulia.models.local.bare_model import BareModel, LayerParts, LlamaParts, Norm, Rotary
from tertulia.models.local.bare_tokenizer import BareTokenizer
from tertulia.models.local.decoding_state import lean_passes
from tertulia.models.local.lean_llama import LeanLlama
from tertulia.models.local.packed_linear import HalfLinear, PackedLinear, packing_of
from tertulia.state.files import read_text

#: The most characters of a configuration.
_MOST = 10**6

#: Conditions of the parts of a layer: a configuration that differs is of another architecture.
_EXPECTED = {
    "model_type": "llama",
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": True,
}


def read_bare(
    folder: Path, dtype: torch.dtype, adapters: Adapters | None, *, half: bool
) -> tuple[BareModel, BareTokenizer] | None:
    """Return the model in a folder with its tokenizer; `None` if transformers must open it.

    Args:
        dtype: The precision of the weights, in which it computes too.
        half: Whether products keep weights in half precision, with float32 for everything else.

    Raises:
        ModelError: The adapters are damaged, or of another model.
    """
    try:
        config = _configuration(folder)
        tensors = {name: tensor.to(dtype) for name, tensor in load_file(folder / "model.safetensors").items()}
        tokenizer = BareTokenizer(folder)
        parts = _Reader(tensors, config, adapters, HalfLinear if half else PackedLinear).parts()
    except (OSError, ValueError, KeyError, TypeError, SafetensorError):
        return None
    model = BareModel(parts, len(tensors["model.embed_tokens.weight"]))
    lean_passes[model] = LeanLlama(parts)
    return model, tokenizer


def _configuration(folder: Path) -> dict[str, Any]:
    """Return the configuration in a folder.

    Raises:
        ValueError: It is of another architecture.
    """
    config: Any = json.loads(read_text(folder / "config.json", _MOST))
    found = {name: config[name] for name in _EXPECTED}
    if found != _EXPECTED or config["rope_parameters"]["rope_type"] != "default":
        raise ValueError(f"{folder / 'config.json'} is of another architecture")
    return dict(config)


class _Reader:
    """Makes parts of tensors by the names that transformers gives them."""

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        config: Mapping[str, Any],
        adapters: Adapters | None,
        kind: type[HalfLinear | PackedLinear],
    ) -> None:
        """Take tensors, a configuration, adapters for the tensors, and the class that packs a product.

        Raises:
            KeyError: The configuration lacks something.
            ValueError: The adapters are for more than products of layers.
            ModelError: The adapters are damaged, or of another model.
        """
        self._tensors, self._kind = tensors, kind
        self._scale = 0.0 if adapters is None else adapters.scale
        self._pairs = {} if adapters is None else matrices_for(tensors, adapters)
        if not all(name.endswith("_proj") for name in self._pairs):
            raise ValueError("these adapters are for more than the products of layers")
        self._layers, self._epsilon = int(config["num_hidden_layers"]), float(config["rms_norm_eps"])
        self._hidden, self._between = int(config["hidden_size"]), int(config["intermediate_size"])
        self._heads, self._key_heads = int(config["num_attention_heads"]), int(config["num_key_value_heads"])
        self._size, self._base = int(config["head_dim"]), float(config["rope_parameters"]["rope_theta"])

    def parts(self) -> LlamaParts:
        """Return the parts.

        Raises:
            KeyError: A tensor is missing.
            ValueError: A tensor is of another shape, or can't be packed as the others.
        """
        words = self._tensors["model.embed_tokens.weight"]
        return LlamaParts(
            embed=nn.Embedding.from_pretrained(words),  # type: ignore[no-untyped-call]
            rotary=Rotary(self._size, self._base),
            layers=[self._layer(f"model.layers.{number}") for number in range(self._layers)],
            norm=self._norm("model.norm"),
            head=self._product(self._hidden, {"model.embed_tokens": len(words)}),
            heads=self._heads,
            key_heads=self._key_heads,
            size=self._size,
        )

    def _layer(self, name: str) -> LayerParts:
        attention, mlp = f"{name}.self_attn", f"{name}.mlp"
        queries, keys = self._heads * self._size, self._key_heads * self._size
        projected = {f"{attention}.q_proj": queries, f"{attention}.k_proj": keys, f"{attention}.v_proj": keys}
        return LayerParts(
            attention_norm=self._norm(f"{name}.input_layernorm"),
            in_attention=self._product(self._hidden, projected),
            out_of_attention=self._product(queries, {f"{attention}.o_proj": self._hidden}),
            mlp_norm=self._norm(f"{name}.post_attention_layernorm"),
            in_mlp=self._product(self._hidden, dict.fromkeys((f"{mlp}.gate_proj", f"{mlp}.up_proj"), self._between)),
            out_of_mlp=self._product(self._between, {f"{mlp}.down_proj": self._hidden}),
            scaling=self._size**-0.5,
            window=None,
        )

    def _norm(self, name: str) -> Norm:
        return Norm(self._tensor(name, (self._hidden,)), self._epsilon)

    def _product(self, inputs: int, outputs: Mapping[str, int]) -> nn.Module:
        """Return the joined and packed product of some layers, by how many outputs each has."""
        joined = self._joined(inputs, outputs)
        if packing_of([joined], half=self._kind is HalfLinear) is not self._kind:
            raise ValueError(f"{', '.join(outputs)} can't be packed like the others")
        return self._kind(joined, None)

    def _joined(self, inputs: int, outputs: Mapping[str, int]) -> Tensor:
        """Return the weights of some layers, one behind another, with their adapters.

        They are merged in the joined tensor, so that memory which was just packed is written to again.
        """
        weights = {name: self._tensor(name, (number, inputs)) for name, number in outputs.items()}
        (first, *others) = weights
        if not others and first not in self._pairs:
            return weights[first]
        joined = weights[first].new_empty(sum(outputs.values()), inputs)
        for (name, weight), place in zip(weights.items(), torch.split(joined, list(outputs.values())), strict=True):
            if name in self._pairs:
                merge(weight, self._pairs[name], self._scale, out=place)
            else:
                place.copy_(weight)
        return joined

    def _tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        tensor = self._tensors[f"{name}.weight"]
        if tensor.shape != shape:
            raise ValueError(f"{name} is {tuple(tensor.shape)}, not {shape}")
        return tensor
