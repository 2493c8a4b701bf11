"""Score every prompt unit by the attention that responses to the full prompt pay to it. Source: APP §3.1, Eq. 1.

The responses of a model that shows no attention are scored by a surrogate: a local model that reads prompt and
response in its own tokens, as if it had written them.
"""

import random
from collections.abc import Mapping

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.generate import utterance_request
from tertulia.nodes.utterance.retrieve import last_record
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.render import render, retokenized
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.language_model import LanguageModel, ScoringOptions, Tokenizer
from tertulia.state.parameters import Parameters
from tertulia.state.questions import ScoredGeneration
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, Reply


async def score_attention(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Generate a few responses to the full prompt and average the attention score of every unit over them."""
    speaker, turn = state["speaker"], state["turn"]
    context = runtime.context.of(speaker)
    parameters = context.parameters
    prompt = context.store.prompt(state["prompt"])
    generators = tuple(
        keyed_generator(context.prompt_seed, round=turn, agent=speaker, node=step_of(state, "score_attention"), row=row)
        for row in range(parameters.scoring_responses)
    )
    asked = scoring_request(prompt, generators, context.model.tokenizer, parameters)
    step = step_of(state, "score")
    model = context.asked_by(speaker, turn, step)
    if not model.traits.text_only:
        _, scores = await model.generate_scored(asked.request, asked.options)
        scored_by = model.id
    else:
        surrogate = context.of(speaker, "score").asked_by(speaker, turn, step)
        scores = await scores_by_reading(surrogate, prompt, await model.generate(asked.request), asked.options)
        scored_by = f"{surrogate.id} (surrogate of {model.id})"
    carries = parameters.score_decay > 0 and not state.get("part")
    before = scores_before(context, speaker, turn, prompt) if carries else {}
    if not before:
        return {"scores": scores, "scored_by": scored_by}
    carried = carried_scores(scores, before, parameters.score_decay)
    return {"scores": carried, "scored_by": f"{scored_by}, carried with weight {parameters.score_decay:g}"}


def scoring_request(
    prompt: Prompt, generators: tuple[random.Random, ...], tokenizer: Tokenizer, parameters: Parameters
) -> ScoredGeneration:
    """Return the request for responses to the full prompt, one per generator, and how their attention is reduced."""
    tokens = parameters.scoring_tokens or parameters.utterance_tokens
    shorter = parameters.model_copy(update={"max_utterance_tokens": min(tokens, parameters.utterance_tokens)})
    options = ScoringOptions(reducer=parameters.reducer, rows=parameters.scored_rows)
    return ScoredGeneration(utterance_request(prompt, generators, tokenizer, shorter), options)


def scores_before(context: Context, speaker: str, turn: int, prompt: Prompt) -> dict[str, float]:
    """Return the recorded scores of the speaker's utterance before a turn, for the units that this prompt still has."""
    record = last_record(context, speaker, turn)
    if record is None or record.prompt is None or record.scores is None:
        return {}
    texts = {unit.id: unit.text for unit in context.store.prompt(record.prompt).units}
    scores = record.scores
    return {u.id: scores[u.id] for u in prompt.units if u.id in scores and texts.get(u.id) == u.text}


def carried_scores(scores: Mapping[str, float], before: Mapping[str, float], decay: float) -> dict[str, float]:
    """Return scores averaged with those of the turn before, which are carried in turn: older ones decay.

    What they were is scaled to the same sum over the units that both have: (a + decay · r · b) / (1 + decay). A unit
    without a score before keeps its own.

    Args:
        scores: a, of this turn's responses.
        before: b, as recorded for the turn before.
        decay: Weight of b, in [0, 1].
    """
    total = sum(before.values())
    ratio = sum(scores[unit] for unit in before) / total if total else 0.0
    return {
        unit: (score + decay * ratio * before[unit]) / (1 + decay) if ratio and unit in before else score
        for unit, score in scores.items()
    }


async def scores_by_reading(
    reader: LanguageModel, prompt: Prompt, replies: list[Reply], options: ScoringOptions
) -> dict[str, float]:
    """Return the attention of a reader to every unit, averaged over replies that another model has written."""
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
