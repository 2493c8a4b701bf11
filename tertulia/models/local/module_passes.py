"""The forward passes of any model by transformers' modules, with our own store of keys and values.

This module alone knows transformers' cache. It is imported for a model without passes of its own (`lean_llama`).
"""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

from tertulia.models.local.architecture import layers_of
from tertulia.models.local.prefix import Prefix

if TYPE_CHECKING:
    from tertulia.models.local.sight import PictureInputs


class Kept(Protocol):
    """A store of keys and values: a prefix, or the rows behind some."""

    @property
    def length(self) -> int:
        """Number of tokens in front of those being read."""

    def store(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values of one layer; return those that attention gets."""


class ModulePasses:
    """Implements `decoding_state.Passes` by transformers' modules."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model: Any = model
        self._can_limit_logits = "logits_to_keep" in inspect.signature(model.forward).parameters

    def read(self, prefix: Prefix, end: int) -> None:
        """Read the next tokens of a prompt, up to `end`; its length stays as it is."""
        device = self._model.device
        self._model.base_model(
            input_ids=torch.tensor([prefix.tokens[prefix.length : end]], device=device),
            position_ids=torch.arange(prefix.length, end, device=device)[None],
            **self._caching(prefix),
        )

    def read_with_pictures(self, prefix: Prefix, count: int, pictures: "PictureInputs") -> int:
        """Read the first tokens of a prompt; the model itself merges their pictures and numbers their positions.

        Returns:
            The difference between the position and the number of a later token.
        """
        self._model.base_model(
            input_ids=torch.tensor([prefix.tokens[:count]], device=self._model.device),
            **pictures.for_tokens(count, self._model),
            **self._caching(prefix),
        )
        deltas = getattr(self._model.base_model, "rope_deltas", None)  # with positions in a picture
        return 0 if deltas is None else int(deltas.flatten()[0])

    def logits(
        self, state: Kept, tokens: Sequence[int], positions: Sequence[int], ends: Sequence[int] | None
    ) -> Tensor:
        """Read tokens of rows, and return the logits after the tokens at the places `ends`, or after all, `(n, V)`.

        Without any place it is the first token's: the modules compute some.
        """
        device = self._model.device
        limits: dict[str, Any] = {}
        ends = [0] if ends is not None and not ends else ends
        if ends is not None and self._can_limit_logits:
            limits["logits_to_keep"] = torch.tensor(ends, device=device)
        logits: Tensor = self._model(
            input_ids=torch.tensor([tokens], device=device),
            position_ids=torch.tensor([positions], device=device),
            **self._caching(state),
            **limits,
        ).logits[0]
        return logits if ends is None or limits else logits[ends]

    def _caching(self, kept: Kept) -> dict[str, Any]:
        cache = Cache(layers=[_Layer(kept, layer) for layer in range(layers_of(self._model))])
        return {"past_key_values": cache, "use_cache": True}


class _Layer(CacheLayerMixin):
    """One layer of transformers' cache; the state places new keys and chooses the keys that attention gets."""

    is_sliding = False

    def __init__(self, state: Kept, index: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.state, self.index = state, index

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self.state.store(self.index, key_states, value_states)

    def get_seq_length(self) -> int:
        return self.state.length

    def get_max_length(self) -> int:
        return -1

    def get_max_cache_shape(self) -> int:  # an earlier name of the method above
        return self.get_max_length()

    def get_mask_sizes(self, query_length: int | Tensor) -> tuple[int, int]:
        # Earlier it was told the positions.
        return self.state.length + (query_length if isinstance(query_length, int) else len(query_length)), 0
