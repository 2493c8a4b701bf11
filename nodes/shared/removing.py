"""Which units λ removes from a prompt, by Algorithm 1, other walks or at random. Source: APP §3.1, §3.2."""

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from tertulia.nodes.shared.placebo import as_many_words
from tertulia.state.parameters import REMOVAL_TOLERANCE, Parameters, Walk
from tertulia.state.records import Unit


def chosen_units(
    units: Sequence[Unit],
    scores: Mapping[str, float],
    removal_factor: float,
    parameters: Parameters,
    generator: random.Random,
) -> list[str]:
    """Return the ids of the units that λ removes by the order and the walk of a run; arguments as `prune_units`.

    Args:
        generator: What the placebo is drawn from (`placebo_generator`).
    """
    order, walk = parameters.removal_order, parameters.removal_walk
    if order == "placebo":
        return as_many_words(units, prune_units(units, scores, removal_factor, "descending", walk), generator)
    return prune_units(units, scores, removal_factor, order, walk)


def prune_units(
    units: Sequence[Unit],
    scores: Mapping[str, float],
    removal_factor: float,
    order: Literal["descending", "ascending"] = "descending",
    walk: Walk = "paper",
) -> list[str]:
    """Return the ids of the units that Algorithm 1 removes, in the order in which it takes them.

    The removable units are visited by score: a unit that fits under the target is removed, a unit that would overshoot
    is passed over, until the target is reached. Ties are visited in prompt order. Sums are exact in the decimals of the
    scores, so that no rounding keeps a unit at λ = 1.

    Two other walks end at the first unit that would overshoot, so that what is removed is a beginning of the order and
    differs little where scores do; a fourth ends as soon as it is near enough (docs/diversity.md has figures).

    Args:
        units: The units of the full prompt, in prompt order.
        scores: a_u by unit id, at least of the removable ones, each ≥ 0.
        removal_factor: λ in [0, 1]: the share of the removable units' total score to remove.
        order: From the highest score down (the paper's default) or from the lowest up.
        walk: What happens at a unit that would overshoot: it is passed over (`paper`), the walk ends before it
            (`first_overshoot`), or it ends before or behind it, whichever sum is nearer to the target (`nearest`; of
            two that are equally near the smaller), or as in `_calm`.

    Raises:
        ValueError: λ is outside [0, 1].
        KeyError: A removable unit has no score.
    """
    if not 0 <= removal_factor <= 1:
        raise ValueError(f"removal_factor={removal_factor} is outside [0, 1]")
    if removal_factor == 0:
        return []
    exact = {unit.id: Fraction(repr(float(scores[unit.id]))) for unit in units if unit.removable}
    # Sorting is stable: ties keep their order.
    visited = sorted(exact, key=lambda unit: exact[unit], reverse=order == "descending")
    factor = Fraction(repr(float(removal_factor)))
    target = factor * sum(exact.values())
    if walk == "calm":
        return _calm([(unit, exact[unit]) for unit in visited], target, _tolerance(factor) * sum(exact.values()))
    current = Fraction(0)
    removed = []
    for unit in visited:
        if current + exact[unit] <= target:
            current += exact[unit]
            removed.append(unit)
        elif walk != "paper":
            if walk == "nearest" and current + exact[unit] - target < target - current:
                removed.append(unit)
            break
        if current >= target:
            break
    return removed


def _tolerance(factor: Fraction) -> Fraction:
    """Return how far from λ a share may be: less near 0 and 1, where nothing and all would be near enough."""
    return min(Fraction(repr(REMOVAL_TOLERANCE)), factor / 2, (1 - factor) / 2)


def _calm(visited: Sequence[tuple[str, Fraction]], target: Fraction, tolerance: Fraction) -> list[str]:
    """Return the units of the first walk that comes within a tolerance of the target, else what came nearest.

    A walk passes over what would overshoot by more than the tolerance, and ends where it is within it: of the light
    units, whose order hangs on the last digits of scores, only as many go as are needed. The first walk begins at the
    first unit; where it does not come near enough, others begin at the second, the third, and so on. So no other walk
    of `prune_units` comes nearer, unless both are within the tolerance.
    """
    nearest: list[str] = []
    off = target
    for beginning in range(len(visited)):
        current, removed = Fraction(0), list[str]()
        for unit, score in visited[beginning:]:
            reached = current + score
            if abs(reached - target) < off:
                nearest, off = [*removed, unit], abs(reached - target)
                if off <= tolerance:
                    return nearest
            if reached <= target:
                current, removed = reached, [*removed, unit]
    return nearest


def all_but_one(
    units: Sequence[Unit], scores: Mapping[str, float], block: str, retain: Literal["highest", "lowest"]
) -> list[str]:
    """Return the ids of all removable units but one of a block, in prompt order. Source: APP §3.2, Retain-1.

    Args:
        units: The units of the full prompt, in prompt order.
        scores: a_u by unit id, at least of the block's removable units.
        block: The block that keeps one unit; if it has none, all removable units are removed.
        retain: Whether it keeps its unit with the highest or with the lowest score; of several the first.
    """
    removable = [unit.id for unit in units if unit.removable]
    in_block = [unit.id for unit in units if unit.removable and unit.block == block]
    choose = max if retain == "highest" else min
    kept = choose(in_block, key=lambda unit: scores[unit], default=None)
    return [unit for unit in removable if unit != kept]
