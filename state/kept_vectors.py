"""The contract of a store of the vectors of texts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class KeptVectors(Protocol):
    """Vectors that outlive the process which made them."""

    def find(self, embedder: str, texts: Sequence[str]) -> "Mapping[str, NDArray[np.float32]]":
        """Return the vectors that are kept of these texts.

        Args:
            embedder: The causes of a vector's last digit: the embedder, its libraries, and how they compute.
        """

    def add(self, embedder: str, vectors: "Mapping[str, NDArray[np.float32]]") -> None:
        """Keep the vectors of texts; one that is kept already stays as it is."""
