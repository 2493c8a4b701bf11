"""Tell whether a pilot shows that λ moves the metric: a permutation test of its dialogues over their λ.

If λ does nothing, it is chance which dialogue of a trial was held at which λ: the trials of a number have one seed, so
they are exchanged among themselves alone, and whatever they have in common counts neither for λ nor against it. The
metric is taken anew over the dialogues that come together, so their lengths and their scatter may be of any kind.

The statistic is how far the figures of the monotone fit lie apart, the sum of squares between λ (Bartholomew's). It is
one-sided: what may be asked for needs a metric that rises with λ (sim falls), and a fall counts for nothing. It finds a
rise at a single λ, early or late, which a slope misses, and a steady one nearly as often as a slope does.

Sources: Bartholomew 1959, "A Test of Homogeneity for Ordered Alternatives"; Phipson and Smyth 2010 (p is never 0).
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from tertulia.state.randomness import keyed_generator
from tertulia.state.setpoint import LEAST_RANGE, MOST_TRIALS, Evidence

#: The greatest p that counts for a pilot, and the part of it that counts each time that one was refused and enlarged:
#: 0.04, 0.008, 0.0016 …, so that null pilots are accepted in 0.05 of cases at most, however often they are enlarged.
_LEVEL, _ENLARGED = 0.04, 0.2

#: Permutations that are drawn; all of them are gone through where there are no more than these.
_DRAWN = 1999

#: How probable it should be that a larger pilot shows what this one hints at.
_POWER = 0.8

#: What is left of a difference between equal figures.
_ROUNDING = 1e-12

#: Returns the metric over the dialogues of these numbers, all λ taken together.
Figure = Callable[[Sequence[int]], float]


def level_of(looks: int) -> float:
    """Return the greatest p that counts, for a pilot of which so many smaller ones were refused; 0.05 in all."""
    return float(f"{_LEVEL * _ENLARGED**looks:.6g}")


def evidence_of(
    factors: Sequence[float], trials: Sequence[Hashable], figure: Figure, falls: bool, looks: int = 0
) -> Evidence:
    """Return what a pilot shows of λ; how many trials would be needed is not told yet (`needing`).

    Args:
        factors: The λ of each dialogue.
        trials: The trial of each; dialogues of one trial are exchanged with one another alone.
        figure: The metric.
        falls: Whether it falls where dialogues are more varied.
        looks: How many smaller pilots, whose dialogues are among these, were refused.
    """
    sizes = Counter(factors)
    places = sorted(sizes)
    known: dict[tuple[int, ...], float] = {}

    def spread(labels: Mapping[int, float]) -> float:
        groups: dict[float, list[int]] = {factor: [] for factor in places}
        for dialogue in sorted(labels):
            groups[labels[dialogue]].append(dialogue)
        for group in map(tuple, groups.values()):
            if group not in known:
                known[group] = figure(group)
        figures = np.array([known[tuple(group)] for group in groups.values()])
        return spread_of_fit(figures, np.array([sizes[factor] for factor in places]), falls)

    blocks: dict[Hashable, list[int]] = {}
    for dialogue, trial in enumerate(trials):
        blocks.setdefault(trial, []).append(dialogue)
    found = spread(dict(enumerate(factors)))
    is_exact = _arrangements(blocks, factors) <= _DRAWN
    permuted = _all_permutations(blocks, factors) if is_exact else _drawn_permutations(blocks, factors)
    spreads = [spread(labels) for labels in permuted]
    as_far = sum(other >= found - _ROUNDING for other in spreads)
    p = as_far / len(spreads) if is_exact else (as_far + 1) / (len(spreads) + 1)
    return Evidence(p=p, level=level_of(looks), permutations=len(spreads), is_exact=is_exact, looks=looks)


def spread_of_fit(figures: NDArray[np.float64], sizes: NDArray[np.int_], falls: bool) -> float:
    """Return the sum of squares between λ of the monotone fit to figures `(K,)` of groups of these sizes."""
    fit = isotonic_regression(figures, weights=sizes, increasing=not falls).x
    return float(sizes @ (fit - np.average(fit, weights=sizes)) ** 2)


def needing(evidence: Evidence, trials: int, rise: float, scatter: float) -> Evidence:
    """Return evidence with how many trials at each λ would be needed if λ did as much as it seems to.

    With so many a pilot shows it with a probability of about 0.8, and its bands leave something to ask for.

    Args:
        evidence: What the pilot shows.
        trials: Its dialogues at each λ.
        rise: By how much the fitted metric is more varied at the greatest λ than at the least, from 0.
        scatter: The standard deviation of the parts of dialogues in the metric, within a λ.
    """
    needed = trials + 1.0
    if not evidence.is_shown:
        hint = NormalDist().inv_cdf(1 - evidence.p) if evidence.p < 1 else -math.inf
        wanted = NormalDist().inv_cdf(1 - level_of(evidence.looks + 1)) + NormalDist().inv_cdf(_POWER)
        needed = max(needed, trials * (wanted / hint) ** 2 if hint > 0 else math.inf)
    left = rise - LEAST_RANGE
    needed = max(needed, (2 * NormalDist().inv_cdf(0.975) * scatter / left) ** 2 if left > 0 else math.inf)
    return evidence.model_copy(update={"trials_needed": math.ceil(needed) if needed <= MOST_TRIALS else None})


# --- permutations ---------------------------------------------------------------------------------------------------

_Blocks = Mapping[Hashable, Sequence[int]]


def _arrangements(blocks: _Blocks, factors: Sequence[float]) -> int:
    """Return in how many ways λ may be dealt to the dialogues, within each trial."""
    ways = 1
    for block in blocks.values():
        alike = Counter(factors[dialogue] for dialogue in block)
        ways *= math.factorial(len(block)) // math.prod(map(math.factorial, alike.values()))
    return ways


def _all_permutations(blocks: _Blocks, factors: Sequence[float]) -> Iterator[Mapping[int, float]]:
    """Yield λ by dialogue in every way, the pilot's among them."""
    for dealt in product(*(_deals(sorted(factors[i] for i in block)) for block in blocks.values())):
        pairs = zip(blocks.values(), dealt, strict=True)
        yield {dialogue: factor for block, deal in pairs for dialogue, factor in zip(block, deal, strict=True)}


def _deals(labels: Sequence[float]) -> list[tuple[float, ...]]:
    """Return the distinct orders of sorted labels."""
    if not labels:
        return [()]
    return [
        (label, *rest)
        for place, label in enumerate(labels)
        if place == 0 or labels[place - 1] != label
        for rest in _deals([*labels[:place], *labels[place + 1 :]])
    ]


def _drawn_permutations(blocks: _Blocks, factors: Sequence[float]) -> Iterator[Mapping[int, float]]:
    """Yield λ by dialogue in ways that are drawn."""
    generator = keyed_generator(1, node="pilot permutations")
    for _ in range(_DRAWN):
        yield {
            dialogue: factor
            for block in blocks.values()
            for dialogue, factor in zip(block, generator.sample([factors[i] for i in block], k=len(block)), strict=True)
        }
