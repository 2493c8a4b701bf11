"""Requests for speech: the fields of a reply, the decoding, and the context that is amplified or weighed."""

import random
from collections.abc import Sequence
from dataclasses import replace

from tertulia.prompts.assemble import end_question, reply_prefix_of
from tertulia.prompts.cut import whole_items
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render
from tertulia.prompts.several import asking_for_candidates, candidate_keys, candidates_prefix, keys_beside
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, Tokenizer
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt

#: The lines before an utterance from which it repeats even less than from the rest of the dialogue.
_RECENT_LINES = 4

#: The most characters of a probability as a model writes it, and of a random string.
PROBABILITY_LETTERS, STRING_LETTERS = 8, 32


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
    request, strength = utterance_request(prompt, generators, tokenizer, parameters, full), parameters.context_strength
    if not strength:
        return replace(request, is_best_of=(parameters.drafts or 1) > 1)
    bare = prompt_without_context(prompt)
    if bare is None:
        return replace(request, context_strength=strength) if parameters.matched_decoding else request
    shown = render(bare, tokenizer, reply_prefix_of(bare))
    return replace(request, without_context=shown, context_strength=strength)


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
    return replace(
        GenerationRequest.of(parameters, shown, fields, generators),
        no_repeat_from=not_repeated(decoded_as, tokenizer),
        no_repeat_ngram=parameters.no_repeat_ngram or 0,
        dry=parameters.dry,
        recent_lines=_recent_lines(prompt, tokenizer),
    )


def prompt_without_context(prompt: Prompt) -> Prompt | None:
    """Return the prompt without the context of drafts: all items but the dialogue's lines; `None` if it has none."""
    items = [unit.id for unit in prompt.units if unit.kind == "item" and unit.block != "current_dialogue"]
    return remove_units(prompt, items) if items else None


def not_repeated(prompt: Prompt, tokenizer: Tokenizer) -> tuple[tuple[int, ...], ...]:
    """Return texts that speech must not repeat, as tokens: this dialogue and earlier ones, instructions, the
    example."""
    dialogues = ("current_dialogue", "previous_dialogues")
    lines = (unit.text for unit in whole_items(prompt).units if unit.kind == "text" or unit.block in dialogues)
    return tuple(tuple(tokenizer.encode(line)) for line in lines)


def _recent_lines(prompt: Prompt, tokenizer: Tokenizer) -> tuple[tuple[int, ...], ...]:
    lines = [unit.text for unit in prompt.units if unit.block == "current_dialogue" and unit.kind == "item"]
    return tuple(tuple(tokenizer.encode(line)) for line in lines[-_RECENT_LINES:])
