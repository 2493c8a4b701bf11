"""Generate the utterance from the pruned prompt. Source: APP §3.1; several in one reply: §5."""

import random
from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.monitor import Monitor
from tertulia.prompts.assemble import end_question, reply_object, reply_prefix_of
from tertulia.prompts.cut import whole_items
from tertulia.prompts.placeholders import form_of
from tertulia.prompts.remove import remove_units
from tertulia.prompts.renaming import renaming_of
from tertulia.prompts.render import render, retokenized
from tertulia.prompts.several import (
    STRING_SEED,
    asking_for_candidates,
    candidate_keys,
    candidates_prefix,
    drawing_order,
    keys_beside,
    read_replies,
    read_string,
)
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, Tokenizer
from tertulia.state.parameters import DraftsBy, Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Candidate, Origin, Prompt, Reply
from tertulia.state.text import one_line

#: The blocks of a prompt that have pictures.
_PICTURES = frozenset({"picture", "album"})

#: The lines before an utterance from which it repeats even less than from the rest of the dialogue.
_RECENT_LINES = 4

#: The most characters of a probability as a model writes it, and of a random string.
PROBABILITY_LETTERS, STRING_LETTERS = 8, 32


async def generate(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Draw the first candidate, and its backups with it if the run wants them in one batch, or in one reply."""
    context = runtime.context.of(state["speaker"])
    parameters = context.parameters
    if parameters.written_together > 1:
        await draw_together(state, context)
    else:
        may_roll_back = parameters.revision_is_wanted(bool(state["removed"])) and parameters.revision != "rewrite"
        backups = parameters.max_rollbacks if parameters.backups == "with_utterance" and may_roll_back else 0
        await draw_candidates(state, context, range(backups + 1))
    return {}


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
        save_candidate(state, context, attempt, reply, monitor.speaker, origin, remark=remark)


def drafts_wanted(state: UtteranceState, context: Context) -> int:
    """Return of how many drafts the best is taken: as many whatever λ removed, but for a line that opens.

    Without `matched_decoding` it is one if the prompt has nothing of the context by which drafts are weighed. Behind a
    random string, drafts are not weighed.
    """
    parameters, weighed = context.parameters, what_is_weighed(context.parameters)
    if parameters.generation == "string_seed":
        return 1
    if prompt_without(_answered(state, context), weighed) is not None:
        return parameters.drafts or 1
    if weighed == "context":
        return parameters.drafts or 1 if parameters.matched_decoding else 1
    return parameters.drafts or 1


async def draw_replies(state: UtteranceState, context: Context, draws: Sequence[tuple[int, int]]) -> list[Reply]:
    """Draw replies to the pruned prompt, by attempt and row, in one batch."""
    step = step_of(state, "generate")
    generators = tuple(
        keyed_generator(context.seed, round=state["turn"], agent=state["speaker"], node=step, attempt=attempt, row=row)
        for attempt, row in draws
    )
    prompt, full = _answered(state, context), context.store.prompt(state["prompt"])
    model, tokenizer = context.asked_by(state["speaker"], state["turn"], step), context.model.tokenizer
    if context.parameters.generation == "string_seed":
        request = sequence_request(prompt, generators, tokenizer, context.parameters, full)
        return [_behind_string(reply, request, prompt, context) for reply in await model.generate(request)]
    return await model.generate(spoken_request(prompt, generators, tokenizer, context.parameters, full))


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


def _answered(state: UtteranceState, context: Context) -> Prompt:
    """Return the prompt that is answered: the full one without the removed units."""
    return remove_units(context.store.prompt(state["prompt"]), state["removed"])


async def draw_together(state: UtteranceState, context: Context) -> None:
    """Draw several candidates in one reply and store them in the order in which they are drawn: first, then backups.

    Those of a sequence (APP §5) have equal chances; those of verbalised sampling (Zhang et al. 2025) the stated ones.
    Equal ones are one candidate, whatever their case and punctuation, and one that repeats the form is none. Each is
    stored as the reply that it would be by itself; so it is judged, and says whether it ends the conversation. If
    nothing can be read, one is drawn plainly.
    """
    parameters, number, way = context.parameters, context.parameters.written_together, context.parameters.generation
    prompt, full = _answered(state, context), context.store.prompt(state["prompt"])
    speaker, turn, step = state["speaker"], state["turn"], step_of(state, "generate")
    generator = keyed_generator(context.seed, round=turn, agent=speaker, node=step)
    request = sequence_request(prompt, (generator,), context.model.tokenizer, parameters, full)
    (reply,) = await context.asked_by(speaker, turn, step).generate(request)
    keys = candidate_keys(number, parameters.language, parameters.wording, way)
    beside = keys_beside(number, parameters.language, parameters.wording, way)
    replies = read_replies(reply.fields, keys, beside, prompt.speaker, form_of(request.prompt.source))
    if not replies:
        await draw_candidates(state, context, range(1), "no reply could be read: drawn plainly, in a call of its own")
        return
    drawing = keyed_generator(context.seed, round=turn, agent=speaker, node=step_of(state, "draw_candidate"))
    order, remarks = drawing.sample(range(len(replies)), len(replies)), [""]
    if way == "verbalized":
        stated = [written.probability for written in replies]
        order, remark = drawing_order(stated, parameters.verbalized_below, drawing)
        remarks = [
            f"{number} replies were asked for, {len(replies)} can be told apart" if len(replies) < number else "",
            remark or "",
        ]
    for attempt, index in enumerate(order):
        written = replies[index]
        whole = written_reply(prompt, written.text, written.ended, context)
        save_candidate(
            *(state, context, attempt, whole, prompt.speaker, "backup" if attempt else "drawn"),
            probability=written.probability,
            remark=("; ".join(filter(None, remarks)) or None) if attempt == 0 else None,
        )


def utterance_request(
    prompt: Prompt,
    generators: tuple[random.Random, ...],
    tokenizer: Tokenizer,
    parameters: Parameters,
    full: Prompt | None = None,
) -> GenerationRequest:
    """Return the request for the utterance, and whether it ends the conversation. Source: APP Table 9.

    Args:
        prompt: The prompt that is answered.
        full: The prompt before anything was removed from it; `None`: the same.
    """
    speaker = prompt.speaker
    fields = [ReplyField(speaker, "speech", max_tokens=parameters.utterance_tokens)]
    if parameters.ending == "reply":
        fields.append(ReplyField(end_question(speaker, parameters.language), "boolean"))
    shown = render(prompt, tokenizer, reply_prefix_of(prompt))
    return _request(prompt, full, shown, fields, generators, tokenizer, parameters)


def spoken_request(
    prompt: Prompt,
    generators: tuple[random.Random, ...],
    tokenizer: Tokenizer,
    parameters: Parameters,
    full: Prompt | None = None,
) -> GenerationRequest:
    """Return the request for the utterance, in which the context is amplified, and each reply weighed."""
    request = utterance_request(prompt, generators, tokenizer, parameters, full)
    if not (parameters.context_strength or (parameters.drafts or 1) > 1):
        return request
    request, strength = replace(request, weighs=what_is_weighed(parameters)), parameters.context_strength or 0.0
    bare = prompt_without(prompt, request.weighs)
    if bare is None:
        return replace(request, context_strength=strength) if parameters.matched_decoding else request
    shown = render(bare, tokenizer, reply_prefix_of(bare))
    return replace(request, without_context=shown, context_strength=strength)


def what_is_weighed(parameters: Parameters) -> DraftsBy:
    """Return the measure of the best draft; if the context is amplified, its effect on the draft."""
    return "context" if parameters.context_strength else parameters.drafts_by or "context"


def prompt_without(prompt: Prompt, weighed: DraftsBy) -> Prompt | None:
    """Return the prompt without the context of drafts: the lines of the dialogue, or all items but these.

    `None` if it has none of them.
    """
    items = [
        unit.id
        for unit in prompt.units
        if unit.kind == "item" and (unit.block == "current_dialogue") is (weighed == "answer")
    ]
    return remove_units(prompt, items) if items else None


def opens(prompt: Prompt) -> bool:
    """Return whether a line opens a conversation: nothing was said before it, and no picture is there to speak of."""
    return prompt_without(prompt, "answer") is None and _PICTURES.isdisjoint(unit.block for unit in prompt.units)


def sequence_request(
    prompt: Prompt,
    generators: tuple[random.Random, ...],
    tokenizer: Tokenizer,
    parameters: Parameters,
    full: Prompt | None = None,
) -> GenerationRequest:
    """Return the request for several candidates in one reply, or for one behind a random string, each with its ending.

    A remote model may leave out the fields beside the line, and any of several lines. Source: APP §5.
    """
    asks_ending, way = parameters.ending == "reply", parameters.generation
    number, language, wording = parameters.written_together, parameters.language, parameters.wording
    asking = asking_for_candidates(prompt, number, asks_ending, language, wording, way, parameters.verbalized_below)
    is_optional = way == "verbalized"
    most = STRING_LETTERS if way == "string_seed" else PROBABILITY_LETTERS
    fields: list[ReplyField] = []
    keys = candidate_keys(number, language, wording, way, prompt.speaker)
    for (text_key, end_key), beside in zip(keys, keys_beside(number, language, wording, way), strict=True):
        texts = [ReplyField(text_key, "speech", max_tokens=parameters.utterance_tokens, is_optional=is_optional)]
        words = [ReplyField(beside, "word", max_tokens=most, is_optional=True)] if beside else []
        fields += [*words, *texts] if way == "string_seed" else [*texts, *words]
        if asks_ending:
            fields.append(ReplyField(end_key, "boolean", is_optional=is_optional))
    shown = render(asking, tokenizer, candidates_prefix(asking, language, wording, way))
    return _request(prompt, full, shown, fields, generators, tokenizer, parameters)


def _request(
    prompt: Prompt,
    full: Prompt | None,
    shown: RenderedPrompt,
    fields: Sequence[ReplyField],
    generators: tuple[random.Random, ...],
    tokenizer: Tokenizer,
    parameters: Parameters,
) -> GenerationRequest:
    """Return the request for speech that answers a rendered prompt, and repeats nothing of an utterance's prompt."""
    decoded_as = full if full is not None and parameters.matched_decoding else prompt
    return GenerationRequest(
        prompt=shown,
        fields=tuple(fields),
        generators=generators,
        temperature=temperature_of(decoded_as, parameters),
        top_p=parameters.top_p,
        min_p=parameters.min_p,
        no_repeat_from=not_repeated(decoded_as, tokenizer),
        no_repeat_ngram=parameters.no_repeat_ngram or 0,
        dry=parameters.dry,
        recent_lines=_recent_lines(prompt, tokenizer),
        language=parameters.language,
    )


def temperature_of(prompt: Prompt, parameters: Parameters) -> float:
    """Return the temperature at which replies to a prompt are drawn."""
    opening = parameters.opening_temperature
    return opening if opening and opens(prompt) else parameters.sampling_temperature


def not_repeated(prompt: Prompt, tokenizer: Tokenizer) -> tuple[tuple[int, ...], ...]:
    """Return texts that speech must not repeat, as tokens: this dialogue and earlier ones, instructions, the
    example."""
    dialogues = ("current_dialogue", "previous_dialogues")
    lines = (unit.text for unit in whole_items(prompt).units if unit.kind == "text" or unit.block in dialogues)
    return tuple(tuple(tokenizer.encode(line)) for line in lines)


def _recent_lines(prompt: Prompt, tokenizer: Tokenizer) -> tuple[tuple[int, ...], ...]:
    lines = [unit.text for unit in prompt.units if unit.block == "current_dialogue" and unit.kind == "item"]
    return tuple(tuple(tokenizer.encode(line)) for line in lines[-_RECENT_LINES:])


def utterance_of(reply: Reply, speaker: str) -> str:
    """Return the utterance of a reply on one line."""
    return one_line(reply.fields[speaker])


def written_reply(prompt: Prompt, text: str, ended: object, context: Context) -> Reply:
    """Return the reply that would hold this utterance; `ended` is `None` if replies do not say."""
    ending = None if ended is None else ended is True
    fields: dict[str, str | bool | int] = {prompt.speaker: text}
    if ending is not None:
        fields[end_question(prompt.speaker, context.parameters.language)] = ending
    written = reply_object(prompt.speaker, text, ending, context.parameters.language)
    whole = Reply(text=written, tokens=(), text_tokens=(0, 0), fields=fields)
    return retokenized(context.model.tokenizer, whole, reply_prefix_of(prompt))


def save_candidate(
    state: UtteranceState,
    context: Context,
    attempt: int,
    reply: Reply,
    speaker: str,
    origin: Origin,
    faults: Sequence[str] | None = None,
    *,
    probability: float | None = None,
    remark: str | None = None,
) -> None:
    """Store a candidate with its text in original names.

    Args:
        speaker: The name of the speaker in the prompt.
        faults: Its faults; `None`: they were not looked for.
        probability: The one that the model stated when it wrote it among others.
        remark: How the answer was read, if it was not as asked for.
    """
    candidate = read_candidate(attempt, reply, speaker, origin)
    renaming = renaming_of(context.start.names, context.parameters.names)
    string = reply.fields.get(STRING_SEED)
    update = {
        "text": renaming.put_back(candidate.text),
        "faults": None if faults is None else tuple(faults),
        "probability": probability,
        "string_seed": None if string is None else str(string),
        "remark": remark or ("no random string was written" if string == "" else None),
    }
    candidate = candidate.model_copy(update=update)
    context.store.save_candidate(context.run, state["turn"], candidate, state.get("part", ""))


def read_candidate(attempt: int, reply: Reply, speaker: str, origin: Origin = "drawn") -> Candidate:
    """Return the candidate that a reply holds, in the names of its prompt."""
    return Candidate(attempt=attempt, text=utterance_of(reply, speaker), reply=reply, origin=origin)


def candidate_at(context: Context, turn: int, attempt: int, part: str = "") -> Candidate:
    """Return the candidate of a turn, or of a part of it, that has this number."""
    candidates = context.store.candidates(context.run, turn, part)
    return next(candidate for candidate in candidates if candidate.attempt == attempt)
