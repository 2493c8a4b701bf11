"""The contracts of tokenizer, language model and embedder, and the requests to them.

They are protocols: a local model, a hosted model, a scripted model for tests and the rehearsal stand in for each other.
Nothing here knows torch.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from tertulia.state.errors import SettingError
from tertulia.state.head_weights import HeadWeights
from tertulia.state.languages import DEFAULT
from tertulia.state.parameters import (
    MEDIUM,
    MEMORY_ITEMS,
    TEMPERATURE,
    Actions,
    Choices,
    Ending,
    Judge,
    Layout,
    Lengths,
    Parameters,
    Reducer,
)
from tertulia.state.records import REHEARSAL as REHEARSAL
from tertulia.state.records import Prompt, Reply

#: The name of the embedder that comes with the installation.
EMBEDDER = "minilm"

Role = Literal["system", "user", "assistant"]

#: The tasks of a model: to speak, to think before that, to judge it, or to score by its attention.
ModelRole = Literal["speak", "think", "judge", "score"]

#: The remedy for a model whose attention can't be seen, for an error.
NO_ATTENTION = (
    "shows no attention; set surrogate=smollm2, so that a local model scores what it says, or "
    "nodes.score=embedding_similarity"
)


@dataclass(frozen=True)
class Activity:
    """An activity of a model besides answering: loading, converting, or waiting for a retry.

    Attributes:
        text: A clause for the user, such as `waiting 3 s: at most 20 requests a minute`; empty when it goes on.
        fraction: How much is done, from 0 to 1; `None` if that is not known.
        is_note: Whether it is something to know, which stays to be read, and not something that is being done.
    """

    text: str
    fraction: float | None = None
    is_note: bool = False


#: Returns the bytes of the picture of a content hash (`state.store.PictureStore.picture`).
PictureLookup = Callable[[str], bytes]

#: Is called with a model's activity whenever that changes. It must return quickly, raise nothing, and be safe for
#: threads: it may be called from another one (that of remote requests).
Report = Callable[[Activity], None]


def ignore_activity(activity: Activity) -> None:
    """Do nothing: the `Report` of a caller that has none."""


class Tokenizer(Protocol):
    """Text to tokens and back. Text is data: nothing in it is ever read as chat markup."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of `text` in the middle of a prompt, without special tokens."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of `tokens`."""

    def chat_markup(self, roles: Sequence[Role]) -> list[list[int]]:
        """Return the tokens of the model's own markup around messages of these roles.

        Args:
            roles: The roles of the messages, in order; the last message is followed by the assistant's turn.

        Returns:
            `len(roles) + 1` lists of tokens: the text before each message, and the opening of the assistant's turn.
        """


@runtime_checkable
class SeeingTokenizer(Tokenizer, Protocol):
    """The tokenizer of a model that sees: a picture is tokens that no text can have."""

    def encode_picture(self, content: str) -> list[int]:
        """Return the tokens that stand for a picture, by its content hash; `ModelError` if it can't be read."""


@dataclass(frozen=True)
class RenderedPrompt:
    """A prompt as fed to a model.

    Attributes:
        input_ids: All tokens, `P` of them.
        token_spans: By unit id, `(first, past_last)` indices into `input_ids`.
        unit_blocks: The block of each unit, by unit id.
        reply_prefix: The beginning of the reply, at the end of the prompt, empty if there is none.
        shared_prefix: The number of tokens at the beginning that other prompts are known to share. They are always read
            by themselves first, so that the part that others need is kept to the token.
        source: The prompt that was rendered; `None` if it is made of tokens alone.
        pictures: The pictures in it as tokens, in order: the start of each, and its content hash.
    """

    input_ids: tuple[int, ...]
    token_spans: Mapping[str, tuple[int, int]]
    unit_blocks: Mapping[str, str]
    reply_prefix: str = ""
    shared_prefix: int = 0
    source: Prompt | None = None
    pictures: tuple[tuple[int, str], ...] = ()

    def block_lengths(self) -> dict[str, int]:
        """Return the number of tokens in the units of each block."""
        lengths: dict[str, int] = {}
        for unit, (first, past_last) in self.token_spans.items():
            block = self.unit_blocks[unit]
            lengths[block] = lengths.get(block, 0) + past_last - first
        return lengths


