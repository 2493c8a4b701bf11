"""An embedder without weights for tests of figures: it counts letters, and reads only the beginning of a text."""

import math
from collections.abc import Sequence


class LetterEmbedder:
    """Counts letters in a text, cut after `limit` characters as a model would cut it, to unit length."""

    id = "letters"

    def __init__(self, limit: int = 30) -> None:
        self.limit = limit
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches.append(list(texts))
        return [self._vector(text[: self.limit]) for text in texts]

    def embed_untruncated(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    @staticmethod
    def _vector(text: str) -> list[float]:
        counts = [1.0 + text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]
        norm = math.hypot(*counts)
        return [count / norm for count in counts]
