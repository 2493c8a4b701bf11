"""Prune the prompt by λ. Source: APP §3.1, Algorithm 1."""

from langgraph.runtime import Runtime

from tertulia.nodes.shared.placebo import placebo_generator
from tertulia.nodes.shared.removal_factor import removal_factor_of
from tertulia.nodes.shared.removing import all_but_one, chosen_units
from tertulia.prompts.remove import removed_with_blocks
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.records import BLOCK_INITIALS


async def prune(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Choose the units that λ removes; or, where `retain` is set, all removable units but one."""
    parameters = runtime.context.of(state["speaker"]).parameters
    prompt = runtime.context.store.prompt(state["prompt"])
    scores, factor = state["scores"] or {}, removal_factor_of(state, parameters)
    if factor is None and parameters.retain is not None:
        chosen = all_but_one(prompt.units, scores, BLOCK_INITIALS[parameters.retain_block], parameters.retain)
    else:
        generator = placebo_generator(
            runtime.context.prompt_seed, state["turn"], state["speaker"], state.get("part", "")
        )
        chosen = chosen_units(prompt.units, scores, factor or 0.0, parameters, generator)
    return {"removed": list(removed_with_blocks(prompt, chosen))}