@dataclass(frozen=True)
class ReplyField:
    """A field of a JSON reply.

    Attributes:
        name: The key.
        kind: `speech` is text without line breaks or markup characters, `text` any single-line text, `choice` one of
            several texts, `word` ASCII without spaces, such as a number as the model writes it, or random letters.
        minimum, maximum: Bounds of an integer, inclusive.
        is_bounded: Whether an integer outside them is refused; else it is returned as a remote model gave it.
        is_optional: Whether a remote model's answer may lack it; then it is empty, or false.
        max_tokens: Length limit of a text; it ends with the last whole sentence within the limit, if there is one. Of a
            word in characters.
        choices: The texts that a choice is one of, at least one; of a boolean, `true` or `false` if it is decided.
    """

    name: str
    kind: Literal["speech", "text", "integer", "boolean", "choice", "word"]
    minimum: int = 0
    maximum: int = 10
    max_tokens: int = 80
    choices: tuple[str, ...] = ()
    is_bounded: bool = True
    is_optional: bool = False


@dataclass(frozen=True)
class GenerationRequest:
    """A request for replies to a prompt, each a JSON object of the given fields, one reply per generator.

    Attributes:
        prompt: The prompt; its `reply_prefix` is a beginning of the reply.
        generators: A keyed generator for each row; a row draws from nothing else.
        temperature, top_p: Sampling (Holtzman et al. 2020 for top-p).
        min_p: The share of the likeliest token's probability that a token needs (Nguyen et al. 2024); 0 for none.
        no_repeat_from: Earlier utterances, as tokens; speech does not repeat them.
        no_repeat_ngram: The number of consecutive tokens that may not be repeated from `no_repeat_from`; from the text
            itself and `recent_lines` no more than three; 0 for no limit.
        recent_lines: The latest lines of the dialogue, as tokens.
        dry: The cost to speech of going on with a repetition from `no_repeat_from` or itself, DRY's multiplier; 0: off.
        without_context: The prompt without the matter that the reply shall be about; it ends as `prompt` does. The
            replies' `information` is what that adds to their log-probability. `None` if no context is amplified.
        context_strength: α of context-aware decoding (Shi et al. 2023); 0 if it is off.
        is_best_of: Whether the likeliest of its replies will be taken: each gets its mean log-probability as
            `information`, and speech ends with its first sentence of some words.
        language: The language of the prompt, for the words that a model on a server gets beside it.
        people: The names of all people in the prompt: speech of a model on a server ends where it goes on for another.
        actions: The use of the actions in the speech of a model on a server.
    """

    prompt: RenderedPrompt
    fields: tuple[ReplyField, ...]
    generators: tuple[random.Random, ...]
    temperature: float
    top_p: float
    no_repeat_from: tuple[tuple[int, ...], ...] = ()
    no_repeat_ngram: int = 0
    recent_lines: tuple[tuple[int, ...], ...] = ()
    without_context: RenderedPrompt | None = None
    context_strength: float = 0.0
    is_best_of: bool = False
    language: str = DEFAULT
    min_p: float = 0.0
    dry: float = 0.0
    people: tuple[str, ...] = ()
    actions: Actions = "keep"

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        prompt: RenderedPrompt,
        fields: Sequence[ReplyField],
        generators: Sequence[random.Random],
    ) -> "GenerationRequest":
        """Return a request whose sampling and language are those of a run's parameters."""
        return cls(
            prompt=prompt,
            fields=tuple(fields),
            generators=tuple(generators),
            temperature=parameters.sampling_temperature,
            top_p=parameters.top_p,
            min_p=parameters.min_p,
            language=parameters.language,
            actions=parameters.actions,
        )


@dataclass(frozen=True)
class ScoringOptions:
    """The reduction of attention to a score (APP §3.1, Eq. 1), over these layers; `None`, and learned weights: all."""

    reducer: Reducer = "sum-mean"
    layers: tuple[int, ...] | None = None

    @property
    def tells_heads_apart(self) -> bool:
        """Whether the attention of each head is needed by itself."""
        return self.reducer in ("beyond-neutral", "learned")


