"""A walk that ends before or behind the first unit that would overshoot (docs/diversity.md)."""

from collections.abc import Mapping, Sequence

from tertulia.nodes.utterance.walks.first_overshoot import first_overshoot
from tertulia.nodes.utterance.walks.visiting import Order, visited
from tertulia.state.records import Unit


def nearest(
    units: Sequence[Unit], scores: Mapping[str, float], removal_factor: float, order: Order = "descending"
) -> list[str]:
    """Return the beginning of the order whose sum is nearest to the target, of two that are equally near the smaller.

    Arguments as of Algorithm 1.
    """
    removed = first_overshoot(units, scores, removal_factor, order)
    a, target = visited(units, scores, removal_factor, order)
    missing = target - sum(a[unit] for unit in removed)
    behind = next(iter([*a][len(removed) :]), None)
    return [*removed, behind] if behind is not None and a[behind] - missing < missing else removed
