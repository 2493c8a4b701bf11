"""Variations of a prompt: blocks removed, of another length or another case.

Source: APP §3 and App. E. Other names are in `prompts/renaming.py`; several replies in one call: `prompts/several.py`.
"""

import random
from collections.abc import Iterable, Mapping, Sequence

from tertulia.prompts.remove import remove_units
from tertulia.prompts.units import FIXED_UNITS
from tertulia.state.errors import UsageError
from tertulia.state.records import BLOCK_INITIALS, Prompt, Unit
from tertulia.state.variation import BlockLength
from tertulia.state.words import words

#: The end of the ids of another case's units.
OF_ANOTHER = ".other"


def without_blocks(prompt: Prompt, letters: str) -> Prompt:
    """Return the prompt without these blocks, by initials: `bmpe` is RMbmpe of APP Table 2.

    A block is named in order to see its effect, so that it goes whole, with the units that λ may never remove
    (`FIXED_UNITS`).
    """
    removed = {BLOCK_INITIALS[letter] for letter in letters}
    return prompt.model_copy(update={"units": tuple(unit for unit in prompt.units if unit.block not in removed)})


# --- lengths --------------------------------------------------------------------------------------------------------


def with_lengths(prompt: Prompt, lengths: Mapping[str, BlockLength], generator: random.Random) -> Prompt:
    """Return the prompt with blocks of these lengths: items are drawn to be dropped, or to be copied.

    A copy comes behind its original and is a unit with an id: `memory.m3.copy_1`. Texts of a block are not counted;
    units that λ may never remove (`FIXED_UNITS`) are counted, and neither dropped nor copied. A block without items is
    passed over if its length is approximate.

    Args:
        lengths: By initial of a block.

    Raises:
        UsageError: A block has no items, or whole items can't make its length, and the length is exact.
    """
    units: Sequence[Unit] = prompt.units
    for letter, length in lengths.items():
        block = BLOCK_INITIALS[letter]
        everything = [unit for unit in units if unit.block == block and unit.kind == "item"]
        items = [unit for unit in everything if unit.id not in FIXED_UNITS]
        sizes = [_size(unit, length) for unit in items]
        fixed = sum(_size(unit, length) for unit in everything) - sum(sizes)
        wanted = f"{letter}{'=' if length.exact else '~'}{length.count}{'w' if length.unit == 'words' else ''}"
        if not sum(sizes) and not length.exact:
            continue
        if not sum(sizes):
            kind = "other items than those that always stand" if fixed else "items"
            raise UsageError(
                f"block_lengths={wanted} can't be reached: {block} has no {kind} in this prompt; leave {letter} "
                "out, or write ~ for =, which passes over it"
            )
        times = _times(sizes, length.count - fixed, length.exact, generator, may_be_empty=fixed > 0)
        if times is None:
            near = [fixed + total for total in _nearest_totals(sizes, length.count - fixed, fixed > 0)]
            near_words = f"set {letter}~{length.count}w for as near as they allow"
            raise UsageError(
                f"block_lengths={wanted} can't be reached: whole items of {block} make {' or '.join(map(str, near))} "
                f"{length.unit} in this prompt; {near_words if length.unit == 'words' else f'set {letter}={near[0]}'}"
            )
        by_id = dict(zip((unit.id for unit in items), times, strict=True))
        units = [copy for unit in units for copy in _copies(unit, by_id.get(unit.id, 1))]
    return prompt.model_copy(update={"units": tuple(units)})


# --- items of another case ------------------------------------------------------------------------------------------


def with_items_of(prompt: Prompt, other: Prompt, generator: random.Random) -> Prompt:
    """Return the prompt with the removable items of another case's in the place of its own, block by block.

    Each block has as nearly as many words of items as it had: of the other's too many, some are drawn to be dropped;
    if they are too few it has all, and none twice. Common units of both, such as the name, are not dropped. A block
    without items of the other goes with its texts. Units that may not be removed stay.

    Args:
        other: The prompt of the other case, with the names of this one. Its units get ids of their own (`OF_ANOTHER`).
    """
    own = [unit for unit in prompt.units if unit.removable]
    others = {block: _as_many_words(other, own, block, generator) for block in dict.fromkeys(u.block for u in own)}
    prompt = remove_units(prompt, [unit.id for unit in own if not others[unit.block]])
    units: list[Unit] = []
    for unit in prompt.units:
        units += others.pop(unit.block, []) if unit.removable else [unit]
    return prompt.model_copy(update={"units": tuple(units)})


