"""A language model that says what a test tells it, and rehearses where the test is silent."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tertulia.models.rehearsal import RehearsalModel
from tertulia.state.errors import ModelError
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, ScoringOptions
from tertulia.state.records import Reply


class ScriptedModel(RehearsalModel):
    """Takes replies and figures from scripts, and remembers what it was asked.

    Attributes:
        calls: The name and the first argument of every call, in order.
        fails_at: The call (from 1) that raises; `None`: none does.
    """

    def __init__(
        self,
        *,
        speech: Iterable[str] | Callable[[random.Random], str] = (),
        comments: Iterable[str] = (),
        ratings: Iterable[int] = (),
        endings: Iterable[bool] = (),
        scores: Mapping[str, float] | None = None,
        likelihood: Callable[[RenderedPrompt], float] | None = None,
        parting: Iterable[float] = (),
        fails_at: int | None = None,
        **traits: Any,
    ) -> None:
        super().__init__("scripted")
        self.traits = replace(self.traits, **traits)
        self.calls: list[tuple[str, Any]] = []
        self.fails_at = fails_at
        self._draw_speech = speech if callable(speech) else None
        texts = iter(()) if callable(speech) else iter(speech)
        self._scripts: dict[str, Any] = {
            "speech": texts,
            "text": iter(comments),
            "integer": iter(ratings),
            "boolean": iter(endings),
            "choice": iter(()),
        }
        self._scores, self._likelihood, self._parting = scores, likelihood, iter(parting)

    def asked(self, call: str) -> list[Any]:
        """What the calls of this name were asked."""
        return [about for name, about in self.calls if name == call]

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        self._note("generate", request)
        return await super().generate(request)

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        self._note("generate_batch", requests)
        return await super().generate_batch(requests)

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        self._note("generate_scored", request)
        replies, scores = await RehearsalModel(self.id).generate_scored(request, options)
        return replies, scores if self._scores is None else {unit: self._scores.get(unit, 0.0) for unit in scores}

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        self._note("log_likelihood", prompt)
        return self._likelihood(prompt) if self._likelihood else await super().log_likelihood(prompt, reply)

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        self._note("probabilities", prompt)
        parting = next(self._parting, None)
        return await super().probabilities(prompt, options) if parting is None else [parting, 1 - parting]

    def _value(
        self, field: ReplyField, prompt: RenderedPrompt, generator: random.Random, several: bool
    ) -> str | bool | int:
        if field.kind == "speech" and self._draw_speech:
            return self._draw_speech(generator)
        scripted = next(self._scripts[field.kind], None)
        return super()._value(field, prompt, generator, several) if scripted is None else scripted

    def _note(self, call: str, about: object) -> None:
        self.calls.append((call, about))
        if len(self.calls) == self.fails_at:
            raise ModelError(f"the model went away in call {self.fails_at}")
