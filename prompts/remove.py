"""Removing units from a prompt. Source: APP §3.1."""

from collections.abc import Collection

from tertulia.state.records import Prompt


def removed_with_blocks(prompt: Prompt, units: Collection[str]) -> tuple[str, ...]:
    """Return the ids of all units that are removed together with these, in prompt order.

    When all items of a block are removed its texts are removed, too: the block disappears.
    """
    removed = set(units)
    remaining = {unit.block for unit in prompt.units if unit.kind == "item" and unit.id not in removed}
    emptied = {unit.block for unit in prompt.units if unit.kind == "item" and unit.id in removed} - remaining
    return tuple(unit.id for unit in prompt.units if unit.id in removed or unit.block in emptied)


def remove_units(prompt: Prompt, units: Collection[str]) -> Prompt:
    """Return the prompt without these units, and without the texts of blocks that lose their last item."""
    removed = set(removed_with_blocks(prompt, units))
    if not removed:
        return prompt
    return prompt.model_copy(update={"units": tuple(unit for unit in prompt.units if unit.id not in removed)})