def _as_many_words(other: Prompt, own: Sequence[Unit], block: str, generator: random.Random) -> list[Unit]:
    """Return removable units of a block of another prompt, as nearly as many words as those of a prompt's own."""
    units = [unit for unit in other.units if unit.removable and unit.block == block]
    replaced = {unit.id: unit.text for unit in own if unit.block == block}
    alike = {unit.id for unit in units if replaced.get(unit.id) == unit.text}
    may_go = [unit for unit in units if unit.id not in alike]
    sizes = [words_in(unit.text) for unit in may_go]
    target = sum(map(words_in, replaced.values())) - sum(words_in(unit.text) for unit in units if unit.id in alike)
    dropped = set[str]()
    if sum(sizes) > target:
        times = _times(sizes, max(0, target), False, generator, may_be_empty=bool(alike)) or [1] * len(sizes)
        dropped = {unit.id for unit, kept in zip(may_go, times, strict=True) if not kept}
    return [unit.model_copy(update={"id": f"{unit.id}{OF_ANOTHER}"}) for unit in units if unit.id not in dropped]


def words_in(text: str) -> int:
    """Return the number of words of a text."""
    return len(words(text))


def _copies(unit: Unit, times: int) -> Iterable[Unit]:
    return (unit if n == 0 else unit.model_copy(update={"id": f"{unit.id}.copy_{n}"}) for n in range(times))


def _size(unit: Unit, length: BlockLength) -> int:
    return 1 if length.unit == "items" else words_in(unit.text)


def _times(
    sizes: Sequence[int], target: int, exact: bool, generator: random.Random, may_be_empty: bool
) -> list[int] | None:
    """Return how often to repeat every item; `None` if no selection of whole items has the length."""
    total = sum(sizes)
    target = target if exact else _nearest_totals(sizes, target, may_be_empty)[0]
    if target < 0:
        return None
    return (
        _dropping(sizes, total - target, generator) if target <= total else _copying(sizes, target - total, generator)
    )


def _dropping(sizes: Sequence[int], surplus: int, generator: random.Random) -> list[int] | None:
    """Return how often to repeat every item so as to drop exactly this total size, in a random order.

    `None` if no selection of items has that size.
    """
    order = generator.sample(range(len(sizes)), len(sizes))
    # can_make[i]: bit s is set if items order[i:] have a selection of size s
    can_make = [1]
    for item in reversed(order):
        can_make.append(can_make[-1] | can_make[-1] << sizes[item])
    can_make.reverse()
    if not can_make[0] >> surplus & 1:
        return None
    times = [1] * len(sizes)
    for place, item in enumerate(order):
        if surplus >= sizes[item] > 0 and can_make[place + 1] >> (surplus - sizes[item]) & 1:
            times[item], surplus = 0, surplus - sizes[item]
    return times


def _copying(sizes: Sequence[int], missing: int, generator: random.Random) -> list[int] | None:
    """Return how often to repeat every item so as to add exactly this total size; `None` if no copies have it."""
    can_make = _sums_with_repetition(sizes, missing)
    if not can_make[missing]:
        return None
    times = [1] * len(sizes)
    while missing:
        fitting = [i for i, size in enumerate(sizes) if 0 < size <= missing and can_make[missing - size]]
        item = generator.choice(fitting)
        times[item], missing = times[item] + 1, missing - sizes[item]
    return times


def _sums_with_repetition(sizes: Sequence[int], highest: int) -> list[bool]:
    """Return for each number up to `highest` whether items, each any number of times, have that total size."""
    can_make = [True]
    for number in range(1, highest + 1):
        can_make.append(any(0 < size <= number and can_make[number - size] for size in set(sizes)))
    return can_make


def _nearest_totals(sizes: Sequence[int], target: int, may_be_empty: bool) -> list[int]:
    """Return at most two totals of whole items nearest to a target, the nearest first, the smaller first if as near.

    Totals below that of the block are reached by dropping items, totals above it by copying. All items may be dropped
    if others always stay.
    """
    total = sum(sizes)
    if target <= total:
        drops = 1
        for size in sizes:
            drops |= drops << size
        reachable = {total - surplus for surplus in range(total + may_be_empty) if drops >> surplus & 1}
    else:
        longest = target - total + max(sizes)
        reachable = {total + more for more, can in enumerate(_sums_with_repetition(sizes, longest)) if can}
    below = max((total for total in reachable if total <= target), default=None)
    above = min((total for total in reachable if total >= target), default=None)
    nearest = {total for total in (below, above) if total is not None}
    return sorted(nearest, key=lambda total: (abs(total - target), total))