@dataclass(frozen=True)
class ModelTraits:
    """The traits of a model; the `auto` settings of a run follow them.

    Attributes:
        context_window: Tokens of prompt and reply together; `None` if unlimited.
        likelihood_threshold: Threshold of the likelihood judge, in nats per token, of its centred figure if the model
            shows its vocabulary's probabilities; `None` if never calibrated.
        ending: How it is decided whether an utterance ends the conversation.
        ending_threshold: Probability of parting above which `continuation` ends it.
        temperature: The temperature at which it should write.
        no_repeat_ngram: The number of consecutive tokens that its speech should not repeat; 0 for no limit.
        context_strength: α, how much more the context should count in its speech; 0 for no more.
        memory_items: The least and the most memories in a prompt that it can make use of.
        drafts: Of how many replies the best should be taken.
        scoring_tokens: The tokens of a response after which its attention is known well enough; 0 for all.
        reducer: How attention becomes a unit's score, if λ removes by the measure shown to move the model most.
        choices: Whether an agent's feeling, its switches and its settled matters are read from replies or from
            probabilities.
        rehearsed: Whether its texts are a stand-in's, to be marked wherever they are shown.
        languages: Its languages, as codes (ISO 639-1); `None` if they are not known.
        text_only: Whether it returns nothing but text, as a model on a server does. Its calls run side by side, one for
            each reply, and each is stored as it returns.
        takes_min_p: Whether requests can name `min_p`; a server that knows none may refuse it, or pass over it.
        sees_pictures: Whether it is shown the pictures of units; then it is a `SeeingModel`.
        layer_windows: By layer, how many tokens its attention reaches back, the token's own included, or `None` if it
            has no such window; `None` in place of all for a model without layers of its own.
        head_weights: Learned weights of its attention heads; `None` if none were learned.
    """

    context_window: int | None
    layout: Layout
    judge: Judge
    likelihood_threshold: float | None = None
    ending: Ending = "reply"
    ending_threshold: float | None = None
    temperature: float = TEMPERATURE
    no_repeat_ngram: int = 0
    context_strength: float = 0.0
    memory_items: tuple[int, int] = MEMORY_ITEMS
    drafts: int = 1
    scoring_tokens: int = 0
    reducer: Reducer = "sum-mean"
    lengths: Lengths = MEDIUM
    choices: Choices = "reply"
    rehearsed: bool = False
    text_only: bool = False
    takes_min_p: bool = True
    languages: tuple[str, ...] | None = None
    sees_pictures: bool = False
    layer_windows: tuple[int | None, ...] | None = None
    head_weights: HeadWeights | None = None

    def require_head_weights(self, name: str) -> HeadWeights:
        """Return the learned weights of heads.

        Raises:
            SettingError: None were learned for the model of that name.
        """
        if self.head_weights is None:
            problem = f": no weights of heads were learned for {name}; run `tertulia scores fit {name}`, or take "
            raise SettingError("reducer", "learned", f"{problem}reducer=beyond-neutral")
        return self.head_weights


class LanguageModel(Protocol):
    """A language model. Asked to score, it raises `AttentionUnavailableError` if it can't show its attention."""

    @property
    def id(self) -> str:
        """The name under which the model is chosen again."""

    @property
    def traits(self) -> ModelTraits:
        """The traits of the model."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model."""

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request.

        Raises:
            ContextWindowError: The prompt and the longest reply do not fit.
            ModelError: The model failed.
        """

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts, a list per request; a local model decodes them as one batch.

        Raises:
            ContextWindowError: A prompt and its longest reply do not fit.
            ModelError: The model failed.
        """

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Return one reply per generator, and the attention score of every unit averaged over them (Eq. 1)."""

    async def score(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        options: ScoringOptions,
        spans: Sequence[tuple[int, int]] | None = None,
    ) -> list[dict[str, float]]:
        """Return, for each response written elsewhere, the attention score of every unit of the prompt (Eq. 1).

        A response is exactly its tokens; rows are those of the last prompt token and of response tokens 1 … n−1.

        Args:
            spans: The tokens of each response that count, `(first, past_last)`; all of them if `None`.
        """

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Return the mean log-probability of the reply's first text after the prompt, in nats per token."""

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Return the probability that each option comes next, among these options; they sum to 1."""


class SeeingModel(LanguageModel, Protocol):
    """A language model that is shown pictures (`ModelTraits.sees_pictures`)."""

    def use_pictures(self, lookup: PictureLookup) -> None:
        """Take the bytes of pictures from there, by content hash, from now on."""


class Embedder(Protocol):
    """An embedder: texts to vectors of unit length."""

    @property
    def id(self) -> str:
        """The name under which the embedder is chosen again."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of unit length per text, at the embedder's own length limit."""

    def embed_untruncated(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of unit length per text, however long: the mean over windows, weighted by their tokens."""
