"""Have a model annotate stored runs: answers are kept and not asked for again, and each batch is stored at once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
class AnnotationRequest:
    """A request to annotate turns `first` to `last` of a run.

    Attributes:
        agent: The agent that it is about; empty for none in particular.
        part: The number of the batch of questions, from 0.
        fields: The fields of the answer: integers, choices and texts.
    """

    instrument: Instrument
    agent: str
    first: int
    last: int
    part: int
    prompt: Prompt
    fields: tuple[ReplyField, ...]


async def answers_to(
    requests: Sequence[AnnotationRequest],
    store: SqlStore,
    run: RunRecord,
    model: str,
    open_model: Callable[[], LanguageModel],
    report: Callable[[str], None] = lambda _: None,
) -> list[Annotation]:
    """Return the annotation by a model that answers each request about a run; the store keeps the answers.

    The model is opened where an answer is missing; `report` receives a line for each batch.

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
        generation_requests = [_request(requests[index], run, opened) for index in batch]
        started = time.perf_counter()
        replies = await opened.generate_batch(generation_requests)
        share = (time.perf_counter() - started) / len(batch)
        made = [
            _annotation(requests[index], model, keys[index][-1], request, reply, share)
            for index, request, (reply,) in zip(batch, generation_requests, replies, strict=True)
        ]
        kept.save(run.run, made)
        answers |= {keys[index]: annotation for index, annotation in zip(batch, made, strict=True)}
    return [answers[key] for key in keys]


def _request(annotation_request: AnnotationRequest, run: RunRecord, model: LanguageModel) -> GenerationRequest:
    generator = keyed_generator(
        run.seed,
        round=annotation_request.first,
        agent=annotation_request.agent,
        node=annotation_request.instrument,
        attempt=annotation_request.part,
    )
    return GenerationRequest(
        prompt=render(annotation_request.prompt, model.tokenizer, shared_units=shared_units(annotation_request.prompt)),
        fields=annotation_request.fields,
        generators=(generator,),
        temperature=_TEMPERATURE,
        top_p=_TOP_P,
    )


def _annotation(
    annotation_request: AnnotationRequest,
    model: str,
    prompt: str,
    request: GenerationRequest,
    reply: Reply,
    seconds: float,
) -> Annotation:
    return Annotation(
        instrument=annotation_request.instrument,
        model=model,
        agent=annotation_request.agent,
        first=annotation_request.first,
        last=annotation_request.last,
        part=annotation_request.part,
        prompt=prompt,
        answers={field.name: _answer(field, reply, model) for field in annotation_request.fields},
        prompt_tokens=len(request.prompt.input_ids),
        reply_tokens=len(reply.tokens),
        seconds=seconds,
    )


def _answer(field: ReplyField, reply: Reply, model: str) -> int | str:
    """Return the answer in a field.

    Raises:
        ModelError: It is missing, or none of those that are possible.
    """
    value = reply.fields.get(field.name)
    is_possible = {
        "choice": value in field.choices,
        "text": isinstance(value, str),
        "integer": type(value) is int and field.minimum <= value <= field.maximum,
    }
    if not is_possible[field.kind]:
        raise ModelError(f"{model} answered {value!r} to {field.name!r}; give the command again, or take another model")
    assert isinstance(value, int | str)
    return value
