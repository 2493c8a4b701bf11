"""Storing the full prompt of an utterance, which then is scored, pruned and answered."""

from tertulia.prompts.cut import cut_long_items
from tertulia.state.context import Context
from tertulia.state.records import Prompt


def save_full_prompt(prompt: Prompt, context: Context) -> str:
    """Store a prompt, with its long items cut unless the run has them whole, and return its content hash.

    Args:
        context: The speaker's.
    """
    return context.store.save_prompt(cut_long_items(prompt) if context.parameters.cut_long_units else prompt)
