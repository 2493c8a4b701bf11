"""The placebo of λ: as many words as it removes, of units drawn at random, so that only which units go differs."""

import random
from collections.abc import Sequence

from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Unit
from tertulia.state.words import words


def placebo_generator(seed: int, turn: int, speaker: str, part: str = "") -> random.Random:
    """Return the generator from which a turn's placebo is drawn, at any λ; `seed` is that of draws for a prompt."""
    return keyed_generator(seed, round=turn, agent=speaker, node=f"placebo_{part}" if part else "placebo")


def as_many_words(units: Sequence[Unit], removed: Sequence[str], generator: random.Random) -> list[str]:
    """Return the ids of removable units drawn at random that have about as many words as those that λ removes.

    The units are visited in a random order, the same for any λ: a unit that fits is taken, one that would overshoot is
    passed over; last, one of those is taken if that brings the sum nearer to the target, the one that brings it
    nearest. If λ removes nothing so does this, and if it removes all it is the same.

    Args:
        units: The units of the full prompt, in prompt order.
        removed: Ids of the removable units that λ removes.
    """
    sizes = {unit.id: len(words(unit.text)) for unit in drawn_order(units, generator)}
    if len(removed) == len(sizes):
        return list(removed)
    missing = sum(sizes[unit] for unit in removed)
    taken = []
    for unit, size in sizes.items():
        if 0 < size <= missing:
            taken.append(unit)
            missing -= size
    left = [unit for unit in sizes if unit not in taken]
    last = min(left, key=lambda unit: abs(missing - sizes[unit]), default=None)
    return [*taken, last] if last is not None and abs(missing - sizes[last]) < missing else taken


def drawn_order(units: Sequence[Unit], generator: random.Random) -> list[Unit]:
    """Return the removable units in the random order in which a placebo visits them."""
    removable = [unit for unit in units if unit.removable]
    return generator.sample(removable, len(removable))
