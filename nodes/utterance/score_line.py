"""Score the units that the chosen line leaned on: attention over its words, behind the prompt that it answered.

λ removes units by scores over possible responses, before a line is drawn (`nodes/scorers/`). A reason for the line is
read from the line itself: other responses lean on other things, and a removed unit is no reason.
"""

from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.candidates import candidate_at
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render, retokenized
from tertulia.prompts.units import nameable_units
from tertulia.state.context import Context
from tertulia.state.errors import AttentionUnavailableError
from tertulia.state.graph_state import UtteranceState
from tertulia.state.language_model import LanguageModel, ScoringOptions
from tertulia.state.line_scores import rounded, scored_line_by
from tertulia.state.model_failures import model_failures
from tertulia.state.records import Prompt, Reply
from tertulia.state.scored_layers import layers_to_score


async def score_line(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Score each unit that can be named of the prompt that was answered by the attention of the line that is said.

    Nothing is scored if no such unit is left, or no attention is shown: by the model, or a surrogate of it. The call is
    not journalled: it draws nothing, so it gives the same again.
    """
    context = runtime.context.of(state["speaker"])
    writer = reader = context.model
    if writer.traits.text_only:
        if context.parameters.surrogate is None:
            return {"line_scores": None, "line_scored_by": None}
        reader = context.of(state["speaker"], "score").model
    prompt = remove_units(context.store.prompt(state["prompt"]), state["removed"])
    reply = candidate_at(context, state["turn"], state["chosen"], state.get("part", "")).reply
    with model_failures(reader):
        scores = await scores_of_line(reader, prompt, reply, is_writer=reader is writer)
    if scores is None:
        return {"line_scores": None, "line_scored_by": None}
    return {
        "line_scores": dict(scores),
        "line_scored_by": scored_line_by(reader, None if reader is writer else writer.id),
    }


async def scores_of_line(
    reader: LanguageModel, prompt: Prompt, reply: Reply, *, is_writer: bool
) -> Mapping[str, float] | None:
    """Return the score of each unit that can be named by the attention of a line's words; `None` if there are none.

    With learned weights of heads a score is the likelihood that the line is estimated to lose without the unit, in nats
    a token (`state/head_weights.py`); else it is the attention beyond that of a reply to anything, mean over heads and
    layers.

    Args:
        prompt: The prompt that the line answered.
        is_writer: Whether the reader wrote the reply, whose tokens are its own then.
    """
    prefix = reply_prefix_of(prompt)
    read = reply if is_writer else retokenized(reader.tokenizer, reply, prefix)
    scores = await scores_of_words(reader, prompt, prefix, read.tokens, [read.text_tokens])
    return None if scores is None else {unit: max(0.0, score) for unit, score in scores.items()}


async def scores_of_words(
    reader: LanguageModel, prompt: Prompt, prefix: str, tokens: Sequence[int], words: Sequence[tuple[int, int]]
) -> Mapping[str, float] | None:
    """Return the score of each unit that can be named by the attention of some words of a reply (see above).

    By learned weights a unit has less than 0 that scores below the floor, so that all are in an order.

    Args:
        prefix: The beginning of the reply that ended the prompt.
        tokens: The reply, in the reader's tokens.
        words: `[first, past_last]` of its tokens that are read; scores are the mean over them all.
    """
    units, words = [unit.id for unit in nameable_units(prompt)], [span for span in words if span[0] < span[1]]
    if not units or not words:
        return None
    rendered, past_last = render(prompt, reader.tokenizer, prefix), max(last for _, last in words)
    weights, layers = reader.traits.head_weights, None
    if weights is None:
        try:
            layers = layers_to_score("auto", reader, len(rendered.input_ids) + past_last)
        except AttentionUnavailableError:  # it would tell the places of units, and λ may not need scores here
            return None
    options = ScoringOptions("beyond-neutral" if weights is None else "learned", layers=layers)
    by_span = await reader.score(rendered, [tokens[:last] for _, last in words], options, words)
    count = sum(last - first for first, last in words)
    shares = [(last - first) / count for first, last in words]
    scores = {unit: sum(share * of[unit] for share, of in zip(shares, by_span, strict=True)) for unit in units}
    if weights is not None:
        return {unit: rounded(scores[unit] - weights.floor) for unit in units}
    summed = len(layers or reader.traits.layer_windows or (None,))
    return {unit: rounded(scores[unit] / summed) for unit in units}
