"""Facts about a model's architecture for reading and decoding, whether transformers has opened it or it is bare."""

from typing import TYPE_CHECKING, Any, TypeAlias

from tertulia.models.local.bare_model import BareModel

if TYPE_CHECKING:
    from transformers import PreTrainedModel

#: A model of this machine.
Model: TypeAlias = "PreTrainedModel | BareModel"

#: Kinds of rotary positions whose frequencies depend on the length of the prompt.
_BY_LENGTH = {"dynamic", "longrope"}


def vocabulary_of(model: Model) -> int:
    """Return how many tokens a model knows."""
    return model.vocabulary if isinstance(model, BareModel) else int(model.config.get_text_config().vocab_size)


def layers_of(model: Model) -> int:
    """Return the number of layers with keys and values of their own: the last of some models use earlier ones'."""
    if isinstance(model, BareModel):
        return len(model.parts.layers)
    config = model.config.get_text_config()
    return int(config.num_hidden_layers) - int(getattr(config, "num_kv_shared_layers", None) or 0)


def token_bytes(model: Model) -> int:
    """Return the bytes of the keys and values of one token, in all layers."""
    if isinstance(model, BareModel):
        numbers = len(model.parts.layers) * model.parts.key_heads * model.parts.size
    else:
        layers = list(model.config.get_text_config().per_layer_config)[: layers_of(model)]
        numbers = sum(map(_numbers_of_key, layers))
    return 2 * numbers * model.dtype.itemsize


def has_positions_by_length(model: Model) -> bool:
    """Return whether a token's position is encoded by how long its prompt is, which is read in one pass then."""
    if isinstance(model, BareModel):
        return False
    rope = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    kinds = {part.get("rope_type") for part in (rope, *rope.values()) if isinstance(part, dict)}
    return bool(kinds & _BY_LENGTH)


def _numbers_of_key(config: Any) -> int:
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(heads) * int(size)
