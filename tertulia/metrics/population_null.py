"""Compare statistics with a null in which speakers are exchanged, within the moments of a conversation."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tertulia.state.randomness import keyed_generator

#: Permutations of a null: p is at least 1 over one more.
PERMUTATIONS = 199

#: The rounding error between equal statistics.
_ROUNDING = 1e-12

#: Takes a statistic of a conversation in which these people spoke its lines.
Take = Callable[[NDArray[np.int64]], float | None]


class Judged(NamedTuple):
    """A statistic, its mean under the null, and the two-sided p; `None` if there is none."""

    value: float | None
    expected: float | None
    p: float | None

    @property
    def excess(self) -> float | None:
        """By how much it is above the null."""
        return None if self.value is None or self.expected is None else self.value - self.expected


def permuted(speakers: NDArray[np.int64], moments: NDArray[np.int64], seed: int) -> list[NDArray[np.int64]]:
    """Return the speaker of each line, exchanged within each moment, `PERMUTATIONS` times over; the draws are keyed."""
    places = [np.flatnonzero(moments == moment) for moment in np.unique(moments)]
    found = []
    for number in range(PERMUTATIONS):
        generator, labels = keyed_generator(seed, node="population: null", attempt=number), speakers.copy()
        for at in places:
            order = at.tolist()
            generator.shuffle(order)
            labels[at] = speakers[order]
        found.append(labels)
    return found


def against_null(take: Take, speakers: NDArray[np.int64], labels: Sequence[NDArray[np.int64]]) -> Judged:
    """Return a statistic beside its null."""
    value = take(speakers)
    if value is None:
        return Judged(None, None, None)
    null = np.array([drawn for drawn in map(take, labels) if drawn is not None])
    if not len(null):
        return Judged(value, None, None)
    expected = float(null.mean())
    further = int((np.abs(null - expected) >= abs(value - expected) - _ROUNDING).sum())
    return Judged(value, expected, (1 + further) / (1 + len(null)))
