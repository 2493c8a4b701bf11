"""A surrogate that reads elsewhere: scores come from a pool of Ray actors, each of which holds the model.

So weights read on other cores, or GPUs, while servers speak: the conversations wait for their own scores alone. Ray is
imported when a pool is opened, and not before.
"""

import asyncio
import importlib
import importlib.util
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

from tertulia.state.errors import ModelError, TertuliaError, extra_hint
from tertulia.state.language_model import (
    GenerationRequest,
    LanguageModel,
    ModelTraits,
    RenderedPrompt,
    ScoringOptions,
    Tokenizer,
)
from tertulia.state.records import Reply
from tertulia.state.text import one_line

#: How often an actor that died is made again, and a request that died with it is asked again.
_RESTARTS = 3


#: How long is waited for room on the cluster.
_PATIENCE_S = 30.0


class ScoringActor:
    """Holds a model in a process of Ray's and scores by it."""

    def __init__(self, open_model: Callable[[], LanguageModel], threads: int | None) -> None:
        """Open the model, and let it compute with so many threads: its digits depend on how many."""
        self._model = open_model()
        if threads is not None:
            import torch

            torch.set_num_threads(threads)

    def describe(self) -> tuple[str, ModelTraits, Tokenizer]:
        """Return the properties of the model that its stand-in needs."""
        return self._model.id, self._model.traits, self._model.tokenizer

    def score(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        options: ScoringOptions,
        spans: Sequence[tuple[int, int]] | None,
    ) -> list[dict[str, float]] | TertuliaError:
        """Return the scores, or why there are none: Ray would make a traceback of an error."""
        try:
            return asyncio.run(self._model.score(prompt, responses, options, spans))
        except TertuliaError as error:
            return error


def open_scorers(open_model: Callable[[], LanguageModel], count: int, threads: int | None = None) -> "RayScorers":
    """Return a stand-in for a model that scores in so many actors of the cluster that Ray is connected to.

    Each has a core to itself, and a GPU if the cluster has any. `open_model` is pickled, and opens the model in each
    actor, which computes with this many threads; `None`: as many as torch takes.

    Raises:
        ModelError: Ray is missing, the cluster has no room for them, or the model can't be opened by the actors.
    """
    if importlib.util.find_spec("ray") is None:
        raise ModelError(f"scorers beside the conversations need Ray; run: {extra_hint('ray')}")
    ray: Any = importlib.import_module("ray")
    gpus = int(ray.cluster_resources().get("GPU", 0))
    _wait_for_room(ray, "GPU" if gpus else "CPU", count)
    made = ray.remote(ScoringActor).options(
        num_cpus=1, num_gpus=1 if gpus else 0, max_restarts=_RESTARTS, max_task_retries=_RESTARTS
    )
    actors: list[Any] = [made.remote(open_model, threads) for _ in range(count)]
    try:
        described = ray.get([actor.describe.remote() for actor in actors])
    except ray.exceptions.RayError as error:
        raise ModelError(f"the scorers can't open their model: {cause_of(error)}") from None
    return RayScorers(actors, *described[0])


def _wait_for_room(ray: Any, kind: Literal["CPU", "GPU"], count: int) -> None:
    """Wait until a cluster has room for actors: resources are free some seconds after others have left."""
    given_up_at = time.monotonic() + _PATIENCE_S
    while (room := int(ray.available_resources().get(kind, 0))) < count:
        if count > ray.cluster_resources().get(kind, 0) or time.monotonic() > given_up_at:
            what = f"{room} free {kind}s for {count} scorers"
            raise ModelError(f"the cluster has {what}; take fewer, or fewer workers")
        time.sleep(0.2)


def cause_of(error: BaseException) -> str:
    """Return the last line of an error that Ray reports, which names the actor's error."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else type(error).__name__


class RayScorers:
    """Implements `state.language_model.LanguageModel` for scores alone, by actors that hold the model."""

    def __init__(self, actors: Sequence[Any], id: str, traits: ModelTraits, tokenizer: Tokenizer) -> None:
        self.id, self.traits, self.tokenizer = id, traits, tokenizer
        self._actors = actors
        self._busy: Counter[int] = Counter()

    def __repr__(self) -> str:
        return f"RayScorers({self.id!r}, {len(self._actors)})"

    async def score(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        options: ScoringOptions,
        spans: Sequence[tuple[int, int]] | None = None,
    ) -> list[dict[str, float]]:
        """Return the attention score of every unit for each response, by the actor that has least to do.

        Raises:
            ModelError: The model failed, or its actors are gone for good.
        """
        import ray

        place = min(range(len(self._actors)), key=self._busy.__getitem__)
        self._busy[place] += 1
        try:
            found = await self._actors[place].score.remote(prompt, responses, options, spans)
        except ray.exceptions.RayError as error:
            raise ModelError(
                f"a scorer of {self.id} is gone ({cause_of(error)}); resume to go on with new ones"
            ) from None
        finally:
            self._busy[place] -= 1
        if isinstance(found, TertuliaError):
            raise found
        scores: list[dict[str, float]] = found
        return scores

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Raise: scorers only read."""
        raise self._only_scores()

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Raise: scorers only read."""
        raise self._only_scores()

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Raise: scorers only read."""
        raise self._only_scores()

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Raise: scorers only score."""
        raise self._only_scores()

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Raise: scorers only score."""
        raise self._only_scores()

    def _only_scores(self) -> ModelError:
        return ModelError(f"{self.id} scores in actors of Ray, and does nothing else there")
