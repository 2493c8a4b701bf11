"""The shared part of the walks: exact scores in the order of a visit, and the sum to reach."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from tertulia.state.records import Unit

#: From the highest score down (the paper's default), or from the lowest up (APP §3.2).
Order = Literal["descending", "ascending"]


def exact(number: float) -> Fraction:
    """Return a number as its decimals say, so that no rounding of a sum keeps a unit at λ = 1."""
    return Fraction(repr(float(number)))


def visited(
    units: Sequence[Unit], scores: Mapping[str, float], removal_factor: float, order: Order
) -> tuple[dict[str, Fraction], Fraction]:
    """Return a_u of the removable units in the order of a visit, and the target; at λ = 0 no unit is visited.

    Args:
        units, scores, removal_factor, order: As of `nodes.utterance.prune.prune_units`.
    """
    if removal_factor == 0:
        return {}, Fraction(0)
    a = {unit.id: exact(scores[unit.id]) for unit in units if unit.removable}
    in_order = sorted(a, key=lambda unit: a[unit], reverse=order == "descending")
    return {unit: a[unit] for unit in in_order}, exact(removal_factor) * sum(a.values())
