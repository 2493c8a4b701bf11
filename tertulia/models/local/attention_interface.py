"""Our attention for transformers, which calls it for every layer of a model whose implementation is `IMPLEMENTATION`.

`attention` has the computation. This module is imported when a model of transformers is opened.

Shapes: B rows, H query heads, K key-value heads, n new tokens, d head size, t reply tokens so far.
"""

from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.modeling_utils import AttentionInterface

from tertulia.models.local.attention import AttentionOptions, attend_prompt, attend_rows
from tertulia.models.local.decoding_state import DecodingState, current_state
from tertulia.models.local.prefix import Prefix
from tertulia.state.errors import AttentionUnavailableError

IMPLEMENTATION = "tertulia"


def attention_forward(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Return softmax attention in the form that transformers asks for; masks are made here, from positions.

    Args:
        query: `(B, H, n, d)`.
        key, value: `(B, K, n, d)` while a prefix is read; while decoding the state has them.
        attention_mask: The model's own mask, `(1, 1, n, t)`, while a prompt with pictures is read: some let the tokens
            of a picture attend to each other. Else none is used.
        scaling: Factor on the logits; `d ** -0.5` if not given.
        dropout: Not used.
        sliding_window: Width of the window in tokens, the query's own included.
        softcap: Bound of the logits.
        s_aux: One logit per head that takes part in the softmax and is thrown away (attention sinks).
        **others: Not used, but for `position_bias`, which is refused.
    """
    if others.get("position_bias") is not None:
        raise AttentionUnavailableError("its attention adds a position bias that the scores would miss")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    options = AttentionOptions(scaling, sliding_window, softcap, s_aux)
    state = current_state.get()
    if isinstance(state, DecodingState):
        layer = getattr(module, "layer_idx", 0)
        output = attend_rows(state, layer, _layer_of_keys(module, layer), query, options)
    else:
        output = attend_prompt(query, key, value, options, attention_mask)
    return output.transpose(1, 2).contiguous(), None


def _layer_of_keys(module: nn.Module, layer: int) -> int:
    """Return the layer whose keys and values a layer uses: its own, or an earlier one's that it shares."""
    if not getattr(module, "is_kv_shared_layer", False):
        return layer
    config: Any = module.config
    shared = zip(config.kv_sharing_modes, config.layer_types, strict=True)
    return next(at for at, (mode, kind) in enumerate(shared) if mode == "store" and kind == config.layer_types[layer])


def use_implementation(model: PreTrainedModel, implementation: str = IMPLEMENTATION) -> None:
    """Set the attention of a model's language part, and of no other part: a vision part is not causal."""
    text = model.config.get_text_config()
    parts = [name for name in model.config.sub_configs if getattr(model.config, name, None) is text]
    model.set_attn_implementation({parts[0]: implementation} if parts else implementation)


def _model_mask(*args: Any, **options: Any) -> Tensor | None:
    """Return the mask of the model itself, `True` for a token that is attended to, while it reads pictures.

    Else there is none: `attention_forward` makes its masks from positions.
    """
    state = current_state.get()
    return sdpa_mask(*args, **options) if isinstance(state, Prefix) and state.has_pictures else None


AttentionInterface.register(IMPLEMENTATION, attention_forward)
AttentionMaskInterface.register(IMPLEMENTATION, _model_mask)
