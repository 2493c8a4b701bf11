"""Retain-1: all removable units go but one. Source: APP §3.2."""

from collections.abc import Mapping, Sequence
from typing import Literal

from tertulia.state.records import Unit


def all_but_one(
    units: Sequence[Unit], scores: Mapping[str, float], block: str, retain: Literal["highest", "lowest"]
) -> list[str]:
    """Return the ids of all removable units but one of a block, in prompt order.

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
