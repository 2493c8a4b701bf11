"""A model whose calls are kept: what was asked before is not asked again.

A call is known by its key (run, round, agent, node, attempt), and is the same question if prompt and parameters are the
same. This module knows no torch and no graph.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from state.cognition import Call, CallKind
from state.errors import ModelError
from state.language_model import (
    GenerationRequest,
    LanguageModel,
    ModelTraits,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
    Tokenizer,
)
from state.records import Reply
from state.store import Store


class Journal:
    """The calls of one run, each with the number of its attempt."""

    def __init__(self, run: str, store: Store) -> None:
        self._run, self._store = run, store
        self._made: Counter[tuple[int, str, str]] = Counter()

    def clear(self) -> None:
        """Forget which calls were made: a turn starts over, and its steps ask again."""
        self._made.clear()

    def open(
        self,
        model: LanguageModel,
        asker: tuple[int, str, str],
        kind: CallKind,
        prompt: RenderedPrompt,
        parameters: dict[str, Any],
    ) -> Call:
        """Return the next call of a step: as it was stored, or as it is to be made.

        Args:
            model: The model.
            asker: Round, agent and node.
            kind: What is asked.
            prompt: The prompt, rendered from units.
            parameters: What else is asked for; plain JSON.
        """
        assert prompt.source is not None
        round, agent, node = asker
        attempt = self._made[asker]
        self._made[asker] += 1
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
        known = self._store.call(self._run, round, agent, node, attempt)
        return known if known is not None and known.is_same_question(call) else call

    def save(self, calls: Sequence[Call]) -> None:
        """Store calls that were made, all of them or none."""
        self._store.save_calls(self._run, calls)


def is_made(call: Call) -> bool:
    """Whether a call has come back."""
    return bool(call.replies or call.values)


def generation_parameters(request: GenerationRequest) -> dict[str, Any]:
    """Return what a request asks for besides its prompt, as JSON."""
    defaults = {"minimum": 0, "maximum": 10, "choices": ()}
    fields = [
        {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(field).items()
            if defaults.get(name) != value
        }
        for field in request.fields
    ]
    return {
        "fields": fields,
        "replies": len(request.generators),
        "temperature": request.temperature,
        "top_p": request.top_p,
        "no_repeat_ngram": request.no_repeat_ngram,
        **({"begun": request.prompt.reply_prefix} if request.prompt.reply_prefix else {}),
    }


def written(call: Call, request: GenerationRequest, replies: Sequence[Reply], seconds: float) -> Call:
    """Return a call with its replies.

    Raises:
        ModelError: In one, nothing is said, or a number is not what was asked for. It is not kept, so that the model is
            asked again when the run goes on.
    """
    for reply in replies if call.kind == "generate" else ():
        for field in request.fields:
            if problem := _problem(field, reply.fields.get(field.name)):
                raise ModelError(
                    f"{call.model} returned {problem} for {call.agent or call.node}; take another model, or seed"
                )
    counted = [reply.usage for reply in replies if reply.usage is not None]
    return call.model_copy(
        update={
            "replies": tuple(replies),
            "prompt_tokens": sum(read for read, _ in counted) if counted else len(request.prompt.input_ids),
            "reply_tokens": sum(n for _, n in counted) if counted else sum(len(reply.tokens) for reply in replies),
            "seconds": seconds,
        }
    )


def _problem(field: ReplyField, value: object) -> str | None:
    """Return what can't be worked with in the value that a reply has for a field."""
    if field.kind == "speech" and not (isinstance(value, str) and value.strip()):
        return "an empty reply"
    if field.kind == "integer" and not (type(value) is int and field.minimum <= value <= field.maximum):
        return f"no number from {field.minimum} to {field.maximum} as {field.name!r}"
    return None


class Batches(Protocol):
    """Where calls to generate meet."""

    async def generate(
        self, model: LanguageModel, seat: tuple[str, str], call: Call, request: GenerationRequest
    ) -> Call:
        """Return the call as it was made, in a batch with those of the others."""


