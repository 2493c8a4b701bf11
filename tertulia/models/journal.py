"""The journal of model calls: a call that is stored is returned from the store instead of being made again.

A call has a key (run, round, agent, node, attempt), and is the same question if prompt and parameters are the same.
`Journal` looks calls up and stores them; `JournalledModel` is a model that makes its calls through it. This module
knows no torch and no graph.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol, cast

from tertulia.prompts.placeholders import form_of, says_only_placeholders
from tertulia.state.budget import UNMETERED, Meter
from tertulia.state.cognition import Call, CallKind
from tertulia.state.errors import ModelError
from tertulia.state.language_model import (
    GenerationRequest,
    LanguageModel,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
)
from tertulia.state.model_failures import model_failures
from tertulia.state.questions import (
    Answer,
    Generation,
    Likelihood,
    NextOption,
    Question,
    Sampling,
    ScoredGeneration,
    TokenFigures,
    TokenReading,
)
from tertulia.state.records import Reply
from tertulia.state.store import Store


class Journal:
    """The calls of one run, each with the number of its attempt.

    A call that a run in `shared_with` made with the same key, for the same question, is taken from there.
    """

    shared_with: Sequence[str] = ()
    meter: Meter = UNMETERED

    def __init__(self, run: str, store: Store) -> None:
        self._run, self._store = run, store
        self._attempts: Counter[tuple[int, str, str]] = Counter()

    def clear(self) -> None:
        """Reset the attempt counters: a turn starts over, and its steps make their calls again."""
        self._attempts.clear()

    def open(
        self,
        model: LanguageModel,
        asker: tuple[int, str, str],
        kind: CallKind,
        prompt: RenderedPrompt,
        parameters: dict[str, Any],
    ) -> Call:
        """Return the next call of a step (round, agent, node): as stored, or without replies if it is still to be made.

        The parameters are the arguments besides the prompt, as plain JSON.
        """
        assert prompt.source is not None
        round, agent, node = asker
        attempt = self._attempts[asker]
        self._attempts[asker] += 1
        call = Call(
            round=round,
            agent=agent,
            node=node,
            attempt=attempt,
            kind=kind,
            model=model.id,
            prompt=self._store.save_prompt(prompt.source),
            parameters=parameters,
        )
        for run in (self._run, *self.shared_with):
            known = self._store.call(run, round, agent, node, attempt)
            if known is not None and known.is_same_question(call):
                if run != self._run:
                    self._store.save_calls(self._run, [known])
                return known
        return call

    def content_of(self, prompt: RenderedPrompt) -> str:
        """Store another prompt that a call reads, and return its content hash."""
        assert prompt.source is not None
        return self._store.save_prompt(prompt.source)

    def save(self, calls: Sequence[Call]) -> None:
        """Store calls that were made in one transaction, and count them."""
        self._store.save_calls(self._run, calls)
        self.meter.note(calls)


def _scoring_parameters(options: ScoringOptions) -> dict[str, Any]:
    """Return the scoring parameters that a call records; without layers if all count, as before there was a choice."""
    recorded = asdict(options)
    layers = recorded.pop("layers")
    return recorded if layers is None else recorded | {"layers": list(layers)}


def _sampling_parameters(sampling: Sampling) -> dict[str, Any]:
    """Return the sampling parameters that a call records; without min-p if it is off, as before there was one."""
    return {name: value for name, value in asdict(sampling).items() if name != "min_p" or value}


def is_completed(call: Call) -> bool:
    """Return whether a call has its replies or values."""
    return bool(call.replies or call.values)


def generation_parameters(request: GenerationRequest) -> dict[str, Any]:
    """Return the parameters of a request besides its prompt, as JSON."""
    defaults = {"minimum": 0, "maximum": 10, "choices": (), "is_bounded": True, "is_optional": False}
    weighs_context = request.without_context is not None or request.context_strength
    fields = [
        {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(field).items()
            if defaults.get(name) != value
        }
        for field in request.fields
    ]
    return {
        "fields": fields,
        "replies": len(request.generators),
        "temperature": request.temperature,
        "top_p": request.top_p,
        **({"min_p": request.min_p} if request.min_p else {}),
        "no_repeat_ngram": request.no_repeat_ngram,
        **({"dry": request.dry} if request.dry else {}),
        **({"actions": request.actions} if request.actions != "keep" else {}),
        **({"context_strength": request.context_strength} if weighs_context else {}),
        **({"begun": request.prompt.reply_prefix} if request.prompt.reply_prefix else {}),
    }


def with_answer(call: Call, question: Question, answer: Answer, seconds: float) -> Call:
    """Return a call with the answer to its question.

    Raises:
        ModelError: The replies can't be used (`with_replies`).
    """
    match question, answer:
        case Generation(request), list(replies):
            return with_replies(call, request, cast(list[Reply], replies), seconds)
        case ScoredGeneration(request), (list(replies), dict(scores)):
            return with_replies(call, request, replies, seconds).model_copy(update={"values": (scores,)})
        case Likelihood(prompt, reply), float(value):
            return _with_values(call, (value,), len(prompt.input_ids) + len(reply.tokens), seconds)
        case NextOption(prompt), list(values):
            return _with_values(call, tuple(values), len(prompt.input_ids), seconds)
        case TokenReading(prompt, response, other), TokenFigures() as figures:
            prompts = [prompt] if other is None else [prompt, other]
            read = sum(len(each.input_ids) + len(response) for each in prompts)
            return _with_values(call, _by_token(figures), read, seconds)
    raise TypeError(f"{type(answer).__name__} answers no {type(question).__name__}")


def _by_token(figures: TokenFigures) -> tuple[dict[str, float], ...]:
    """Return the figures of each token by their names, as a call holds them."""
    values = {name: of_tokens for name, of_tokens in vars(figures).items() if of_tokens}
    return tuple(dict(zip(values, of_token, strict=True)) for of_token in zip(*values.values(), strict=True))


def _with_values(call: Call, values: tuple[Any, ...], prompt_tokens: int, seconds: float) -> Call:
    figures = {"values": values, "prompt_tokens": prompt_tokens, "reply_tokens": 0, "seconds": seconds}
    return call.model_copy(update=figures)


def with_replies(call: Call, request: GenerationRequest, replies: Sequence[Reply], seconds: float) -> Call:
    """Return a call with its replies.

    Raises:
        ModelError: Some speech is empty, all of it is the form's, or a number is out of bounds. The call is not stored,
            so that the model is asked again when the run is resumed.
    """
    form = form_of(request.prompt.source)
    for reply in replies if call.kind == "generate" else ():
        may_say_nothing = all(field.is_optional for field in request.fields if field.kind == "speech")
        if not may_say_nothing and says_only_placeholders(request.fields, reply.fields, form):
            raise ModelError(
                f"{call.model} repeated the words of the form ({_first_speech(request, reply)!r}) for "
                f"{call.agent or call.node}, and said nothing; resume to ask again, or fork with another model or seed"
            )
        for field in request.fields:
            if not field.is_optional and (problem := _problem(field, reply.fields.get(field.name))):
                raise ModelError(
                    f"{call.model} returned {problem} for {call.agent or call.node}; take another model, or seed"
                )
    usages = [reply.usage for reply in replies if reply.usage is not None]
    return call.model_copy(
        update={
            "replies": tuple(replies),
            "prompt_tokens": sum(prompt for prompt, _ in usages) if usages else len(request.prompt.input_ids),
            "reply_tokens": sum(reply for _, reply in usages)
            if usages
            else sum(len(reply.tokens) for reply in replies),
            "seconds": seconds,
        }
    )


def _first_speech(request: GenerationRequest, reply: Reply) -> str:
    return next(str(reply.fields[field.name]) for field in request.fields if field.kind == "speech")


def _problem(field: ReplyField, value: object) -> str | None:
    """Return in words why the value of a field can't be used; `None` if it can."""
    if field.kind == "speech" and not (isinstance(value, str) and value.strip()):
        return "an empty reply"
    is_within = type(value) is int and (not field.is_bounded or field.minimum <= value <= field.maximum)
    if field.kind == "integer" and not is_within:
        return f"no number from {field.minimum} to {field.maximum} as {field.name!r}"
    return None


