"""Prune the prompt by λ. Source: APP §3.1, Algorithm 1.

`prune` is the node, `prune_units` the algorithm; its alternatives lie in `nodes/utterance/walks/`, a file each.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from langgraph.runtime import Runtime

from tertulia.nodes.shared.removal_factor import removal_factor_of
from tertulia.nodes.utterance.walks.calm import calm
from tertulia.nodes.utterance.walks.first_overshoot import first_overshoot
from tertulia.nodes.utterance.walks.nearest import nearest
from tertulia.nodes.utterance.walks.placebo import as_many_words, placebo_generator
from tertulia.nodes.utterance.walks.retain_one import all_but_one
from tertulia.nodes.utterance.walks.visiting import Order, exact
from tertulia.prompts.remove import removed_with_blocks
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.parameters import Parameters, Walk
from tertulia.state.records import BLOCK_INITIALS, Unit


async def prune(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Choose the units that λ removes; or, if `retain` is set, all removable units but one."""
    parameters = runtime.context.of(state["speaker"]).parameters
    prompt = runtime.context.store.prompt(state["prompt"])
    scores, removal_factor = state["scores"] or {}, removal_factor_of(state, parameters)
    if removal_factor is None and parameters.retain is not None:
        chosen = all_but_one(prompt.units, scores, BLOCK_INITIALS[parameters.retain_block], parameters.retain)
    else:
        generator = placebo_generator(
            runtime.context.prompt_seed, state["turn"], state["speaker"], state.get("part", "")
        )
        chosen = chosen_units(prompt.units, scores, removal_factor or 0.0, parameters, generator)
    return {"removed": list(removed_with_blocks(prompt, chosen))}


def prune_units(
    units: Sequence[Unit], scores: Mapping[str, float], removal_factor: float, order: Order = "descending"
) -> list[str]:
    """Return the ids of the units that Algorithm 1 removes, in the order in which it takes them.

    Ties are visited in prompt order. Sums are exact in the decimals of the scores. Line 9, the removal itself with the
    blocks that lose their last item, is `prompts/remove.py`.

    Args:
        units: U, the units of the full prompt, in prompt order.
        scores: a_u by unit id, at least of the removable ones, each ≥ 0.
        removal_factor: λ in [0, 1]: the share of the removable units' total score to remove. At 0 none goes, not even
            one of score 0.
        order: Descending as printed, or ascending (APP §3.2).

    Raises:
        ValueError: λ is outside [0, 1].
        KeyError: A removable unit has no score.
    """
    if not 0 <= removal_factor <= 1:
        raise ValueError(f"removal_factor={removal_factor} is outside [0, 1]")
    if removal_factor == 0:
        return []
    a = {unit.id: exact(scores[unit.id]) for unit in units if unit.removable}
    removable = sorted(a, key=lambda u: a[u], reverse=order == "descending")  # line 1
    target, current_sum, removed = exact(removal_factor) * sum(a.values()), Fraction(0), []  # line 2
    for u in removable:  # line 3
        if current_sum + a[u] <= target:  # line 4: a unit that would overshoot is passed over
            current_sum += a[u]  # line 5
            removed.append(u)  # line 6
        if current_sum >= target:  # lines 7 and 8
            break
    return removed


#: By the value of `removal_walk`: Algorithm 1, and its variants at a unit that would overshoot.
WALKS: Mapping[Walk, Callable[[Sequence[Unit], Mapping[str, float], float, Order], list[str]]] = {
    "paper": prune_units,
    "first_overshoot": first_overshoot,
    "nearest": nearest,
    "calm": calm,
}


def chosen_units(
    units: Sequence[Unit],
    scores: Mapping[str, float],
    removal_factor: float,
    parameters: Parameters,
    generator: random.Random,
) -> list[str]:
    """Return the ids of the units that λ removes by the order and the walk of a run; arguments as of `prune_units`.

    Args:
        generator: The placebo's draws (`placebo_generator`).
    """
    walk, order = WALKS[parameters.removal_walk], parameters.removal_order
    if order == "placebo":
        return as_many_words(units, walk(units, scores, removal_factor, "descending"), generator)
    return walk(units, scores, removal_factor, order)
