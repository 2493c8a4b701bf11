"""A walk that ends before the first unit that would overshoot (docs/diversity.md)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tertulia.nodes.utterance.walks.visiting import Order, visited
from tertulia.state.records import Unit


def first_overshoot(
    units: Sequence[Unit], scores: Mapping[str, float], removal_factor: float, order: Order = "descending"
) -> list[str]:
    """Return the longest beginning of the order that stays within the target; arguments as of Algorithm 1.

    Sets of two draws differ little if their scores do, and that of a greater λ has all units of a smaller one.
    """
    a, target = visited(units, scores, removal_factor, order)
    current_sum, removed = Fraction(0), list[str]()
    for unit, score in a.items():
        if current_sum + score > target:
            break
        current_sum += score
        removed.append(unit)
        if current_sum >= target:
            break
    return removed
