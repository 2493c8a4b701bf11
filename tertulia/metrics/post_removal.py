"""Measure the redistribution of attention over the other units when units are removed.

Source: APP §3.2, "Post-removal attention scores", Fig. 5a (share kept, share of the top three), and the composition of
the remaining units by block.
"""

from collections.abc import Collection, Iterable, Mapping

from pydantic import Field

from tertulia.metrics.diversity import mean_record
from tertulia.state.records import Prompt, Record


class PostRemoval(Record):
    """The attention to the removable units that are left in a prompt, or the mean over prompts; shares in [0, 1].

    It may be more than all that there was before: attention leaves the instructions, too.
    """

    prompts: int = Field(description="number of prompts")
    items_left: float | None = Field(description="removable items that are left over removable items")
    kept: float | None = Field(
        description="scores of the removable units that are left, in the pruned prompt, over those of all removable "
        "units in the full prompt"
    )
    top1: float | None = Field(
        description="share of the highest of them in the scores of what is left; None where nothing is"
    )
    top3: float | None = Field(description="share of the highest three of them")
    items_by_block: dict[str, float] = Field(description="share of each block in the removable items that are left")
    attention_by_block: dict[str, float] = Field(description="share of each block in their scores")


def post_removal(
    prompt: Prompt, removed: Collection[str], before: Mapping[str, float], after: Mapping[str, float]
) -> PostRemoval:
    """Return the redistribution of the attention of a prompt.

    Args:
        removed: Ids of the units that were removed.
        before: The attention score of every removable unit in the full prompt.
        after: The attention score of every removable unit that is left, in the pruned prompt.
    """
    removable = [unit for unit in prompt.units if unit.removable]
    left = [unit for unit in removable if unit.id not in removed]
    total, remaining = sum(before[unit.id] for unit in removable), sum(after[unit.id] for unit in left)
    highest = sorted((after[unit.id] for unit in left), reverse=True)
    blocks = dict.fromkeys(unit.block for unit in left)
    return PostRemoval(
        prompts=1,
        items_left=len(left) / len(removable) if removable else None,
        kept=remaining / total if total else None,
        top1=sum(highest[:1]) / remaining if remaining else None,
        top3=sum(highest[:3]) / remaining if remaining else None,
        items_by_block={block: sum(unit.block == block for unit in left) / len(left) for block in blocks},
        attention_by_block={
            block: sum(after[unit.id] for unit in left if unit.block == block) / remaining
            for block in blocks
            if remaining
        },
    )


def mean_post_removal(figures: Iterable[PostRemoval]) -> PostRemoval:
    """Return the mean of each figure over the prompts that have it; a block counts as 0 if nothing of it is left."""
    figures = list(figures)
    return mean_record(
        PostRemoval,
        figures,
        ("prompts",),
        items_by_block=_mean_by_block([found.items_by_block for found in figures]),
        attention_by_block=_mean_by_block([found.attention_by_block for found in figures]),
    )


def _mean_by_block(shares: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean share of each block, over the prompts in which anything is left."""
    found = [share for share in shares if share]
    blocks = dict.fromkeys(block for share in found for block in share)
    return {block: sum(share.get(block, 0.0) for share in found) / len(found) for block in blocks}
