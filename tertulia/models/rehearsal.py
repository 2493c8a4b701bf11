"""The rehearsal: a deterministic stand-in for a language model, and one for an embedder, without weights.

It knows no language: sentences are put together from a stock by keyed draws and take up words of the prompt, so that
they follow the context and change when units are removed. Scores and likelihoods are hashes of content. Needs no torch.
"""

import hashlib
import json
import math
import random
import re
from collections.abc import Sequence
from functools import lru_cache

from tertulia.models import rehearsed_words
from tertulia.models.rehearsed_words import Texts
from tertulia.state.errors import ModelError
from tertulia.state.language_model import (
    GenerationRequest,
    ModelTraits,
    RenderedPrompt,
    ReplyField,
    Role,
    ScoringOptions,
)
from tertulia.state.parameters import SHORT
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import BLOCK_INITIALS, Reply

#: Pieces of at most six UTF-8 bytes, no character cut: about as many as a real model has tokens.
_PIECE = re.compile(r" ?[A-Za-z]{1,5}|[0-9]{1,3}|[\s\S]")
#: The first id of markup, above those of all pieces.
_MARKUP = 1 << 48
_ROLES: tuple[Role, ...] = ("system", "user", "assistant")

#: Chance of a boolean to be true: a conversation ends; and of one among several: a mechanism is switched on.
_CHANCE_OF_TRUE = 0.08
_CHANCE_AMONG_SEVERAL = 0.35
#: Bends integers upwards: three ratings from 1 to 10 are above 6.67 on average in 34 of 100 cases, θ of the judge.
_TILT = 0.78

#: The most characters of a word that is a number, and the letters of other words.
_LONGEST_NUMBER, _LETTERS = 8, "abcdefghijkmnpqrstuvwxyz23456789"

_SENTENCE_BREAK = re.compile(r"(?<=[.!?]) ")
#: The article of a caption, which is left out within a sentence.
_ARTICLE = re.compile(r"^(?:an?|the) ")
_WORD = re.compile(r"[^\W_]+")
#: Blocks about people and events, in prompts for utterances and for thoughts.
_ABOUT_PEOPLE = {*BLOCK_INITIALS.values(), "self", "moment"}


class RehearsalTokenizer:
    """Implements `state.language_model.Tokenizer` without a vocabulary.

    The id of a piece is its UTF-8 bytes read as a number, so that any process can decode it. No text can look like
    markup: ids of markup are above those of all pieces. All are below 2**53, exact for every reader of JSON.
    """

    def encode(self, text: str) -> list[int]:
        """Return the tokens of `text`, any text; no markup among them."""
        return list(_encode(text))

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of `tokens`; markup is shown as `<|role|>`."""
        return b"".join(map(_piece, tokens)).decode("utf-8", "surrogatepass")

    def chat_markup(self, roles: Sequence[Role]) -> list[list[int]]:
        """Return one token of markup before each message, and one that opens the assistant's turn."""
        return [[_MARKUP + _ROLES.index(role)] for role in (*roles, "assistant")]


@lru_cache(maxsize=4096)
def _encode(text: str) -> tuple[int, ...]:
    return tuple(int.from_bytes(piece.encode("utf-8", "surrogatepass"), "big") for piece in _PIECE.findall(text))


