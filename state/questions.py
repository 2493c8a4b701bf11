"""Questions to a language model as data: several of any kind can be answered as one batch.

Each is a call of the method of `state.language_model.LanguageModel` that it is named after.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tertulia.state.language_model import GenerationRequest, LanguageModel, RenderedPrompt, ScoringOptions
from tertulia.state.records import Reply


@dataclass(frozen=True)
class Generation:
    """A question to `generate`."""

    request: GenerationRequest


@dataclass(frozen=True)
class ScoredGeneration:
    """A question to `generate_scored`."""

    request: GenerationRequest
    options: ScoringOptions


@dataclass(frozen=True)
class Likelihood:
    """A question to `log_likelihood`."""

    prompt: RenderedPrompt
    reply: Reply


@dataclass(frozen=True)
class NextOption:
    """A question to `probabilities`."""

    prompt: RenderedPrompt
    options: tuple[str, ...]


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn: at a temperature, from a nucleus, by min-p (`draw_token` in models/local/decoding.py)."""

    temperature: float = 1.0
    top_p: float = 1.0
    min_p: float = 0.0


@dataclass(frozen=True)
class TokenReading:
    """A question to `token_figures` about one response."""

    prompt: RenderedPrompt
    response: tuple[int, ...]
    other: RenderedPrompt | None = None
    sampling: Sampling | None = None


@dataclass(frozen=True)
class TokenFigures:
    """A model's expectation at each token of a response: probabilities of all its vocabulary, at temperature 1.

    Nothing is cut off or forbidden: neither a nucleus nor a grammar. One number per token, in nats.

    Attributes:
        log_likelihoods: The log-probability of the token, at most 0.
        entropies: The entropy of the next-token distribution, at least 0.
        other_log_likelihoods: The log-probability after the other prompt; empty if there was none.
        divergences: KL(first ‖ other) of the two distributions, at least 0; empty if there was one prompt.
        expected: By how much a token that is drawn there is likelier after the first prompt than after the other, in
            expectation; empty if no way of drawing was given. At temperature 1 without a nucleus it is the divergence.
    """

    log_likelihoods: tuple[float, ...]
    entropies: tuple[float, ...]
    other_log_likelihoods: tuple[float, ...] = ()
    divergences: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()


Question = Generation | ScoredGeneration | Likelihood | NextOption | TokenReading

#: The return value of a question's method.
Answer = list[Reply] | tuple[list[Reply], dict[str, float]] | float | list[float] | TokenFigures


@runtime_checkable
class BatchingModel(LanguageModel, Protocol):
    """A language model that answers questions of several kinds, from several runs, as one batch."""

    async def answer_batch(self, questions: Sequence[Question]) -> list[Answer]:
        """Return the answer to each question, in their order.

        The digits of an answer may depend on the questions beside it, and on nothing else.

        Raises:
            ContextWindowError: A prompt and its longest reply do not fit.
            ModelError: The model failed.
        """


@runtime_checkable
class TokenLikelihoodModel(LanguageModel, Protocol):
    """A language model that says of every token of a text how likely it was, and reads the text once for all."""

    async def token_log_likelihoods(self, prompt: RenderedPrompt, tokens: Sequence[int]) -> list[float]:
        """Return the log-probability of each token after the prompt and the tokens before it, in nats.

        Raises:
            ContextWindowError: The prompt and the tokens do not fit.
            ModelError: The model failed.
        """


@runtime_checkable
class NextTokenModel(LanguageModel, Protocol):
    """A language model that shows its whole next-token distribution in figures."""

    async def token_figures(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        other: RenderedPrompt | None = None,
        *,
        sampling: Sampling | None = None,
    ) -> list[TokenFigures]:
        """Return the figures of every token of each response after the prompt, and after another prompt.

        Prompts are read once for all responses; a response without tokens has none.

        Args:
            sampling: How responses to the prompt are drawn, for their expectation beside the other prompt.

        Raises:
            ContextWindowError: A prompt and its longest response do not fit.
            ModelError: The model failed.
        """


@runtime_checkable
class HeadAttentionModel(BatchingModel, Protocol):
    """A model on this machine that shows to which units each of its attention heads attends."""

    async def head_attention(
        self, prompt: RenderedPrompt, response: Sequence[int], span: tuple[int, int]
    ) -> dict[str, list[list[float]]]:
        """Return a response's attention to every unit by layer and head: sum over its tokens, mean over a span.

        The mean over heads, summed over layers, is the score of Eq. 1.

        Args:
            response: The tokens behind the prompt, at least one.
            span: Those of them that count, `(first, past_last)`.

        Raises:
            ContextWindowError: The prompt and the response do not fit.
        """


@runtime_checkable
class ServedModel(LanguageModel, Protocol):
    """A language model that shows only text, but may say how likely one is: that depends on its server."""

    def tells_likelihoods(self) -> bool:
        """Return whether it does, asking its server if necessary; `ModelError` if no server answers."""

    async def text_log_likelihoods(
        self, prompt: RenderedPrompt, reply: Reply, tokens: int | None = None
    ) -> list[float]:
        """Return the log-probability of each token of the reply's first text after the prompt, in nats.

        Args:
            tokens: How many these are, if that is known from another prompt before the same reply: they are not counted
                again then, which spares a request.

        Raises:
            ModelError: The model does not tell, or its servers fail.
        """
