"""Linear layers whose weights are laid out once as the processor's library (oneDNN) likes them.

Without it they are laid out anew in every call, which costs more than the product itself where there are few tokens.
"""

from typing import cast

import torch
from torch import Tensor, nn


class PackedLinear(nn.Module):
    """A linear layer with a packed weight, for inference on a CPU."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        # No parameter or buffer: it can be neither converted nor saved.
        self._packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), None)
        self._bias = None if linear.bias is None else linear.bias.detach()

    @property
    def nbytes(self) -> int:
        """Bytes of the packed weight."""
        return self.in_features * self.out_features * int(self._packed.element_size())

    def forward(self, inputs: Tensor) -> Tensor:
        """Return `inputs @ weight.T + bias`."""
        packed = torch.ops.mkldnn._linear_pointwise(inputs, self._packed, self._bias, "none", [], "")
        return cast(Tensor, packed)


def weight_bytes(model: nn.Module) -> int:
    """Return the bytes of a model's weights, those of packed layers among them."""
    packed = sum(module.nbytes for module in model.modules() if isinstance(module, PackedLinear))
    return packed + sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))


def pack_linear_layers(model: nn.Module, paths: tuple[str, ...] = ("",)) -> bool:
    """Replace the linear layers of a model by packed ones, and return whether this machine and its precision have them.

    The weights of the layers are dropped, so the model can be neither saved nor moved any more. Only layers under these
    paths are replaced, as vision parts look at the weights of theirs.
    """
    layers = [
        (path, module) for path, module in model.named_modules() if type(module) is nn.Linear and path.startswith(paths)
    ]
    if not layers or not all(_can_be_packed(layer.weight) for _, layer in layers):
        return False
    for path, layer in layers:
        parent, _, name = path.rpartition(".")
        setattr(model.get_submodule(parent), name, PackedLinear(layer))
    return True


def _can_be_packed(weight: Tensor) -> bool:
    if weight.device.type != "cpu" or not bool(torch.backends.mkldnn.is_available()):  # type: ignore[no-untyped-call]
        return False
    operators = torch.ops.mkldnn
    if not all(hasattr(operators, name) for name in ("_reorder_linear_weight", "_linear_pointwise")):
        return False
    if weight.dtype == torch.bfloat16:
        return bool(operators._is_mkldnn_bf16_supported())
    return weight.dtype == torch.float32