def _piece(token: int) -> bytes:
    if token >= _MARKUP:
        return f"<|{_ROLES[token - _MARKUP]}|>".encode()
    return token.to_bytes(max(1, (token.bit_length() + 7) // 8), "big")  # NUL is one byte as well


class RehearsalModel:
    """Implements `state.language_model.LanguageModel`; every draw comes from the generators of the request."""

    def __init__(self, id: str = "rehearsal") -> None:
        """Make the stand-in."""
        self.id, self._words = id, rehearsed_words.WORDS
        # Likelihoods are even in [-4, -1], the probability of one of two options in [0, 1]: contrasts pass 3 - √6 as
        # often as ratings their θ, and conversations end equally often, whichever way these are decided.
        self.traits = ModelTraits(
            context_window=None,
            layout="single_message",
            judge="rating",
            likelihood_threshold=0.55,
            ending_threshold=1 - _CHANCE_OF_TRUE,
            lengths=SHORT,
            rehearsed=True,
        )
        self.tokenizer = RehearsalTokenizer()

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request (see the contract)."""
        return [self._reply(request, generator) for generator in request.generators]

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts; each depends on its own request alone."""
        return [await self.generate(request) for request in requests]

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Like `generate`, and a score of every unit, averaged over the replies."""
        replies = await self.generate(request)
        scores = await self.score(request.prompt, [reply.tokens for reply in replies], options)
        return replies, {unit: sum(s[unit] for s in scores) / len(scores) for unit in request.prompt.token_spans}

    async def score(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        options: ScoringOptions,
        spans: Sequence[tuple[int, int]] | None = None,
    ) -> list[dict[str, float]]:
        """Return a score of every unit for each response: its length times a heavy-tailed factor keyed by content."""
        if spans is not None:
            responses = [response[slice(*span)] for response, span in zip(responses, spans, strict=True)]
        if any(len(response) == 0 for response in responses):
            raise ModelError("a response has no tokens; there is nothing whose attention could be scored")
        of_units = prompt.token_spans.items()
        contents = {unit: _bytes(prompt.input_ids[first:past_last]) for unit, (first, past_last) in of_units}
        lengths = {unit: 1 if options.reducer == "mean-mean" else max(1, b - a) for unit, (a, b) in of_units}
        return [
            {unit: 0.001 * lengths[unit] / math.sqrt(_share(contents[unit], response)) for unit in contents}
            for response in map(_bytes, responses)
        ]

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Return a figure in [-4, -1], keyed by the prompt and the reply's first text."""
        return -4 + 3 * _share(_bytes(prompt.input_ids), _bytes(reply.tokens[slice(*reply.text_tokens)]))

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Return a probability of each option, keyed by the prompt and the option; they sum to 1."""
        key = _bytes(prompt.input_ids)
        weights = [-math.log(_share(key, option.encode("utf-8", "surrogatepass"))) for option in options]
        return [weight / sum(weights) for weight in weights]

    def _reply(self, request: GenerationRequest, generator: random.Random) -> Reply:
        reply_prefix = request.prompt.reply_prefix
        tokens: list[int] = []
        fields: dict[str, str | bool | int] = {}
        text_tokens: tuple[int, int] | None = None
        literal = "{"
        several = sum(field.kind == "boolean" for field in request.fields) > 1
        for index, field in enumerate(request.fields):
            value = self._value(field, request.prompt, generator, several)
            quote = '"' if isinstance(value, str) else ""
            literal += f"{json.dumps(field.name, ensure_ascii=False)}: {quote}"
            if index == 0 and not literal.startswith(reply_prefix):
                raise ModelError(f"the reply can't begin with {reply_prefix!r}")
            tokens += _encode(literal.removeprefix(reply_prefix) if index == 0 else literal)
            content = json.dumps(value, ensure_ascii=False)
            written = _encode(content[1:-1] if quote else content)
            if quote and text_tokens is None:
                text_tokens = len(tokens), len(tokens) + len(written)
            tokens += written
            fields[field.name] = value
            literal = f"{quote}, "
        tokens += _encode(f"{literal.removesuffix(', ')}}}")
        text = reply_prefix + self.tokenizer.decode(tokens)
        return Reply(text=text, tokens=tuple(tokens), text_tokens=text_tokens or (0, len(tokens)), fields=fields)

    def _value(
        self, field: ReplyField, prompt: RenderedPrompt, generator: random.Random, several: bool
    ) -> str | bool | int:
        """Draw the value of a field; `several` says whether the request has several booleans."""
        if field.kind == "boolean" and field.choices:
            return field.choices[0] == "true"
        if field.kind == "boolean":
            return generator.random() < (_CHANCE_AMONG_SEVERAL if several else _CHANCE_OF_TRUE)
        if field.kind == "integer":
            values = field.maximum - field.minimum + 1
            return min(field.maximum, field.minimum + int(values * generator.random() ** _TILT))
        if field.kind == "choice":
            return generator.choice(field.choices)
        if field.kind == "word":  # a short one is a number
            is_number = field.max_tokens <= _LONGEST_NUMBER
            return (
                f"{generator.random():.2f}" if is_number else "".join(generator.choices(_LETTERS, k=field.max_tokens))
            )
        words = self._words
        # Draws after a text depend on no text, and so not on the units that λ removes.
        generator = keyed_generator(generator.getrandbits(96), node="rehearsal")
        topics = {"a": self._topic(prompt, generator), "b": self._topic(prompt, generator)}
        if field.kind == "text":
            return self._shortened(generator.choice(words.comments_about(**topics)).format(**topics), field)
        opening = generator.choice(words.openings) if generator.random() < 0.5 else ""
        ending = generator.choice(words.endings) if generator.random() < 0.6 else ""
        remark = generator.choice(words.remarks_about(**topics))
        return self._shortened(f"{opening} {remark} {ending}".strip().format(**topics), field)

    def _topic(self, prompt: RenderedPrompt, generator: random.Random) -> str:
        """Draw a topic from units about people and events (see `rehearsed_words`).

        With an album, every other draw is the caption of one of its pictures: half of all plans name one.
        """
        album = [unit for unit in prompt.source.units if unit.block == "album"] if prompt.source else []
        texts = [unit.text.removesuffix(":") for unit in album if unit.kind == "item"]
        captions = [_ARTICLE.sub("", text.partition(": ")[0]) for text in texts]
        if captions and generator.random() < 0.5:
            return self._words.named.format(generator.choice(captions))
        units = [unit for unit, block in prompt.unit_blocks.items() if block in _ABOUT_PEOPLE] or list(
            prompt.unit_blocks
        )

        def read(place: int) -> str:
            first, past_last = prompt.token_spans[units[place]]
            return self.tokenizer.decode(prompt.input_ids[first:past_last])

        return self._words.topic(Texts(len(units), read), generator)

    def _shortened(self, text: str, field: ReplyField) -> str:
        """Return a text within the limit: up to its last whole sentence, or trailing off if it has none."""
        sentences = _SENTENCE_BREAK.split(text)
        while len(tokens := _encode(" ".join(sentences))) > field.max_tokens and len(sentences) > 1:
            sentences.pop()
        short = tokens if len(tokens) <= field.max_tokens else (*tokens[: field.max_tokens - 1], *_encode("…"))
        return self.tokenizer.decode(short)


class RehearsalEmbedder:
    """Implements `state.language_model.Embedder`: a bag of lower-cased words, hashed to 64 dimensions."""

    id = "rehearsal"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of unit length per text; one without words has a fixed vector."""
        return [list(_embedded(text)) for text in texts]

    embed_untruncated = embed  # there is no length limit


@lru_cache(maxsize=1024)
def _embedded(text: str) -> tuple[float, ...]:
    vector = [0.0] * 64
    for word in _WORD.findall(text.lower()):
        dimension, sign = _direction(word)
        vector[dimension] += sign
    length = math.hypot(*vector)  # 0 without words, or if they cancel each other
    return tuple(value / length for value in vector) if length else (1.0, *[0.0] * 63)


@lru_cache(maxsize=4096)
def _direction(word: str) -> tuple[int, float]:
    (number,) = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=1).digest()
    return number % 64, 1.0 if number < 128 else -1.0


def _bytes(tokens: Sequence[int]) -> bytes:
    return repr(tuple(tokens)).encode()


def _share(*contents: bytes) -> float:
    """Return a number in (0, 1) that is a hash of these contents."""
    digest = hashlib.blake2b(b"|".join(contents), digest_size=6).digest()
    return (int.from_bytes(digest, "big") + 0.5) / 2**48