class Batches(Protocol):
    """The part of the broker that `JournalledModel` uses."""

    async def answer(self, model: LanguageModel, seat: tuple[str, str], call: Call, question: Question) -> Call:
        """Return the call with its answer, made in a batch with those of other seats and runs, and stored."""


class JournalledModel:
    """A model that makes its calls as those of one step of an agent. Implements `state.language_model.LanguageModel`.

    Its id, traits and tokenizer are those of the model itself.
    """

    def __init__(
        self, model: LanguageModel, journal: Journal, batches: Batches, asker: tuple[int, str, str], part: str
    ) -> None:
        self._model, self._journal, self._batches = model, journal, batches
        self._asker, self._seat = asker, (asker[1], part)
        self.id, self.traits, self.tokenizer = model.id, model.traits, model.tokenizer

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request."""
        if self.traits.text_only and len(request.generators) > 1:
            single = [replace(request, generators=(generator,)) for generator in request.generators]
            return [reply for (reply,) in await self.generate_batch(single)]
        call = self._open("generate", request.prompt, generation_parameters(request))
        return list((await self._answered(call, Generation(request))).replies)

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts of one step."""
        calls = [self._open("generate", request.prompt, generation_parameters(request)) for request in requests]
        if self.traits.text_only:
            results = await asyncio.gather(
                *map(self._answered, calls, map(Generation, requests)), return_exceptions=True
            )
            for result in results:  # when all have come back, and are stored
                if isinstance(result, BaseException):
                    raise result
            return [list(result.replies) for result in results if isinstance(result, Call)]
        indices = [index for index, call in enumerate(calls) if not is_completed(call)]
        async with self._journal.meter.admitted(len(indices)):
            started = time.perf_counter()
            with model_failures(self._model):
                replies = await self._model.generate_batch([requests[index] for index in indices]) if indices else []
            share = (time.perf_counter() - started) / max(1, len(indices))
            for index, rows in zip(indices, replies, strict=True):
                calls[index] = with_replies(calls[index], requests[index], rows, share)
            self._journal.save([calls[index] for index in indices])
        return [list(call.replies) for call in calls]

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Return replies, and the attention score of every unit."""
        parameters = generation_parameters(request) | _scoring_parameters(options)
        call = self._open("generate_scored", request.prompt, parameters)
        call = await self._answered(call, ScoredGeneration(request, options))
        (scores,) = call.values
        assert isinstance(scores, dict)
        return list(call.replies), scores

    async def score(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        options: ScoringOptions,
        spans: Sequence[tuple[int, int]] | None = None,
    ) -> list[dict[str, float]]:
        """Return, for each response written elsewhere, the attention score of every unit."""
        parameters = {"responses": [list(response) for response in responses]} | _scoring_parameters(options)
        parameters |= {} if spans is None else {"spans": [list(span) for span in spans]}
        call = self._open("score", prompt, parameters)
        if not is_completed(call):
            async with self._journal.meter.admitted(1):
                started = time.perf_counter()
                with model_failures(self._model):
                    scores = await self._model.score(prompt, responses, options, spans)
                tokens = len(prompt.input_ids) + sum(map(len, responses))
                call = _with_values(call, tuple(scores), tokens, time.perf_counter() - started)
                self._journal.save([call])
        return [scores for scores in call.values if isinstance(scores, dict)]

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Return the mean log-probability of the reply's first text after the prompt, in nats per token."""
        call = self._open("log_likelihood", prompt, {"reply": reply.text})
        (value,) = (await self._answered(call, Likelihood(prompt, reply))).values
        assert isinstance(value, float)
        return value

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Return how likely each option is to come next, of these options alone."""
        call = self._open("probabilities", prompt, {"options": list(options)})
        values = (await self._answered(call, NextOption(prompt, tuple(options)))).values
        return [value for value in values if isinstance(value, float)]

    async def token_figures(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        other: RenderedPrompt | None = None,
        *,
        sampling: Sampling | None = None,
    ) -> list[TokenFigures]:
        """Return the figures of every token of each response; the model itself has to be a `NextTokenModel`."""
        beside: dict[str, Any] = {} if other is None else {"other": self._journal.content_of(other)}
        beside |= {} if sampling is None else _sampling_parameters(sampling)
        calls = [self._open("token_figures", prompt, {"response": list(response), **beside}) for response in responses]
        readings = [TokenReading(prompt, tuple(response), other, sampling) for response in responses]
        found = []
        for call, reading in zip(calls, readings, strict=True):
            values = (await self._answered(call, reading)).values if reading.response else ()
            of_tokens = [value for value in values if isinstance(value, dict)]
            names = of_tokens[0] if of_tokens else ("log_likelihoods", "entropies")
            found.append(TokenFigures(**{name: tuple(value[name] for value in of_tokens) for name in names}))
        return found

    async def _answered(self, call: Call, question: Question) -> Call:
        return call if is_completed(call) else await self._batches.answer(self._model, self._seat, call, question)

    def _open(self, kind: CallKind, prompt: RenderedPrompt, parameters: dict[str, Any]) -> Call:
        return self._journal.open(self._model, self._asker, kind, prompt, parameters)
