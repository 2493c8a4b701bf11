"""Any causal model of transformers as a `LanguageModel`: replies, scores and likelihoods from one prefill.

A prompt is read once; the last two prompts stay in memory, so that the judge, which looks at the full and at the
pruned prompt again, reads only the reply. Prompts of a batch do not stay, but what they share with other prompts does.
"""

from collections.abc import Sequence
from itertools import chain
from typing import cast

import llguidance.hf
import torch
from llguidance import LLTokenizer
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from models.attention import IMPLEMENTATION, Decoding, Prefix, read_prefix, require_exact_attention, rows_of
from models.decoding import capacity_of, decode_replies
from models.grammar import ReplyGrammar
from models.tokenizer import HuggingFaceTokenizer
from state.errors import ContextWindowError, ModelError
from state.language_model import GenerationRequest, ModelTraits, RenderedPrompt, ReplyField, ScoringOptions
from state.records import Reply

#: Prompts kept in memory: the full one and the pruned one of an utterance.
_KEPT_PREFIXES = 2

#: Tokens of stems kept in memory, of all of them together.
_KEPT_STEM_TOKENS = 16_384


class CausalLanguageModel:
    """A local model whose attention can be had exactly.

    Raises:
        AttentionUnavailableError: On construction, if it can't be.
    """

    def __init__(
        self, id: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, traits: ModelTraits
    ) -> None:
        require_exact_attention(model)
        model.set_attn_implementation(IMPLEMENTATION)
        self.id, self.model, self.traits = id, model, traits
        self.tokenizer = HuggingFaceTokenizer(tokenizer)
        self._constraints: LLTokenizer | None = None
        self._grammars: dict[tuple[tuple[ReplyField, ...], str], ReplyGrammar] = {}
        self._prefixes: dict[tuple[int, tuple[int, ...]], Prefix] = {}
        self._shared_prefixes: dict[tuple[int, ...], Prefix] = {}

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request (see the contract)."""
        return (await self.generate_batch([request]))[0]

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts, decoded as one batch; one list per request."""
        return self._decode(requests, catch=False)[0]

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Like `generate`, and the attention score of every unit, averaged over the replies (Eq. 1)."""
        (replies,), rows = self._decode([request], catch=True)
        spans = [reply.text_tokens if options.rows == "utterance_only" else None for reply in replies]
        scores = [unit_scores(r, request.prompt, options, span) for r, span in zip(rows, spans, strict=True)]
        return replies, {unit: sum(s[unit] for s in scores) / len(scores) for unit in request.prompt.token_spans}

    async def score(
        self, prompt: RenderedPrompt, responses: Sequence[Sequence[int]], options: ScoringOptions
    ) -> list[dict[str, float]]:
        """Return the attention score of every unit for each response written elsewhere (Eq. 1)."""
        if any(len(response) == 0 for response in responses):
            raise ModelError("a response has no tokens; there is nothing whose attention could be scored")
        self._require_room(prompt, max(map(len, responses), default=0))
        rows = rows_of(self.model, self._prefix(prompt), responses)
        return [unit_scores(r, prompt, options) for r in rows]

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Return the mean log-probability of the reply's first text after the prompt, in nats per token."""
        first, past_last = reply.text_tokens
        self._require_room(prompt, past_last)
        prefix = self._prefix(prompt)
        logits = Decoding(self.model, prefix, 1, past_last, catch=False).read(
            [[prefix.tokens[-1], *reply.tokens[: past_last - 1]]]
        )
        logs = logits[0, first:past_last].float().log_softmax(-1)
        tokens = torch.tensor(reply.tokens[first:past_last], device=logs.device)
        return float(logs.gather(1, tokens[:, None]).mean())

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Return how likely each option is to come next, of these options alone; they sum to 1."""
        written = [self.tokenizer.encode(option) for option in options]
        self._require_room(prompt, max(map(len, written)))
        prefix = self._prefix(prompt)
        decoding = Decoding(self.model, prefix, len(written), max(map(len, written)), catch=False)
        logs = decoding.read([[prefix.tokens[-1], *tokens[:-1]] for tokens in written]).float().log_softmax(-1)
        totals = [logs[row, range(len(tokens)), tokens].sum() for row, tokens in enumerate(written)]
        return cast(list[float], torch.stack(totals).softmax(-1).tolist())

    def forget(self) -> None:
        """Drop the prompts that are kept in memory; results are the same without them."""
        self._prefixes.clear()
        self._shared_prefixes.clear()

    def _decode(self, requests: Sequence[GenerationRequest], *, catch: bool) -> tuple[list[list[Reply]], list[Tensor]]:
        """Return the replies by request, and the rows of Eq. 1 by reply if they are wanted."""
        grammars = [self._grammar(request) for request in requests]
        capacities = [capacity_of(grammar, self.tokenizer) for grammar in grammars]
        for request, capacity in zip(requests, capacities, strict=True):
            self._require_room(request.prompt, capacity)
        asking = [request for request in requests if request.generators]
        if not asking:
            return [[] for _ in requests], []
        decoding = Decoding(self.model, self._batch_prefixes(asking), 1, max(capacities), catch=catch)
        replies = decode_replies(decoding, list(zip(requests, grammars, strict=True)), self.tokenizer)
        if not catch:
            return replies, []
        return replies, [decoding.caught(i, len(reply.tokens)) for i, reply in enumerate(chain.from_iterable(replies))]

    def _grammar(self, request: GenerationRequest) -> ReplyGrammar:
        key = (request.fields, request.prompt.reply_prefix)
        if self._constraints is None:
            try:
                self._constraints = llguidance.hf.from_tokenizer(self.tokenizer.tokenizer)
            except (ValueError, RuntimeError) as error:
                raise ModelError(f"the tokenizer of {self.id} can't be held to a grammar ({error})") from error
        if key not in self._grammars:
            self._grammars[key] = ReplyGrammar(self._constraints, self.tokenizer, *key)
        return self._grammars[key]

    def _batch_prefixes(self, requests: Sequence[GenerationRequest]) -> list[Prefix]:
        """Return the prefix of every row. A batch of prompts keeps none: it may have any number of them."""
        if len(requests) == 1:
            return [self._prefix(requests[0].prompt)] * len(requests[0].generators)
        read: dict[tuple[int, tuple[int, ...]], Prefix] = {}
        for prompt in (request.prompt for request in requests):
            key = (prompt.shared_prefix, prompt.input_ids)
            read[key] = read.get(key) or self._prefixes.get(key) or self._read(prompt)
        return [read[r.prompt.shared_prefix, r.prompt.input_ids] for r in requests for _ in r.generators]

    def _prefix(self, prompt: RenderedPrompt) -> Prefix:
        key = (prompt.shared_prefix, prompt.input_ids)
        prefix = self._prefixes.pop(key, None) or self._read(prompt)
        while len(self._prefixes) >= _KEPT_PREFIXES:
            del self._prefixes[next(iter(self._prefixes))]
        self._prefixes[key] = prefix
        return prefix

    def _read(self, prompt: RenderedPrompt) -> Prefix:
        """Read a prompt: its shared_prefix by itself if it is not in memory, then what follows."""
        tokens = prompt.input_ids
        shared = tokens[: min(prompt.shared_prefix, len(tokens) - 1)]
        if not shared:
            return read_prefix(self.model, tokens)
        shared_prefix = self._shared_prefixes.pop(shared, None) or read_prefix(self.model, tokens[: len(shared) + 1])
        self._shared_prefixes[shared] = shared_prefix
        while sum(map(len, self._shared_prefixes)) > _KEPT_STEM_TOKENS:
            del self._shared_prefixes[next(iter(self._shared_prefixes))]
        return read_prefix(self.model, tokens, shared_prefix)

    def _require_room(self, prompt: RenderedPrompt, reply: int) -> None:
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


def unit_scores(
    rows: Tensor, prompt: RenderedPrompt, options: ScoringOptions, span: tuple[int, int] | None = None
) -> dict[str, float]:
    """Reduce the rows of one response to the score of every unit. Source: APP §3.1, Eq. 1; App. C for mean-mean.

    Args:
        rows: `(n, P)`: attention of each reply token's row to each prompt token, mean over heads, sum over layers.
        prompt: The prompt with its token spans.
        options: The reducer.
        span: The reply tokens whose rows count, `(first, past_last)`; all of them if `None`.
    """
    first, past_last = span or (0, len(rows))
    per_token = rows[first:past_last].cpu().double().mean(0)
    scores = {}
    for unit, (start, end) in prompt.token_spans.items():
        total = float(per_token[start:end].sum())
        scores[unit] = total / max(1, end - start) if options.reducer == "mean-mean" else total
    return scores
