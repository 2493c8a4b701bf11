"""Any causal model of this machine as a `LanguageModel`: replies, scores and likelihoods from one prefill.

A prompt is read once; the last three prompts stay in memory, so that the judge, which needs the full and the pruned
prompt again, reads only the reply. Beginnings of prompts are kept for later ones, such as those of a speaker's next
turn, of which only the new tokens are read. Questions of several conversations are answered as one batch. Below it:
`kept_prompts`, `decoding_state` and `kept_chunks` (keys and values), `decoding` (sampling), `grammar` (JSON),
`attention_scores` (Eq. 1).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import torch
from llguidance import LLTokenizer
from torch import Tensor

from tertulia.models.distinct_questions import distinct_questions, spread_answers
from tertulia.models.local.architecture import Model, token_bytes, vocabulary_of
from tertulia.models.local.attention_scores import (
    Windows,
    attention_to_prompt,
    require_exact_attention,
    unit_scores,
)
from tertulia.models.local.bare_model import BareModel
from tertulia.models.local.decoding import capacity_of, decode_replies
from tertulia.models.local.decoding_state import DecodingState, longest_rows
from tertulia.models.local.grammar import ReplyGrammar
from tertulia.models.local.head_attention import (
    NEUTRAL_REPLY,
    attention_by_head,
    learned_scores,
    scores_beyond_neutral,
    unit_head_sums,
)
from tertulia.models.local.kept_prompts import KeptPrompts
from tertulia.models.local.prefix import Prefix
from tertulia.models.local.token_figures import token_figures
from tertulia.models.local.tokenizer import HuggingFaceTokenizer
from tertulia.state.errors import ContextWindowError, ModelError
from tertulia.state.language_model import (
    GenerationRequest,
    ModelTraits,
    PictureLookup,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
)
from tertulia.state.parameters.model import ModelWeights
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

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from tertulia.models.local.bare_tokenizer import BareTokenizer
    from tertulia.models.local.sight import PictureProcessor, ProcessorTokenizer

#: Bytes of keys, values and logits that a batch of several questions may hold: more are answered in several batches.
_BATCH_BYTES = 1 << 30
#: The share of an accelerator's memory that they may hold there.
_BATCH_SHARE = 0.25

#: How many tokens' probabilities are computed at once: each takes a number for every token of the vocabulary.
_READ_AT_ONCE = 256


class CausalLanguageModel:
    """A local model with exactly captured attention; `weights` names the origin of its weights, if it has adapters.

    `fingerprint` tells the model from others with other head weights (`head_weights`); `None` for one that was
    opened elsewhere.

    Raises:
        AttentionUnavailableError: On construction, if it can't be captured.
    """

    def __init__(
        self,
        id: str,
        model: Model,
        tokenizer: "PreTrainedTokenizerFast | BareTokenizer",
        traits: ModelTraits,
        processor: "PictureProcessor | None" = None,
        weights: ModelWeights | None = None,
        windows: Windows | None = None,
    ) -> None:
        """Take an open model, and check that its attention is exact unless the `windows` of its layers are given."""
        self.weights = weights
        self.fingerprint: str | None = None
        self._sight = None if processor is None else _sight(tokenizer, processor)
        if windows is None:
            assert not isinstance(model, BareModel), "nothing but a model of transformers has a definition of its own"
            windows = require_exact_attention(model, self._sight)
        self.id, self.model, self.traits = id, model, replace(traits, layer_windows=windows)
        self.tokenizer = self._sight or HuggingFaceTokenizer(tokenizer)
        self._constraints: LLTokenizer | None = None
        self._grammars: dict[tuple[tuple[ReplyField, ...], str], ReplyGrammar] = {}
        self.prompts = KeptPrompts(model, self._sight)

    def use_pictures(self, lookup: PictureLookup) -> None:
        """Take the bytes of pictures from there; nothing for a model that sees none."""
        if self._sight is not None:
            self._sight.use_pictures(lookup)

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request (see the contract)."""
        return (await self.generate_batch([request]))[0]

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts, decoded as one batch; one list per request."""
        return self._decode(requests, self.prompts.reader(keeps=len(requests) == 1), capture=False)[0]

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Like `generate`, and the attention score of every unit, averaged over the replies (Eq. 1)."""
        return self._generated_and_scored([ScoredGeneration(request, options)])[0]

    async def answer_batch(self, questions: Sequence[Question]) -> list[Answer]:
        """Return the answer to each question (see the contract): those of one kind are answered as one batch.

        Questions that are the same in all are answered once, and prompts that are the same are read once; as many
        prompts are kept as these questions may need again. Batches are cut by their size in memory,
        which depends on the questions alone.

        Raises:
            ContextWindowError: A prompt and its longest reply do not fit; nothing has been read or drawn.
        """
        for question in questions:
            self._require_fit(*self._room_of(question))
        distinct, answered_by = distinct_questions(questions)
        self.prompts.make_room(len(distinct))
        found: dict[int, Answer] = {}
        kinds: tuple[tuple[type[Question], Any], ...] = (
            (Generation, self._generated),
            (ScoredGeneration, self._generated_and_scored),
            (Likelihood, self._likelihoods),
            (NextOption, self._next_options),
            (TokenReading, self._token_figures),
        )
        for kind, answer in kinds:
            of_kind = [number for number in distinct if isinstance(questions[number], kind)]
            for captured_alike in _by_capture(of_kind, questions):
                for part in self._parts(captured_alike, questions):
                    found.update(zip(part, answer([questions[number] for number in part]), strict=True))
        return spread_answers(questions, answered_by, found)

    async def score(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        options: ScoringOptions,
        spans: Sequence[tuple[int, int]] | None = None,
    ) -> list[dict[str, float]]:
        """Return the attention score of every unit for each response written elsewhere (Eq. 1)."""
        counted = spans or [(0, len(response)) for response in responses]
        if any(first >= past_last for first, past_last in counted):
            raise ModelError("a response has no tokens; there is nothing whose attention could be scored")
        self._require_fit(prompt, max(map(len, responses), default=0))
        if options.tells_heads_apart:
            return self._scores_by_head(prompt, responses, options, counted)
        attention = attention_to_prompt(self.model, self.prompts.get(prompt), responses, options.layers)
        return [unit_scores(a, prompt, options, span) for a, span in zip(attention, counted, strict=True)]

    async def head_attention(
        self, prompt: RenderedPrompt, response: Sequence[int], span: tuple[int, int]
    ) -> dict[str, list[list[float]]]:
        """Return a response's attention to every unit by layer and head (see the contract)."""
        self._require_fit(prompt, len(response))
        attention = attention_by_head(self.model, self.prompts.get(prompt), response, span)
        return {unit: heads.tolist() for unit, heads in unit_head_sums(attention, prompt).items()}

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Return the mean log-probability of the reply's first text after the prompt, in nats per token."""
        return self._likelihoods([Likelihood(prompt, reply)])[0]

    async def token_log_likelihoods(self, prompt: RenderedPrompt, tokens: Sequence[int]) -> list[float]:
        """Return the log-probability of each token after the prompt and the tokens before it, in nats."""
        self._require_fit(prompt, len(tokens))
        prefix = self.prompts.get(prompt)
        state = DecodingState(self.model, prefix, 1, len(tokens), capture=False)
        read, found = [prefix.tokens[-1], *tokens], list[float]()
        for first in range(0, len(tokens), _READ_AT_ONCE):
            part = tokens[first : first + _READ_AT_ONCE]
            logs = state.forward([read[first : first + len(part)]])[0].float().log_softmax(-1)
            found += logs.gather(1, torch.tensor(part, device=logs.device)[:, None])[:, 0].tolist()
        return found

    async def token_figures(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        other: RenderedPrompt | None = None,
        *,
        sampling: Sampling | None = None,
    ) -> list[TokenFigures]:
        """Return the figures of every token of each response after the prompt, and after another (see the contract)."""
        for read in (prompt, other):
            if read is not None:
                self._require_fit(read, max(map(len, responses), default=0))
        second = None if other is None else self.prompts.get(other)
        return token_figures(self.model, self.prompts.get(prompt), responses, second, sampling)

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Return how likely each option is to come next, of these options alone; they sum to 1."""
        return self._next_options([NextOption(prompt, tuple(options))])[0]

    def clear_cache(self) -> None:
        """Drop the prompts kept in memory; results are the same without them."""
        self.prompts.clear()

    def _scores_by_head(
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        options: ScoringOptions,
        spans: Sequence[tuple[int, int]],
    ) -> list[dict[str, float]]:
        """Return the scores of every unit for each response, by a reducer that tells heads apart."""
        prefix = self.prompts.get(prompt)

        def sums(response: Sequence[int], span: tuple[int, int]) -> dict[str, Tensor]:
            return unit_head_sums(attention_by_head(self.model, prefix, response, span), prompt)

        of_responses = [sums(response, span) for response, span in zip(responses, spans, strict=True)]
        if options.reducer == "learned":
            weights = self.traits.require_head_weights(self.id).weights
            return [learned_scores(of_response, weights) for of_response in of_responses]
        reply = self.tokenizer.encode(NEUTRAL_REPLY)
        self._require_fit(prompt, len(reply))
        neutral = sums(reply, (0, len(reply)))
        return [scores_beyond_neutral(of_response, neutral, options.layers) for of_response in of_responses]

    def _generated(self, questions: Sequence[Generation]) -> list[list[Reply]]:
        requests = [question.request for question in questions]
        return self._decode(requests, self.prompts.reader(), capture=False, stacks=len(requests) > 1)[0]

    def _generated_and_scored(
        self, questions: Sequence[ScoredGeneration]
    ) -> list[tuple[list[Reply], dict[str, float]]]:
        """Return replies, and scores averaged over those of each question; all captured alike."""
        requests, options = [question.request for question in questions], questions[0].options
        captures = not options.tells_heads_apart
        by_question, attention = self._decode(
            requests, self.prompts.reader(), capture=captures, layers=options.layers, stacks=len(requests) > 1
        )
        captured = iter(attention)
        answers = []
        for question, replies in zip(questions, by_question, strict=True):
            prompt, options = question.request.prompt, question.options
            spans = [(0, len(reply.tokens)) for reply in replies]
            if captures:
                scores = [unit_scores(next(captured), prompt, options, span) for span in spans]
            else:
                scores = self._scores_by_head(prompt, [reply.tokens for reply in replies], options, spans)
            answers.append((replies, {u: sum(s[u] for s in scores) / len(scores) for u in prompt.token_spans}))
        return answers

    def _likelihoods(self, questions: Sequence[Likelihood]) -> list[float]:
        for question in questions:
            self._require_fit(*self._room_of(question))
        read_prompt = self.prompts.reader()
        prefixes = [read_prompt(question.prompt) for question in questions]
        spans = [question.reply.text_tokens for question in questions]
        state = DecodingState(self.model, prefixes, 1, max(past_last for _, past_last in spans), capture=False)
        read = state.read(
            [
                [prefix.tokens[-1], *question.reply.tokens[: past_last - 1]]
                for prefix, question, (_, past_last) in zip(prefixes, questions, spans, strict=True)
            ]
        )
        values = []
        for question, logits, (first, past_last) in zip(questions, read, spans, strict=True):
            logs = logits[first:past_last].float().log_softmax(-1)
            tokens = torch.tensor(question.reply.tokens[first:past_last], device=logs.device)
            values.append(float(logs.gather(1, tokens[:, None]).mean()))
        return values

    def _next_options(self, questions: Sequence[NextOption]) -> list[list[float]]:
        for question in questions:
            self._require_fit(*self._room_of(question))
        encoded = [[self.tokenizer.encode(option) for option in question.options] for question in questions]
        read_prompt = self.prompts.reader()
        prefixes = [read_prompt(question.prompt) for question in questions]
        # Options that begin alike share a row: feelings are `a little` or `very` something.
        merged = [
            longest_rows((prefix.tokens[-1], *tokens[:-1]) for tokens in options)
            for prefix, options in zip(prefixes, encoded, strict=True)
        ]
        of_row = [prefix for prefix, (rows, _) in zip(prefixes, merged, strict=True) for _ in rows]
        rows = [row for of_prompt, _ in merged for row in of_prompt]
        state = DecodingState(self.model, of_row, 1, max(map(len, rows)), capture=False)
        read, answers = iter(state.read(rows)), []
        for options, (of_prompt, row_of) in zip(encoded, merged, strict=True):
            logs = [next(read).float().log_softmax(-1) for _ in of_prompt]
            found = [logs[row][range(len(tokens)), tokens].sum() for row, tokens in zip(row_of, options, strict=True)]
            answers.append(cast(list[float], torch.stack(found).softmax(-1).tolist()))
        return answers

    def _token_figures(self, questions: Sequence[TokenReading]) -> list[TokenFigures]:
        found = []
        for question in questions:
            self._require_fit(*self._room_of(question))
            second = None if question.other is None else self.prompts.get(question.other)
            first = self.prompts.get(question.prompt)
            found += token_figures(self.model, first, [question.response], second, question.sampling)
        return found

    def _room_of(self, question: Question) -> tuple[RenderedPrompt, int]:
        """Return the prompt of a question, the longer one of two, and how many tokens may be read after it."""
        if isinstance(question, TokenReading):
            prompts = [question.prompt] if question.other is None else [question.prompt, question.other]
            return max(prompts, key=lambda prompt: len(prompt.input_ids)), len(question.response)
        if isinstance(question, Likelihood):
            return question.prompt, question.reply.text_tokens[1]
        if isinstance(question, NextOption):
            return question.prompt, max(len(self.tokenizer.encode(option)) for option in question.options)
        return question.request.prompt, capacity_of(self._grammar(question.request), self.tokenizer)

    def _parts(self, numbers: Sequence[int], questions: Sequence[Question]) -> Iterator[list[int]]:
        part: list[int] = []
        held, most = 0, _batch_bytes(self.model.device)
        for number in numbers:
            size = self._size(questions[number])
            if part and held + size > most:
                yield part
                part, held = [], 0
            part.append(number)
            held += size
        if part:
            yield part

    def _size(self, question: Question) -> int:
        """Return about how many bytes answering a question holds: keys and values, and logits of all it reads."""
        prompt, capacity = self._room_of(question)
        logits = 4 * vocabulary_of(self.model)
        if isinstance(question, Likelihood | NextOption | TokenReading):
            rows = len(question.options) if isinstance(question, NextOption) else 1
            return rows * capacity * logits
        request = question.request
        rows, tokens = len(request.generators), len(prompt.input_ids)
        if request.without_context is not None:
            rows, tokens = 2 * rows, tokens + len(request.without_context.input_ids)
        return token_bytes(self.model) * (tokens + rows * capacity) + rows * logits

    def _decode(
        self,
        requests: Sequence[GenerationRequest],
        read: Callable[[RenderedPrompt], Prefix],
        *,
        capture: bool,
        layers: Sequence[int] | None = None,
        stacks: bool = False,
    ) -> tuple[list[list[Reply]], list[Tensor]]:
        """Return the replies by request, and the attention of each reply to its prompt if it is captured.

        That is summed over these layers, or all. `read` returns the keys and values of a prompt; with `stacks` prompts
        may share a tensor.
        """
        grammars = [self._grammar(request) for request in requests]
        capacities = [capacity_of(grammar, self.tokenizer) for grammar in grammars]
        for request, capacity in zip(requests, capacities, strict=True):
            self._require_fit(request.prompt, capacity)
        answered = [request for request in requests if request.generators]
        if not answered:
            return [[] for _ in requests], []
        prefixes = [prefix for r in answered for prefix in [read(r.prompt)] * len(r.generators)]
        read = self.prompts.reader(keeps=len(requests) == 1)
        prefixes += [
            prefix
            for r in answered
            if r.without_context is not None
            for prefix in [read(r.without_context)] * len(r.generators)
        ]
        state = DecodingState(self.model, prefixes, 1, max(capacities), capture=capture, layers=layers, stacks=stacks)
        together = list(zip(requests, grammars, strict=True))
        replies = decode_replies(state, together, self.tokenizer)
        if not capture:
            return replies, []
        rows = enumerate(chain.from_iterable(replies))
        return replies, [state.attention_of_row(row, len(reply.tokens)) for row, reply in rows]

    def _grammar(self, request: GenerationRequest) -> ReplyGrammar:
        key = (request.fields, request.prompt.reply_prefix)
        if self._constraints is None:
            try:
                self._constraints = self.tokenizer.constraints()
            except (ValueError, RuntimeError) as error:
                raise ModelError(f"the tokenizer of {self.id} can't be held to a grammar ({error})") from error
        if key not in self._grammars:
            self._grammars[key] = ReplyGrammar(self._constraints, self.tokenizer, *key)
        return self._grammars[key]

    def _require_fit(self, prompt: RenderedPrompt, reply: int) -> None:
        window = self.traits.context_window
        if window is None or len(prompt.input_ids) + reply <= window:
            return
        largest = sorted(prompt.block_lengths().items(), key=lambda pair: -pair[1])[:3]
        raise ContextWindowError(
            f"the prompt ({len(prompt.input_ids)} tokens) and its reply (up to {reply}) are "
            f"{len(prompt.input_ids) + reply - window} tokens over the context window of {self.id} ({window}); "
            f"the largest blocks are {', '.join(f'{block} ({tokens})' for block, tokens in largest)}: "
            "lower memory_items_max, previous_dialogues_max or dialogue_window, or take a model with a longer window"
        )


def _sight(tokenizer: Any, processor: "PictureProcessor") -> "ProcessorTokenizer":
    from tertulia.models.local.sight import ProcessorTokenizer

    return ProcessorTokenizer(tokenizer, processor)


def _batch_bytes(device: torch.device) -> int:
    """Return how many bytes a batch may hold on a device: the device's properties are part of a run's platform."""
    if device.type != "cuda":
        return _BATCH_BYTES
    return max(_BATCH_BYTES, int(_BATCH_SHARE * torch.cuda.get_device_properties(device).total_memory))


def _by_capture(numbers: Sequence[int], questions: Sequence[Question]) -> list[list[int]]:
    """Return the numbers of questions by the attention that is captured as they are answered: a batch has one kind."""
    found: dict[tuple[bool, tuple[int, ...] | None] | None, list[int]] = {}
    for number in numbers:
        question = questions[number]
        scored = question.options if isinstance(question, ScoredGeneration) else None
        key = None if scored is None else (scored.tells_heads_apart, scored.layers)
        found.setdefault(key, []).append(number)
    return list(found.values())
