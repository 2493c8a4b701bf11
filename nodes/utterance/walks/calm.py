"""A walk that ends as soon as the removed share is near enough to λ (docs/diversity.md)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tertulia.nodes.utterance.walks.visiting import Order, exact, visited
from tertulia.state.parameters import REMOVAL_TOLERANCE
from tertulia.state.records import Unit


def calm(
    units: Sequence[Unit], scores: Mapping[str, float], removal_factor: float, order: Order = "descending"
) -> list[str]:
    """Return the units of the first walk that comes within a tolerance of the target, else the nearest set.

    A walk passes over units that would overshoot by more than the tolerance, and ends once it is within it: of the
    light units, whose order hangs on the last digits of scores, only as many go as are needed. The first walk begins at
    the first unit; if it does not come near enough, others begin at the second, the third, and so on. So no other walk
    comes nearer, unless both are within the tolerance. Arguments as of Algorithm 1.
    """
    a, target = visited(units, scores, removal_factor, order)
    in_order = list(a.items())
    tolerance = _tolerance(exact(removal_factor)) * sum(a.values())
    nearest: list[str] = []
    off = target
    for beginning in range(len(in_order)):
        current_sum, removed = Fraction(0), list[str]()
        for unit, score in in_order[beginning:]:
            reached = current_sum + score
            if abs(reached - target) < off:
                nearest, off = [*removed, unit], abs(reached - target)
                if off <= tolerance:
                    return nearest
            if reached <= target:
                current_sum, removed = reached, [*removed, unit]
    return nearest


def _tolerance(factor: Fraction) -> Fraction:
    """Return how far from λ a share may be: less near 0 and 1, as nothing and all would be near enough there."""
    return min(exact(REMOVAL_TOLERANCE), factor / 2, (1 - factor) / 2)
