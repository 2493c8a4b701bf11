"""Vary the prompt before it is scored: blocks removed, longer or shorter, of another case; other names.

Source: APP §3, §6; items of another case are ours, a placebo (docs/experiments.md).
"""

from dataclasses import replace

from langgraph.runtime import Runtime

from tertulia.nodes.shared.full_prompt import save_full_prompt
from tertulia.nodes.utterance.retrieve import full_prompt
from tertulia.prompts.cut import whole_items
from tertulia.prompts.renaming import renamed, renaming_of
from tertulia.prompts.vary import OF_ANOTHER, with_items_of, with_lengths, without_blocks
from tertulia.state.case_seed import case_seed_of
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, Prompt


async def vary_prompt(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Store the varied prompt, which then is scored, pruned and answered."""
    context = runtime.context.of(state["speaker"])
    parameters, speaker, turn = context.parameters, state["speaker"], state["turn"]
    prompt = without_blocks(whole_items(context.store.prompt(state["prompt"])), parameters.removed_blocks)
    if (other := _other_prompt(state, context)) is not None:
        # In all turns alike, so that a person's traits do not change while they talk.
        generator = keyed_generator(context.prompt_seed, agent=speaker, node=step_of(state, "items_from"))
        prompt = with_items_of(prompt, other, generator)
    prompt = with_lengths(
        prompt,
        parameters.lengths,
        keyed_generator(context.seed, round=turn, agent=speaker, node=step_of(state, "vary_prompt")),
    )
    prompt = renamed(prompt, renaming_of(context.start.names, parameters.names))
    return {"prompt": save_full_prompt(prompt, context)}


def _other_prompt(state: UtteranceState, context: Context) -> Prompt | None:
    """Return the speaker's prompt as it were in the case in place of this one; `None` if there is none."""
    start = context.start
    if context.parameters.items_from is None or not isinstance(start, Case) or start.items_from is None:
        return None
    other = start.items_from
    parameters = context.parameters.model_copy(update={"case_seed": case_seed_of(other)})
    return full_prompt(state, replace(context, start=other, parameters=parameters), OF_ANOTHER)
