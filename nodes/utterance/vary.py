"""Vary the prompt before it is scored: blocks removed, blocks longer or shorter, other names. Source: APP §3, §6."""

from langgraph.runtime import Runtime

from tertulia.prompts.renaming import renamed, renaming_of
from tertulia.prompts.vary import with_lengths, without_blocks
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.randomness import keyed_generator


async def vary_prompt(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Store the varied prompt, which then is scored, pruned and answered."""
    context = runtime.context.of(state["speaker"])
    parameters, speaker, turn = context.parameters, state["speaker"], state["turn"]
    prompt = without_blocks(context.store.prompt(state["prompt"]), parameters.removed_blocks)
    prompt = with_lengths(
        prompt,
        parameters.lengths,
        keyed_generator(context.seed, round=turn, agent=speaker, node=step_of(state, "vary_prompt")),
    )
    prompt = renamed(prompt, renaming_of(context.start.names, parameters.names))
    return {"prompt": context.store.save_prompt(prompt)}
