"""Similarity of texts and pictures by a model like CLIP (Radford et al. 2021) or SigLIP (Zhai et al. 2023)."""

import hashlib
import itertools
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoProcessor, PreTrainedModel, ProcessorMixin

from tertulia.models.local.hub import asked_for_adapters
from tertulia.models.picture_bytes import open_picture
from tertulia.state.errors import ModelError
from tertulia.state.text import first_line, whole_characters

#: Pictures whose vectors are kept, those that were asked for last: 130 MB at 512 dimensions.
_KEPT = 65_536


class ClipPictureFinder:
    """Implements `state.language_model.PictureFinder`; a picture is embedded once while its vector is kept."""

    def __init__(self, id: str, model: PreTrainedModel, processor: ProcessorMixin) -> None:
        """Take a model and its processor.

        Raises:
            ModelError: The model does not compare texts and pictures.
        """
        parts = (model, "get_text_features"), (model, "get_image_features"), (processor, "image_processor")
        if not all(hasattr(holder, name) for holder, name in parts):
            raise ModelError(f"the model {id!r} does not compare texts with pictures; take one like CLIP or SigLIP")
        self.id, self.model, self._processor = id, model, processor
        self._known: dict[bytes, Tensor] = {}  # those asked for last stand last

    def find(self, text: str, pictures: Sequence[bytes]) -> list[float]:
        """Return the cosine of each picture to a text, which is cut at the model's own length limit.

        Every picture is embedded by itself, so its vector is the same with any others. No picture is
        similar to no text.
        """
        if not pictures or not text.strip():
            return [0.0] * len(pictures)
        vectors = torch.stack([self._picture_vector(picture) for picture in pictures])
        return cast(list[float], (vectors @ self._text_vector(text)).tolist())

    def _text_vector(self, text: str) -> Tensor:
        tokenizer = cast(Any, self._processor).tokenizer
        longest = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        # SigLIP has read nothing but texts that are padded to its limit.
        padding = "max_length" if self.model.config.model_type.startswith("siglip") else False
        read = tokenizer(
            whole_characters(text),
            padding=padding,
            truncation=True,
            max_length=longest,
            split_special_tokens=True,  # text is data
            return_tensors="pt",
        )
        return self._unit_vector(self.model.get_text_features, dict(read))

    def _picture_vector(self, picture: bytes) -> Tensor:
        key = hashlib.blake2b(picture, digest_size=16).digest()
        vector = self._known.pop(key, None)
        if vector is None:
            opened = open_picture(picture)
            try:
                read = cast(Any, self._processor).image_processor(opened, return_tensors="pt")
            except (ValueError, TypeError, RuntimeError) as error:
                raise ModelError(f"{self.id} can't read a picture ({first_line(error)})") from error
            vector = self._unit_vector(self.model.get_image_features, dict(read))
        self._known[key] = vector
        for known in [*itertools.islice(self._known, max(0, len(self._known) - _KEPT))]:
            del self._known[known]
        return vector

    def _unit_vector(self, embed: Any, read: dict[str, Tensor]) -> Tensor:
        with torch.inference_mode():
            found = embed(**{name: tensor.to(self.model.device) for name, tensor in read.items()})
        vector = found if isinstance(found, Tensor) else found.pooler_output
        return nn.functional.normalize(vector[0].float().cpu(), dim=-1)


def load_clip(source: str, device: str, *, with_code: bool, local_files_only: bool) -> tuple[Any, Any]:
    """Return the model and the processor of a folder or a hub id, in float32."""
    options: dict[str, Any] = {"trust_remote_code": with_code, "local_files_only": local_files_only}
    config = AutoConfig.from_pretrained(source, **options)
    config._attn_implementation = None  # a file could name a kernel of the hub here, which is code
    of_weights = {**options, "adapter_kwargs": asked_for_adapters(local_files_only)}
    model = AutoModel.from_pretrained(source, config=config, dtype=torch.float32, **of_weights).eval()
    return model.to(torch.device(device)), AutoProcessor.from_pretrained(source, backend="pil", **options)
