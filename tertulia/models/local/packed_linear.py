"""Linear layers whose weights are laid out once for the processor, and the bytes of a model's weights.

`PackedLinear` has them as the processor's library (oneDNN) likes them: without it they are laid out anew in every call,
which costs more than the product itself for few tokens. `HalfLinear` has them in half precision and
computes in float32 (FBGEMM): a step over few tokens reads half the bytes, and reading takes most of its time. The
effect of rounding weights to eleven bits is in docs/how_it_works.md.
"""

import warnings
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

#: The largest number of half precision.
_LARGEST_HALF = 65504.0


class PackedLinear(nn.Module):
    """A linear layer with a packed weight, for inference on a CPU."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        # No parameter or buffer: it can be neither converted nor saved.
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
        self._bias = None if bias is None else bias.detach()

    @property
    def nbytes(self) -> int:
        """Bytes of the packed weight."""
        return self.in_features * self.out_features * int(self._packed.element_size())

    def forward(self, inputs: Tensor) -> Tensor:
        """Return `inputs @ weight.T + bias`."""
        packed = torch.ops.mkldnn._linear_pointwise(inputs, self._packed, self._bias, "none", [], "")
        return cast(Tensor, packed)


class HalfLinear(nn.Module):
    """A linear layer with a weight rounded to half precision, and with inputs, sums and results in float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self._bias = None if bias is None else bias.detach()
        with warnings.catch_warnings():  # they are deprecated; the operators meant to follow take 17 µs more a call
            warnings.simplefilter("ignore")
            self._packed = torch.fbgemm_pack_gemm_matrix_fp16(weight.detach())
            self(weight.new_zeros(1, self.in_features))

    @property
    def nbytes(self) -> int:
        """Bytes of the packed weight."""
        return self.in_features * self.out_features * torch.half.itemsize

    def forward(self, inputs: Tensor) -> Tensor:
        """Return `inputs @ weight.T + bias`."""
        return torch.fbgemm_linear_fp16_weight_fp32_activation(inputs, self._packed, self._bias)


def weight_bytes(model: nn.Module) -> int:
    """Return the bytes of a model's weights, those of packed layers among them."""
    packed = sum(module.nbytes for module in model.modules() if isinstance(module, PackedLinear | HalfLinear))
    return packed + sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))


def precision_of(model: nn.Module) -> str:
    """Return the precision of a model's weights, as options name it."""
    if any(isinstance(module, HalfLinear) for module in model.modules()):
        return "float16"
    return str(next(model.parameters()).dtype).removeprefix("torch.")


def pack_linear_layers(model: nn.Module, paths: tuple[str, ...] = ("",), *, half: bool = False) -> bool:
    """Replace the linear layers of a model by packed ones, and return whether this machine and its precision have them.

    The weights of the layers are dropped, so the model can be neither saved nor moved any more. Only layers under these
    paths are replaced, as vision parts look at the weights of theirs. With `half` the weights are kept in half
    precision, if all of them are within its range.
    """
    layers = [
        (path, module) for path, module in model.named_modules() if type(module) is nn.Linear and path.startswith(paths)
    ]
    kind = packing_of([layer.weight for _, layer in layers], half=half)
    if kind is None:
        return False
    for path, layer in layers:
        parent, _, name = path.rpartition(".")
        setattr(model.get_submodule(parent), name, kind(layer.weight, layer.bias))
    return True


def packing_of(weights: Sequence[Tensor], *, half: bool = False) -> type[PackedLinear] | type[HalfLinear] | None:
    """Return the packed layer for these weights, `None` if this machine and their precision have none."""
    if half and weights and all(map(_fits_half, weights)) and computes_with_half_weights():
        return HalfLinear
    return PackedLinear if weights and all(map(_can_be_packed, weights)) else None


def computes_with_half_weights() -> bool:
    """Return whether this machine's processor multiplies by weights in half precision."""
    operators = ("fbgemm_pack_gemm_matrix_fp16", "fbgemm_linear_fp16_weight_fp32_activation")
    return all(hasattr(torch, name) for name in operators) and "fbgemm" in torch.backends.quantized.supported_engines


def _fits_half(weight: Tensor) -> bool:
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return False
    if not weight.numel():
        return False
    smallest, largest = map(float, torch.aminmax(weight.detach()))
    return smallest >= -_LARGEST_HALF and largest <= _LARGEST_HALF


def _can_be_packed(weight: Tensor) -> bool:
    if weight.device.type != "cpu" or not bool(torch.backends.mkldnn.is_available()):  # type: ignore[no-untyped-call]
        return False
    operators = torch.ops.mkldnn
    if not all(hasattr(operators, name) for name in ("_reorder_linear_weight", "_linear_pointwise")):
        return False
    if weight.dtype == torch.bfloat16:
        return bool(operators._is_mkldnn_bf16_supported())
    return weight.dtype == torch.float32
