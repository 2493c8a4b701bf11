"""Removing units from a prompt. Source: APP §3.1."""

from collections.abc import Collection
from typing import Any

from tertulia.state.errors import UsageError
from tertulia.state.records import Prompt


def removed_with_blocks(prompt: Prompt, units: Collection[str]) -> tuple[str, ...]:
    """Return the ids of all units that are removed together with these, in prompt order.

    When all items of a block are removed its texts are removed, too: the block disappears.
    """
    removed = set(units)
    remaining = {unit.block for unit in prompt.units if unit.kind == "item" and unit.id not in removed}
    emptied = {unit.block for unit in prompt.units if unit.kind == "item" and unit.id in removed} - remaining
    return tuple(unit.id for unit in prompt.units if unit.id in removed or unit.block in emptied)


def problem_of_removed(prompt: Prompt, units: Any) -> str | None:
    """Return why these are no ids of units of a prompt, in words; `None` if they are."""
    ids = {unit.id for unit in prompt.units}
    example = next((unit.id for unit in prompt.units if unit.removable), "memory.memory_1")
    if not isinstance(units, Collection) or isinstance(units, str | bytes):
        return f"removed is {units!r:.80}; it is a list of ids of units, such as [{example!r}]"
    unknown = [unit for unit in units if not isinstance(unit, str) or unit not in ids]
    if not unknown:
        return None
    example = next((unit.id for unit in prompt.units if unit.text == unknown[0]), example)
    return f"removed has {unknown[0]!r:.80}, which is no id of a unit of the prompt; ids are such as {example!r}"


def remove_units(prompt: Prompt, units: Collection[str]) -> Prompt:
    """Return the prompt without these units, and without the texts of blocks that lose their last item.

    Raises:
        UsageError: The prompt has no unit of one of these ids.
    """
    if problem := problem_of_removed(prompt, units):
        raise UsageError(problem)
    removed = set(removed_with_blocks(prompt, units))
    if not removed:
        return prompt
    return prompt.model_copy(update={"units": tuple(unit for unit in prompt.units if unit.id not in removed)})