class JournalledModel:
    """A model as one step of an agent asks it. Implements `state.language_model.LanguageModel`."""

    def __init__(
        self, model: LanguageModel, journal: Journal, batches: Batches, asker: tuple[int, str, str], part: str
    ) -> None:
        self._model, self._journal, self._batches = model, journal, batches
        self._asker, self._seat = asker, (asker[1], part)

    @property
    def id(self) -> str:
        """The id of the model itself."""
        return self._model.id

    @property
    def traits(self) -> ModelTraits:
        """What it is good at."""
        return self._model.traits

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""
        return self._model.tokenizer

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request."""
        if self.traits.text_only and len(request.generators) > 1:
            apart = [replace(request, generators=(one,)) for one in request.generators]
            return [reply for (reply,) in await self.generate_batch(apart)]
        call = self._open("generate", request.prompt, generation_parameters(request))
        return list((await self._generated(call, request)).replies)

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts of one step."""
        calls = [self._open("generate", one.prompt, generation_parameters(one)) for one in requests]
        if self.traits.text_only:
            made = await asyncio.gather(*map(self._generated, calls, requests), return_exceptions=True)
            for one in made:  # when all have come back, and are stored
                if isinstance(one, BaseException):
                    raise one
            return [list(one.replies) for one in made if isinstance(one, Call)]
        places = [at for at, call in enumerate(calls) if not is_made(call)]
        started = time.perf_counter()
        replies = await self._model.generate_batch([requests[at] for at in places]) if places else []
        share = (time.perf_counter() - started) / max(1, len(places))
        for at, rows in zip(places, replies, strict=True):
            calls[at] = written(calls[at], requests[at], rows, share)
        self._journal.save([calls[at] for at in places])
        return [list(call.replies) for call in calls]

    async def _generated(self, call: Call, request: GenerationRequest) -> Call:
        return call if is_made(call) else await self._batches.generate(self._model, self._seat, call, request)

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Return replies, and the attention score of every unit."""

        async def make(call: Call) -> Call:
            replies, scores = await self._model.generate_scored(request, options)
            return written(call, request, replies, 0.0).model_copy(update={"values": (scores,)})

        call = await self._once(
            "generate_scored", request.prompt, generation_parameters(request) | asdict(options), make
        )
        (scores,) = call.values
        assert isinstance(scores, dict)
        return list(call.replies), scores

    async def score(
        self, prompt: RenderedPrompt, responses: Sequence[Sequence[int]], options: ScoringOptions
    ) -> list[dict[str, float]]:
        """Return, for each response written elsewhere, the attention score of every unit."""

        async def make(call: Call) -> Call:
            scores = await self._model.score(prompt, responses, options)
            read = len(prompt.input_ids) + sum(map(len, responses))
            return call.model_copy(update={"values": tuple(scores), "prompt_tokens": read, "reply_tokens": 0})

        asked = {"responses": [list(one) for one in responses]}
        call = await self._once("score", prompt, asked | asdict(options), make)
        return [scores for scores in call.values if isinstance(scores, dict)]

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Return the mean log-probability of the reply's first text after the prompt, in nats per token."""

        async def make(call: Call) -> Call:
            value = await self._model.log_likelihood(prompt, reply)
            read = len(prompt.input_ids) + len(reply.tokens)
            return call.model_copy(update={"values": (value,), "prompt_tokens": read, "reply_tokens": 0})

        call = await self._once("log_likelihood", prompt, {"reply": reply.text}, make)
        (value,) = call.values
        assert isinstance(value, float)
        return value

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Return how likely each option is to come next, of these options alone."""

        async def make(call: Call) -> Call:
            values = await self._model.probabilities(prompt, options)
            return call.model_copy(
                update={"values": tuple(values), "prompt_tokens": len(prompt.input_ids), "reply_tokens": 0}
            )

        call = await self._once("probabilities", prompt, {"options": list(options)}, make)
        return [value for value in call.values if isinstance(value, float)]

    def _open(self, kind: CallKind, prompt: RenderedPrompt, parameters: dict[str, Any]) -> Call:
        return self._journal.open(self._model, self._asker, kind, prompt, parameters)

    async def _once(
        self,
        kind: CallKind,
        prompt: RenderedPrompt,
        parameters: dict[str, Any],
        make: Callable[[Call], Awaitable[Call]],
    ) -> Call:
        """Return a call as it is stored, made and stored now if need be."""
        call = self._open(kind, prompt, parameters)
        if not is_made(call):
            started = time.perf_counter()
            call = await make(call)
            call = call.model_copy(update={"seconds": time.perf_counter() - started})
            self._journal.save([call])
        return call
