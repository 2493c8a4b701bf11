"""How a model is asked for an answer in fields, by an agent or about one."""

from collections.abc import Sequence
from dataclasses import replace

from tertulia.prompts.cognition import examples_of, shared_units
from tertulia.prompts.render import render
from tertulia.state.context import Context
from tertulia.state.language_model import GenerationRequest, ReplyField
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, Reply
from tertulia.state.text import one_line

#: The number of consecutive tokens that an answer does not repeat from the example or itself, with models that tend to.
_NOT_REPEATED = 3


async def ask_model(
    context: Context,
    round: int,
    agent: str,
    node: str,
    prompt: Prompt,
    fields: Sequence[ReplyField],
    attempt: int = 0,
    part: str = "",
    no_repeat_from: Sequence[str] = (),
) -> Reply:
    """Ask the model through the broker and return its reply.

    Args:
        agent: The asking agent; empty for the whole conversation.
        prompt: The prompt; the answers that it shows as examples are not repeated.
        attempt: The number of the attempt within the round, for the draws.
        part: The mechanism that asks, if any.
    """
    parameters, tokenizer = context.parameters, context.model.tokenizer
    generator = keyed_generator(context.seed, round=round, agent=agent, node=node, attempt=attempt)
    shown = render(prompt, tokenizer, shared_units=shared_units(prompt))
    request = replace(
        GenerationRequest.of(parameters, shown, fields, [generator]),
        no_repeat_from=tuple(tuple(tokenizer.encode(text)) for text in (*examples_of(prompt), *no_repeat_from)),
        no_repeat_ngram=min(parameters.no_repeat_ngram or 0, _NOT_REPEATED),
    )
    (reply,) = await context.asked_by(agent, round, node, part).generate(request)
    return reply


def text_of(reply: Reply, field: str) -> str:
    """Return a text field of a reply on one line."""
    return one_line(reply.fields.get(field, ""))
