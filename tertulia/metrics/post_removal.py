"""Measure the redistribution of attention over the other units when units are removed.

Source: APP §3.2, "Post-removal attention scores", Fig. 5a (share kept, share of the top three).
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
    kept: float | None = Field(
        description="scores of the removable units that are left, in the pruned prompt, over those of all removable "
        "units in the full prompt"
    )
    top1: float | None = Field(
        description="share of the highest of them in the scores of what is left; None where nothing is"
    )
    top3: float | None = Field(description="share of the highest three of them")


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
    return PostRemoval(
        prompts=1,
        kept=remaining / total if total else None,
        top1=sum(highest[:1]) / remaining if remaining else None,
        top3=sum(highest[:3]) / remaining if remaining else None,
    )


def mean_post_removal(figures: Iterable[PostRemoval]) -> PostRemoval:
    """Return the mean of each figure over the prompts that have it."""
    return mean_record(PostRemoval, figures, ("prompts",))
