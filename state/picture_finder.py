"""The contract of a model that finds the pictures that a text means."""

from collections.abc import Sequence
from typing import Protocol


class PictureFinder(Protocol):
    """A finder of the pictures that a text means."""

    @property
    def id(self) -> str:
        """The name under which the finder is chosen again."""

    def find(self, text: str, pictures: Sequence[bytes]) -> list[float]:
        """Return the cosine similarity of each picture to a text; `ModelError` if a picture can't be read."""
