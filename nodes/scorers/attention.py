"""Score every prompt unit by the attention that responses to the full prompt pay to it. Source: APP §3.1, Eq. 1.

The responses of a model that shows no attention are scored by a surrogate: a local model that reads prompt and
response in its own tokens, as if it had written them.
"""

import json
import random
from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.requests import utterance_request
from tertulia.nodes.utterance.retrieve import last_record
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.render import render, retokenized
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.language_model import GenerationRequest, LanguageModel, ScoringOptions, Tokenizer
from tertulia.state.parameters import Parameters
from tertulia.state.questions import ScoredGeneration
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, Reply
from tertulia.state.scored_layers import layers_to_score, scorer_name


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
    step = step_of(state, "score")
    model = context.asked_by(speaker, turn, step)
    asked = scoring_request(prompt, generators, model, parameters)
    if not model.traits.text_only:
        _, scores = await model.generate_scored(asked.request, asked.options)
        scored_by = scorer_name(model, asked.options)
    else:
        surrogate = context.of(speaker, "score").asked_by(speaker, turn, step)
        replies = await model.generate(asked.request)
        options = options_of_reading(surrogate, prompt, replies, parameters)
        scores = await scores_by_reading(surrogate, prompt, replies, options)
        scored_by = f"{scorer_name(surrogate, options)} (surrogate of {model.id})"
    carries = parameters.score_decay > 0 and not state.get("part")
    before = scores_before(context, speaker, turn, prompt) if carries else {}
    if not before:
        return {"scores": scores, "scored_by": scored_by}
    carried = carried_scores(scores, before, parameters.score_decay)
    return {"scores": carried, "scored_by": f"{scored_by}, carried with weight {parameters.score_decay:g}"}


def scoring_request(
    prompt: Prompt, generators: tuple[random.Random, ...], model: LanguageModel, parameters: Parameters
) -> ScoredGeneration:
    """Return the request for responses to the full prompt, one per generator, and how their attention is reduced.

    Raises:
        AttentionUnavailableError: No layer of the model sees the whole prompt.
        SettingError: It has no layer of a number in `scored_layers`.
    """
    if parameters.reducer == "learned" and not model.traits.rehearsed:
        model.traits.require_head_weights(model.id)
    tokens = parameters.scoring_tokens or parameters.utterance_tokens
    shorter = parameters.model_copy(update={"max_utterance_tokens": min(tokens, parameters.utterance_tokens)})
    request = utterance_request(prompt, generators, model.tokenizer, shorter)
    longest = len(request.prompt.input_ids) + _longest_reply(request, model.tokenizer)
    return ScoredGeneration(request, _options(model, longest, parameters))


def options_of_reading(
    reader: LanguageModel, prompt: Prompt, replies: Sequence[Reply], parameters: Parameters
) -> ScoringOptions:
    """Return how the attention of a reader to a prompt is reduced, while it reads another model's text."""
    read = render(prompt, reader.tokenizer, reply_prefix_of(prompt))
    longest = max((len(reader.tokenizer.encode(reply.text)) for reply in replies), default=0)
    return _options(reader, len(read.input_ids) + longest, parameters)


def _options(model: LanguageModel, tokens: int, parameters: Parameters) -> ScoringOptions:
    layers = layers_to_score(parameters.scored_layers, model, tokens)
    return ScoringOptions(reducer=parameters.reducer or "sum-mean", layers=layers)


def _longest_reply(request: GenerationRequest, tokenizer: Tokenizer) -> int:
    """Return how many tokens a reply may have, or a few more."""
    keys = len(tokenizer.encode(json.dumps({field.name: "" for field in request.fields}, ensure_ascii=False)))
    return keys + sum(field.max_tokens if field.kind == "speech" else 4 for field in request.fields) + 4


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

    The earlier scores are scaled to the same sum over the units that both have: (a + decay · r · b) / (1 + decay). A
    unit without a score before keeps its own.

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
    reply_prefix = reply_prefix_of(prompt)
    read = [retokenized(reader.tokenizer, reply, reply_prefix) for reply in replies]
    rendered = render(prompt, reader.tokenizer, reply_prefix)
    found = await reader.score(rendered, [reply.tokens for reply in read], options)
    return {unit.id: sum(scores[unit.id] for scores in found) / len(found) for unit in prompt.units}
