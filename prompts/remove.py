"""Removing units from a prompt. Source: APP §3.1."""

from collections.abc import Collection

from state.records import Prompt


def removed_with_blocks(prompt: Prompt, units: Collection[str]) -> tuple[str, ...]:
    """Return the ids of all units that go when these go, in prompt order.

    When all items of a block are removed its texts go too: the block is removed entirely.
    """
    gone = set(units)
    left = {unit.block for unit in prompt.units if unit.kind == "item" and unit.id not in gone}
    emptied = {unit.block for unit in prompt.units if unit.id in gone} - left
    return tuple(unit.id for unit in prompt.units if unit.id in gone or unit.block in emptied)


def remove_units(prompt: Prompt, units: Collection[str]) -> Prompt:
    """Return the prompt without these units, and without the texts of blocks that lose their last item."""
    gone = set(removed_with_blocks(prompt, units))
    return prompt.model_copy(update={"units": tuple(unit for unit in prompt.units if unit.id not in gone)})
