"""Tell whether a pilot shows that λ moves the metric: a permutation test of its dialogues over their λ.

If λ does nothing, it is chance which dialogue of a trial was held at which λ: the trials of a number have one seed, so
they are exchanged among themselves alone, and whatever they have in common counts neither for λ nor against it. The
metric is taken anew over the dialogues that come together, so their lengths and their scatter may be of any kind.

The statistic is how far the figures of the monotone fit lie apart, the sum of squares between λ (Bartholomew's). It is
one-sided: a figure that may be asked for needs a metric that rises with λ (sim falls), and a fall counts for nothing.
It finds a rise at a single λ, early or late, which a slope misses, and a steady one nearly as often as a slope does.

Sources: Bartholomew 1959, "A Test of Homogeneity for Ordered Alternatives"; Phipson and Smyth 2010 (p is never 0).
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import product
from statistics import NormalDist

from tertulia.state.randomness import keyed_generator
from tertulia.state.setpoint import LEAST_RANGE, MOST_TRIALS, NOTABLE_RISE, Evidence

#: The greatest p that counts for a pilot, and the part of it that counts each time that one was refused and enlarged:
#: 0.04, 0.008, 0.0016 …, so that null pilots are accepted in 0.05 of cases at most, however often they are enlarged.
_LEVEL, _ENLARGED = 0.04, 0.2

#: Permutations that are drawn; all of them are gone through if there are no more than these.
_DRAWN = 1999

#: How probable it should be that a larger pilot shows the effect that this one hints at.
_POWER = 0.8

#: The most that rounding leaves of a difference between equal figures.
_ROUNDING = 1e-12

#: Returns the metric over the dialogues of these numbers, all λ taken together.
Figure = Callable[[Sequence[int]], float]


def level_of(looks: int) -> float:
    """Return the greatest p that counts, for a pilot of which so many smaller ones were refused; 0.05 in all."""
    return float(f"{_LEVEL * _ENLARGED**looks:.6g}")


def evidence_of(
    factors: Sequence[float], trials: Sequence[Hashable], figure: Figure, falls: bool, looks: int = 0
) -> Evidence:
    """Return a pilot's evidence about λ; how many trials would be needed is not told yet (`needing`).

    Args:
        factors: The λ of each dialogue.
        trials: The trial of each; dialogues of one trial are exchanged with one another alone.
        figure: The metric.
        falls: Whether it falls as dialogues become more varied.
        looks: How many smaller pilots, whose dialogues are among these, were refused.
    """
    places = sorted(set(factors))
    dealt = [places.index(factor) for factor in factors]
    sizes = [dealt.count(place) for place in range(len(places))]
    known: dict[tuple[int, ...], float] = {}

    def spread(labels: Sequence[int]) -> float:
        groups: list[list[int]] = [[] for _ in places]
        for dialogue, place in enumerate(labels):
            groups[place].append(dialogue)
        figures = []
        for group in map(tuple, groups):
            if group not in known:
                known[group] = -figure(group) if falls else figure(group)
            figures.append(known[group])
        return spread_of_fit(figures, sizes)

    blocks: dict[Hashable, list[int]] = {}
    for dialogue, trial in enumerate(trials):
        blocks.setdefault(trial, []).append(dialogue)
    found = spread(dealt)
    is_exact = _arrangements(blocks, dealt) <= _DRAWN
    permuted = _all_permutations(blocks, dealt) if is_exact else _drawn_permutations(blocks, dealt)
    spreads = [spread(labels) for labels in permuted]
    as_far = sum(other >= found - _ROUNDING for other in spreads)
    p = as_far / len(spreads) if is_exact else (as_far + 1) / (len(spreads) + 1)
    return Evidence(p=p, level=level_of(looks), permutations=len(spreads), is_exact=is_exact, looks=looks)


def spread_of_fit(figures: Sequence[float], sizes: Sequence[int]) -> float:
    """Return the sum of squares between λ of the rising fit to figures of groups of these sizes.

    Neighbours that fall are pooled; in plain Python, as a library takes longer for a handful of figures.
    """
    pools: list[tuple[float, int]] = []
    for figure, size in zip(figures, sizes, strict=True):
        pool = (figure, size)
        while pools and pools[-1][0] >= pool[0]:
            before, weight = pools.pop()
            both = weight + pool[1]
            pool = ((before * weight + pool[0] * pool[1]) / both, both)
        pools.append(pool)
    level = sum(figure * size for figure, size in pools) / sum(sizes)
    return sum(size * (figure - level) ** 2 for figure, size in pools)


def needing(
    evidence: Evidence,
    trials: int,
    rise: float,
    scatter: float,
    factors: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
) -> Evidence:
    """Return evidence with how many trials at each λ would be needed: if λ acts as it seems to, and at best.

    With so many a pilot shows it with a probability of about 0.8, and its bands leave something to ask for. The effect
    of λ is uncertain: at best it is as large as this pilot leaves possible, to a one-sided 95 %.

    Args:
        evidence: That of the pilot.
        trials: Its dialogues at each λ.
        rise: By how much the fitted metric is more varied at the greatest λ than at the least, from 0.
        scatter: The standard deviation of the parts of dialogues in the metric, within a λ.
        factors: The pilot's λ, over which a rise that is worth finding is spread evenly (`trials_for_rise`).
    """
    normal = NormalDist()
    hint = normal.inv_cdf(1 - evidence.p) if evidence.p < 1 else -math.inf
    wanted = normal.inv_cdf(1 - level_of(evidence.looks + 1)) + normal.inv_cdf(_POWER)
    bands = 2 * normal.inv_cdf(0.975) * scatter
    slack = normal.inv_cdf(0.95)

    def needed(hint: float, rise: float) -> int | None:
        """Return the trials for an effect of so many standard errors, now, and of this rise."""
        shows = trials + 1.0 if evidence.is_shown else trials * (wanted / hint) ** 2 if hint > 0 else math.inf
        leaves_range = (bands / (rise - LEAST_RANGE)) ** 2 if rise > LEAST_RANGE else math.inf
        most = max(trials + 1.0, shows, leaves_range)
        return math.ceil(most) if most <= MOST_TRIALS else None

    at_best = needed(hint + slack, rise + slack * scatter * math.sqrt(2 / trials))
    found = {"trials_needed": needed(hint, rise), "trials_at_best": at_best}
    if not evidence.is_shown:
        found["trials_for_rise"] = max(trials + 1, _trials_for_rise(wanted, scatter, factors))
    return evidence.model_copy(update=found)


def _trials_for_rise(wanted: float, scatter: float, factors: Sequence[float]) -> int:
    """Return the dialogues at each λ for a steady rise of `NOTABLE_RISE`, which is to be so many standard errors.

    It is reckoned as for a slope: the test finds a steady rise nearly as often (docs/diversity.md has how often).
    """
    middle = sum(factors) / len(factors)
    length = (max(factors) - min(factors)) or 1.0
    spread = math.sqrt(sum(((factor - middle) / length) ** 2 for factor in factors))
    return math.ceil((wanted * scatter / (NOTABLE_RISE * spread)) ** 2) if spread else MOST_TRIALS


# --- permutations ---------------------------------------------------------------------------------------------------

_Blocks = Mapping[Hashable, Sequence[int]]


def _arrangements(blocks: _Blocks, dealt: Sequence[int]) -> int:
    """Return in how many ways λ may be dealt to the dialogues, within each trial."""
    ways = 1
    for block in blocks.values():
        alike = Counter(dealt[dialogue] for dialogue in block)
        ways *= math.factorial(len(block)) // math.prod(map(math.factorial, alike.values()))
    return ways


def _all_permutations(blocks: _Blocks, dealt: Sequence[int]) -> Iterator[list[int]]:
    """Yield the number of the λ of each dialogue in every way, the pilot's among them."""
    for deals in product(*(_deals(sorted(dealt[dialogue] for dialogue in block)) for block in blocks.values())):
        yield _labels(blocks, deals, len(dealt))


def _deals(labels: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the distinct orders of sorted labels."""
    if not labels:
        return [()]
    return [
        (label, *rest)
        for place, label in enumerate(labels)
        if place == 0 or labels[place - 1] != label
        for rest in _deals([*labels[:place], *labels[place + 1 :]])
    ]


def _drawn_permutations(blocks: _Blocks, dealt: Sequence[int]) -> Iterator[list[int]]:
    """Yield the number of the λ of each dialogue in ways that are drawn."""
    generator = keyed_generator(1, node="pilot permutations")
    of_blocks = [[dealt[dialogue] for dialogue in block] for block in blocks.values()]
    for _ in range(_DRAWN):
        yield _labels(blocks, [generator.sample(labels, k=len(labels)) for labels in of_blocks], len(dealt))


def _labels(blocks: _Blocks, deals: Sequence[Sequence[int]], dialogues: int) -> list[int]:
    labels = [0] * dialogues
    for block, deal in zip(blocks.values(), deals, strict=True):
        for dialogue, label in zip(block, deal, strict=True):
            labels[dialogue] = label
    return labels
