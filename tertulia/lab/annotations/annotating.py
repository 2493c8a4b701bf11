"""Have a model annotate stored runs: answers are kept and not asked for again, and each batch is stored at once."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from tertulia.prompts.annotation import shared_units
from tertulia.prompts.render import render
from tertulia.state.annotation import Annotation, Instrument
from tertulia.state.errors import ModelError
from tertulia.state.language_model import GenerationRequest, LanguageModel, ReplyField
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, Reply, RunRecord
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

#: Questions that are put to a model at once.
BATCH = 10

#: Greedy choice: a nucleus of a single token.
_TEMPERATURE, _TOP_P = 1.0, 1e-6


@dataclass(frozen=True)
class Drawing:
    """How an answer is drawn: by this seed, as the speakers of a run draw their lines.

    An option is drawn at temperature 1 of all its probabilities, if the model tells them.
    """

    seed: int
    temperature: float
    top_p: float


@dataclass(frozen=True)
class AnnotationRequest:
    """A request to annotate turns `first` to `last` of a run.

    Attributes:
        agent: The agent that it is about; empty for none in particular.
        part: The number of the batch of questions, from 0.
        fields: The fields of the answer: integers, choices and texts.
        drawing: How the answer is drawn; `None`: the likeliest is taken, and the run's seed decides between equals.
        noted: Facts stored with the answer.
    """

    instrument: Instrument
    agent: str
    first: int
    last: int
    part: int
    prompt: Prompt
    fields: tuple[ReplyField, ...]
    drawing: Drawing | None = None
    noted: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Answered:
    """The values of a reply by field, with the probabilities of its options if the model tells them."""

    values: Mapping[str, int | str]
    prompt_tokens: int
    reply_tokens: int
    probabilities: Mapping[str, float] = field(default_factory=dict)


async def answers_to(
    requests: Sequence[AnnotationRequest],
    store: SqlStore,
    run: RunRecord,
    model: str,
    open_model: Callable[[], LanguageModel],
    report: Callable[[str], None] = lambda _: None,
) -> list[Annotation]:
    """Return the annotation by a model that answers each request about a run; the store keeps the answers.

    The model is opened for a missing answer; `report` receives a line for each batch.

    Raises:
        ContextWindowError: A part of the conversation does not fit the model.
        ModelError: The model failed, or left out an answer; earlier answers are kept.
    """
    kept = Annotations(store.file)
    answers = {(r.instrument, r.agent, r.first, r.part, r.prompt): r for r in kept.of(run.run) if r.model == model}
    keys = [(q.instrument, q.agent, q.first, q.part, store.save_prompt(q.prompt)) for q in requests]
    missing = [index for index, key in enumerate(keys) if key not in answers]
    opened = open_model() if missing else None
    for begin in range(0, len(missing), BATCH):
        assert opened is not None
        batch = missing[begin : begin + BATCH]
        first, last = requests[batch[0]].first, requests[batch[-1]].last
        report(f"asking {model} about turns {first} to {last} ({begin} of {len(missing)} questions answered)")
        started = time.perf_counter()
        answered = await _answered([requests[index] for index in batch], run, model, opened)
        share = (time.perf_counter() - started) / len(batch)
        made = [
            _annotation(requests[index], model, keys[index][-1], answer, share)
            for index, answer in zip(batch, answered, strict=True)
        ]
        kept.save(run.run, made)
        answers |= {keys[index]: annotation for index, annotation in zip(batch, made, strict=True)}
    return [answers[key] for key in keys]


async def _answered(
    requests: Sequence[AnnotationRequest], run: RunRecord, name: str, model: LanguageModel
) -> list[_Answered]:
    """Return an answer to each request: of a choice that is drawn by its probabilities, of the others by a reply."""
    weighed = [
        request.drawing is not None and request.fields[0].kind != "text" and not model.traits.text_only
        for request in requests
    ]
    written = [_request(each, run, model) for each, is_weighed in zip(requests, weighed, strict=True) if not is_weighed]
    replies = iter(zip(written, await model.generate_batch(written) if written else [], strict=True))
    answered = []
    for request, is_weighed in zip(requests, weighed, strict=True):
        if is_weighed:
            answered.append(await _drawn(request, run, model))
            continue
        asked, (reply,) = next(replies)
        values = {each.name: _answer(each, reply, name) for each in request.fields}
        answered.append(_Answered(values, len(asked.prompt.input_ids), len(reply.tokens)))
    return answered


async def _drawn(request: AnnotationRequest, run: RunRecord, model: LanguageModel) -> _Answered:
    """Return an option, or a number, that is drawn by how probable the model holds each for the reply."""
    (asked,) = request.fields
    is_number = asked.kind == "integer"
    options = list(map(str, range(asked.minimum, asked.maximum + 1))) if is_number else list(asked.choices)
    prefix = json.dumps({asked.name: ""}, ensure_ascii=False)[: -len('""}')] + ("" if is_number else '"')
    prompt = render(request.prompt, model.tokenizer, prefix, shared_units=shared_units(request.prompt))
    endings = [f"{option}}}" if is_number else f"{json.dumps(option, ensure_ascii=False)[1:]}" for option in options]
    found = await model.probabilities(prompt, endings)
    (chosen,) = _generator(request, run).choices(options, weights=found)
    value = int(chosen) if is_number else chosen
    probabilities = dict(zip(options, found, strict=True))
    return _Answered({asked.name: value}, len(prompt.input_ids), 0, probabilities)


def _generator(request: AnnotationRequest, run: RunRecord) -> Random:
    return keyed_generator(
        run.seed if request.drawing is None else request.drawing.seed,
        round=request.first,
        agent=request.agent,
        node=request.instrument,
        attempt=request.part,
    )


def _request(annotation_request: AnnotationRequest, run: RunRecord, model: LanguageModel) -> GenerationRequest:
    drawing = annotation_request.drawing
    return GenerationRequest(
        prompt=render(annotation_request.prompt, model.tokenizer, shared_units=shared_units(annotation_request.prompt)),
        fields=annotation_request.fields,
        generators=(_generator(annotation_request, run),),
        temperature=_TEMPERATURE if drawing is None else drawing.temperature,
        top_p=_TOP_P if drawing is None else drawing.top_p,
    )


def _annotation(asked: AnnotationRequest, model: str, prompt: str, answer: _Answered, seconds: float) -> Annotation:
    return Annotation(
        instrument=asked.instrument,
        model=model,
        agent=asked.agent,
        first=asked.first,
        last=asked.last,
        part=asked.part,
        prompt=prompt,
        answers={**asked.noted, **answer.values},
        probabilities=dict(answer.probabilities),
        prompt_tokens=answer.prompt_tokens,
        reply_tokens=answer.reply_tokens,
        seconds=seconds,
    )


def _answer(asked: ReplyField, reply: Reply, model: str) -> int | str:
    """Return the answer in a field.

    Raises:
        ModelError: It is missing, or none of those that are possible.
    """
    value = reply.fields.get(asked.name)
    is_possible = {
        "choice": value in asked.choices,
        "text": isinstance(value, str),
        "integer": type(value) is int and asked.minimum <= value <= asked.maximum,
    }
    if not is_possible[asked.kind]:
        raise ModelError(f"{model} answered {value!r} to {asked.name!r}; give the command again, or take another model")
    assert isinstance(value, int | str)
    return value
