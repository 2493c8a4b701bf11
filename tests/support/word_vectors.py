"""An embedder without weights for tests: texts without a word in common are at right angles."""

import math
from collections import Counter
from collections.abc import Sequence

from tertulia.state.text import folded_words

_SIZE = 4096


class WordEmbedder:
    """Counts the words of a text, to unit length; two words may share a place, which is rare."""

    id = "words"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def embed_untruncated(self, texts: Sequence[str]) -> list[list[float]]:
        return self.embed(texts)

    @staticmethod
    def _vector(text: str) -> list[float]:
        vector = [0.0] * _SIZE
        vector[0] = 1e-3  # of texts without words
        for word, count in Counter(folded_words(text)).items():
            vector[sum(ord(letter) * 31**at for at, letter in enumerate(word)) % (_SIZE - 1) + 1] += count
        norm = math.hypot(*vector)
        return [value / norm for value in vector]
