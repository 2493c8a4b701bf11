"""Draw candidates, each the best of some drafts."""

from collections.abc import Sequence
from dataclasses import replace

from tertulia.nodes.utterance.candidates import (
    as_asked,
    names_in_prompts,
    read_candidate,
    save_candidate,
    utterance_of,
    written_reply,
)
from tertulia.nodes.utterance.monitor import Monitor
from tertulia.nodes.utterance.requests import prompt_without_context, sequence_request, spoken_request
from tertulia.prompts.placeholders import form_of
from tertulia.prompts.remove import remove_units
from tertulia.prompts.several import STRING_SEED, candidate_keys, keys_beside, read_string
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.language_model import GenerationRequest
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Origin, Prompt, Reply
from tertulia.state.text import one_line


async def draw_candidates(state: UtteranceState, context: Context, attempts: range, remark: str | None = None) -> None:
    """Draw candidates for these attempts and store them: the best of as many drafts, or of more, best first.

    Args:
        remark: Why they are drawn, if that must be said.
    """
    drafts = drafts_wanted(state, context)
    more = [(attempts.start, row) for row in range(1, drafts - len(attempts) + 1)]
    replies = await draw_replies(state, context, [*((attempt, 0) for attempt in attempts), *more])
    monitor = Monitor.of(state, context)
    for attempt, reply in zip(attempts, best_first(replies, monitor), strict=False):
        origin: Origin = "backup" if attempt else "drawn"
        save_candidate(state, context, read_candidate(attempt, reply, monitor.speaker, origin, remark=remark))


def drafts_wanted(state: UtteranceState, context: Context) -> int:
    """Return of how many drafts the best is taken: as many whatever λ removed.

    Without `matched_decoding` it is one if the prompt has nothing of the context by which drafts are weighed. Behind a
    random string, drafts are not weighed.
    """
    parameters = context.parameters
    if parameters.generation == "string_seed":
        return 1
    if parameters.context_strength and not parameters.matched_decoding:
        return 1 if prompt_without_context(answered(state, context)) is None else parameters.drafts or 1
    return parameters.drafts or 1


async def draw_replies(state: UtteranceState, context: Context, draws: Sequence[tuple[int, int]]) -> list[Reply]:
    """Draw replies to the pruned prompt, by attempt and row, in one batch."""
    step = step_of(state, "generate")
    generators = tuple(
        keyed_generator(context.seed, round=state["turn"], agent=state["speaker"], node=step, attempt=attempt, row=row)
        for attempt, row in draws
    )
    prompt, full = answered(state, context), context.store.prompt(state["prompt"])
    model, tokenizer = context.asked_by(state["speaker"], state["turn"], step), context.model.tokenizer
    people = names_in_prompts(context)
    if context.parameters.generation == "string_seed":
        request = sequence_request(prompt, generators, tokenizer, context.parameters, full)
        replies = await model.generate(replace(request, people=people))
        return [_behind_string(reply, request, prompt, context) for reply in replies]
    request = spoken_request(prompt, generators, tokenizer, context.parameters, full)
    return await model.generate(replace(request, people=people))


def _behind_string(reply: Reply, request: GenerationRequest, prompt: Prompt, context: Context) -> Reply:
    """Return the reply that would say the same without a random string, with the string among its fields.

    Source: Misaki and Akiba 2025 (string seed of thought).
    """
    parameters = context.parameters
    ((text_key, end_key),) = candidate_keys(1, parameters.language, parameters.wording, "string_seed", prompt.speaker)
    (beside,) = keys_beside(1, parameters.language, parameters.wording, "string_seed")
    placeholder = form_of(request.prompt.source)[beside]
    string, text = read_string(str(reply.fields.get(beside, "")), str(reply.fields[text_key]), placeholder)
    written = written_reply(prompt, one_line(text), reply.fields.get(end_key), context)
    written = as_asked(written, reply, one_line(text))
    return written.model_copy(update={"fields": {**written.fields, STRING_SEED: string}})


def best_first(drafts: Sequence[Reply], monitor: Monitor) -> list[Reply]:
    """Return drafts with the fewest faults first; of equal ones, that with the most information.

    Without a known difference, they stay in their order.
    """
    known = all(reply.information is not None for reply in drafts)
    if len(drafts) == 1 or (monitor.before is None and not known):
        return list(drafts)
    return sorted(
        drafts,
        key=lambda reply: (
            monitor.weight(utterance_of(reply, monitor.speaker)),
            -(reply.information or 0) if known else 0,
        ),
    )


def answered(state: UtteranceState, context: Context) -> Prompt:
    """Return the prompt that is answered: the full one without the removed units."""
    return remove_units(context.store.prompt(state["prompt"]), state["removed"])
