"""The model of an embedder: that of the package, or one of a folder or a hub id by sentence-transformers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tertulia.models.local.hub import load, quiet_libraries
from tertulia.state.errors import ModelError
from tertulia.state.language_model import Report
from tertulia.state.text import first_line

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class SentenceModel(Protocol):
    """A model that makes a vector of a text."""

    @property
    def limit(self) -> int | None:
        """Tokens that are read of a text, two special ones among them; `None`: all."""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the beginning and the end of each token in a text of any length, without the special tokens."""

    def vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the vector of each text, of unit length; it depends on no other text, to the last digit."""


class LibraryModel:
    """Implements `SentenceModel` by sentence-transformers."""

    def __init__(self, model: "SentenceTransformer") -> None:
        self._model = model
        self.limit: int | None = model.max_seq_length

    @classmethod
    def open(cls, name: str, remedy: str, report: Report) -> "LibraryModel":
        """Return the model of a folder or of a hub id. No code that comes with it is executed.

        Raises:
            ModelError: It can't be loaded.
        """
        with quiet_libraries():
            from sentence_transformers import SentenceTransformer

            from tertulia.models.local.packed_linear import pack_linear_layers

            def loaded(local_files_only: bool) -> SentenceTransformer:
                return SentenceTransformer(name, trust_remote_code=False, local_files_only=local_files_only)

            try:
                model = load(name, loaded, remedy=remedy, report=report)
            except (OSError, ValueError) as error:
                raise ModelError(
                    f"the embedder {name!r} can't be loaded: {first_line(error) or type(error).__name__}; {remedy}"
                ) from error
            pack_linear_layers(model)
            return cls(model)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the beginning and the end of each token in a text of any length, without the special tokens."""
        tokens = self._model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [*tokens["offset_mapping"]]

    def vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the vector of each text, of unit length; shape (D,) each."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> NDArray[np.float32]:
        (vector,) = self._model.encode([text], batch_size=1, normalize_embeddings=True, show_progress_bar=False)
        copied: NDArray[np.float32] = np.array(vector, np.float32)
        return copied
