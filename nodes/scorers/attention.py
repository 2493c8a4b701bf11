"""Score every prompt unit by the attention that responses to the full prompt pay to it. Source: APP §3.1, Eq. 1.

The responses of a model that shows no attention are scored by a surrogate: a local model that reads prompt and
response in its own tokens, as if it had written them.
"""

from langgraph.runtime import Runtime

from nodes.generate import utterance_request
from prompts.assemble import reply_prefix_of
from prompts.render import render, retokenized
from state.context import Context
from state.graph_state import UtteranceState
from state.language_model import LanguageModel, ScoringOptions
from state.randomness import keyed_generator
from state.records import Prompt, Reply


async def score_attention(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Generate a few responses to the full prompt and average the attention score of every unit over them."""
    speaker, round = state["speaker"], state["round"]
    context = runtime.context.of(speaker)
    parameters = context.parameters
    prompt = context.store.prompt(state["prompt"])
    generators = tuple(
        keyed_generator(context.seed, round=round, agent=speaker, node="score_attention", row=row)
        for row in range(parameters.scoring_responses)
    )
    request = utterance_request(prompt, generators, context.model.tokenizer, parameters)
    options = ScoringOptions(reducer=parameters.reducer, rows=parameters.scored_rows)
    model = context.asked_by(speaker, round, "score")
    if not model.traits.text_only:
        _, scores = await model.generate_scored(request, options)
        return {"scores": scores, "scored_by": model.id}
    surrogate = context.of(speaker, "score").asked_by(speaker, round, "score")
    scores = await scores_by_reading(surrogate, prompt, await model.generate(request), options)
    return {"scores": scores, "scored_by": f"{surrogate.id} (surrogate of {model.id})"}


async def scores_by_reading(
    reader: LanguageModel, prompt: Prompt, replies: list[Reply], options: ScoringOptions
) -> dict[str, float]:
    """Return the attention score of every unit, averaged over replies that another model has written.

    Args:
        reader: The model that reads them, and shows its attention.
        prompt: The prompt.
        replies: The replies to it.
        options: How attention is reduced.
    """
    totals = dict.fromkeys((unit.id for unit in prompt.units), 0.0)
    for reply in replies:
        reply_prefix = reply_prefix_of(prompt)
        read = retokenized(reader.tokenizer, reply, reply_prefix)
        if options.rows == "utterance_only":  # the tokens before the utterance count as the end of the prompt
            first, past_last = read.text_tokens
            reply_prefix += reader.tokenizer.decode(read.tokens[:first])
            response = read.tokens[first:past_last]
        else:
            response = read.tokens
        (scores,) = await reader.score(render(prompt, reader.tokenizer, reply_prefix), [response], options)
        totals = {unit: total + scores[unit] / len(replies) for unit, total in totals.items()}
    return totals
