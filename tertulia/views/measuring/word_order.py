"""Tell lines whose words stand in order from the same words shuffled: how English pairs them, by counts alone.

1. The counts are those of pairs of neighbours in a part of the shipped scenes. A word is itself if it is one of the
   commonest, else its ending: `-ing`, `-ed`, `-ly`, `-s`, a number, or any other.
2. A pair is worth log P(b | a) / P(b). The order of a line is the mean worth of its pairs, its beginning and its end
   among them, in standard deviations above the average of random orders of the same words. So neither rare words nor
   the length of a line make an order; shuffled lines are at 0 on average.
3. Only English is known. If fewer than a third of the words are common ones, or a line is short, nothing is said.
"""

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from tertulia.state.words import words
from tertulia.worlds.scenes import DialogueScene, read_scenes, shipped_scenes

#: The shipped scenes of which pairs are counted.
_COUNTED = tuple(f"dialogues_{number}.jsonl" for number in (1, 2, 3, 4))
#: How many of the commonest words are themselves.
_COMMON = 300
#: As many pairs are added to those that were counted behind a word, spread as words are by themselves.
_ADDED = 2.0
_ENDINGS = ("ing", "ed", "ly", "s")
#: Before the first word of a line, and behind its last.
_BEGINNING, _END = "^", "$"
#: The fewest words of a line, and the smallest share of common ones, of which the order is told.
_FEWEST, _KNOWN = 5, 1 / 3


class WordOrder:
    """The pairs of neighbouring words in some lines."""

    def __init__(self, lines: Iterable[str]) -> None:
        spoken = [_words(line) for line in lines]
        counts = Counter(word for line in spoken for word in line)
        self._common = frozenset(word for word, _ in counts.most_common(_COMMON))
        self._words: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._firsts: Counter[str] = Counter()
        for line in spoken:
            classes = [_BEGINNING, *map(self._class, line), _END]
            self._words.update(classes[1:])
            self._pairs.update(pairwise(classes))
            self._firsts.update(classes[:-1])
        self._total = self._words.total()

    def of(self, text: str) -> float | None:
        """Return how far above random orders of its words a line's order is, in standard deviations.

        `None` if it can't be told: fewer than five words, other languages, or words whose order makes no difference.
        """
        line = [self._class(word) for word in _words(text)]
        known = sum(not word.startswith("-") for word in line)
        if len(line) < _FEWEST or known < _KNOWN * len(line):
            return None
        number = len(line)
        worth = np.array([[self._worth(a, b) for b in line] for a in line])  # (words, words)
        begins = np.array([self._worth(_BEGINNING, word) for word in line])
        ends = np.array([self._worth(word, _END) for word in line])
        others = worth[~np.eye(number, dtype=bool)]
        spread = float(others.std())
        if spread < 1e-9:
            return None
        here = np.diagonal(worth, 1).sum() + begins[0] + ends[-1]
        expected = others.mean() * (number - 1) + begins.mean() + ends.mean()
        return float((here - expected) / (spread * math.sqrt(number + 1)))

    def _worth(self, first: str, second: str) -> float:
        alone = self._words[second] / self._total if self._total else 0.0
        if not alone:
            return 0.0
        behind = (self._pairs[first, second] + _ADDED * alone) / (self._firsts[first] + _ADDED)
        return math.log(behind / alone)

    def _class(self, word: str) -> str:
        if word in self._common:
            return word
        if word.isdecimal():
            return "-#"
        return next((f"-{end}" for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2), "-")


@lru_cache(maxsize=1)
def english_order() -> WordOrder:
    """Return the order of English words, as counted in shipped scenes."""
    files = [shipped_scenes() / name for name in _COUNTED]
    scenes = [scene for scene in read_scenes(files) if isinstance(scene, DialogueScene)]
    return WordOrder(text for scene in scenes for _, text in scene.lines)


def _words(text: str) -> list[str]:
    return [word.casefold().replace("’", "'") for word in words(text)]
