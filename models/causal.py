"""Any causal model of transformers as a `LanguageModel`: replies, scores and likelihoods from one prefill.

A prompt is read once; the last three prompts stay in memory, so that the judge, which needs the full and the pruned
prompt again, reads only the reply. What prompts begin with is kept for later ones, such as those of a speaker's next
turn, which read only what is new. Below it: `decoding_state` and `kept_chunks` (keys and values), `decoding`
(sampling), `grammar` (JSON), `attention_scores` (Eq. 1).
"""

from collections.abc import Sequence
from itertools import chain
from typing import cast

import llguidance.hf
import torch
from llguidance import LLTokenizer
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from models.attention_scores import NEUTRAL_REPLY, attention_to_prompt, require_exact_attention, unit_scores
from models.decoding import capacity_of, decode_replies
from models.decoding_state import DecodingState, Prefix, prefill
from models.grammar import ReplyGrammar
from models.kept_chunks import KeptChunks
from models.packed_linear import weight_bytes
from models.sight import PictureProcessor, ProcessorTokenizer
from models.tokenizer import HuggingFaceTokenizer
from state.errors import ContextWindowError, ModelError
from state.language_model import (
    GenerationRequest,
    ModelTraits,
    PictureLookup,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
)
from state.records import Reply

#: Prompts kept in memory: the full one and the pruned one of an utterance, and the one without its context.
_KEPT_PREFIXES = 3

#: Bytes of keys and values kept in memory for later prompts: 22,000 tokens of the embedded model in bfloat16. A large
#: model may keep more, a share of the bytes of its weights.
_KEPT_BYTES, _KEPT_SHARE = 512 << 20, 0.25


#: What a prompt is known by: its shared prefix, its tokens, and its pictures, all of which may have the same tokens.
_PromptKey = tuple[int, tuple[int, ...], tuple[tuple[int, str], ...]]


class CausalLanguageModel:
    """A local model whose attention is captured exactly.

    Raises:
        AttentionUnavailableError: On construction, if it can't be captured.
    """

    def __init__(
        self,
        id: str,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        traits: ModelTraits,
        processor: PictureProcessor | None = None,
    ) -> None:
        self._sight = None if processor is None else ProcessorTokenizer(tokenizer, processor)
        require_exact_attention(model, self._sight)
        self.id, self.model, self.traits = id, model, traits
        self.tokenizer = self._sight or HuggingFaceTokenizer(tokenizer)
        self._constraints: LLTokenizer | None = None
        self._grammars: dict[tuple[tuple[ReplyField, ...], str], ReplyGrammar] = {}
        self._prefixes: dict[_PromptKey, Prefix] = {}
        self._kept = KeptChunks(max(_KEPT_BYTES, int(_KEPT_SHARE * weight_bytes(model))))

    def use_pictures(self, lookup: PictureLookup) -> None:
        """Take the bytes of pictures from there; nothing for a model that sees none."""
        if self._sight is not None:
            self._sight.use_pictures(lookup)

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request (see the contract)."""
        return (await self.generate_batch([request]))[0]

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts, decoded as one batch; one list per request."""
        return self._decode(requests, capture=False)[0]

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Like `generate`, and the attention score of every unit, averaged over the replies (Eq. 1)."""
        (replies,), attention = self._decode([request], capture=True)
        spans = [reply.text_tokens if options.rows == "utterance_only" else None for reply in replies]
        neutral = self._neutral_attention(request.prompt, options)
        scores = [
            unit_scores(a, request.prompt, options, span, neutral) for a, span in zip(attention, spans, strict=True)
        ]
        return replies, {unit: sum(s[unit] for s in scores) / len(scores) for unit in request.prompt.token_spans}

    async def score(
        self, prompt: RenderedPrompt, responses: Sequence[Sequence[int]], options: ScoringOptions
    ) -> list[dict[str, float]]:
        """Return the attention score of every unit for each response written elsewhere (Eq. 1)."""
        if any(len(response) == 0 for response in responses):
            raise ModelError("a response has no tokens; there is nothing whose attention could be scored")
        self._require_fit(prompt, max(map(len, responses), default=0))
        attention = attention_to_prompt(self.model, self._prefix(prompt), responses)
        neutral = self._neutral_attention(prompt, options)
        return [unit_scores(a, prompt, options, neutral=neutral) for a in attention]

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Return the mean log-probability of the reply's first text after the prompt, in nats per token."""
        first, past_last = reply.text_tokens
        self._require_fit(prompt, past_last)
        prefix = self._prefix(prompt)
        state = DecodingState(self.model, prefix, 1, past_last, capture=False)
        logits = state.forward([[prefix.tokens[-1], *reply.tokens[: past_last - 1]]])
        logs = logits[0, first:past_last].float().log_softmax(-1)
        tokens = torch.tensor(reply.tokens[first:past_last], device=logs.device)
        return float(logs.gather(1, tokens[:, None]).mean())

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Return how likely each option is to come next, of these options alone; they sum to 1."""
        encoded = [self.tokenizer.encode(option) for option in options]
        longest = max(map(len, encoded))
        self._require_fit(prompt, longest)
        prefix = self._prefix(prompt)
        state = DecodingState(self.model, prefix, len(encoded), longest, capture=False)
        logs = state.forward([[prefix.tokens[-1], *tokens[:-1]] for tokens in encoded]).float().log_softmax(-1)
        totals = [logs[row, range(len(tokens)), tokens].sum() for row, tokens in enumerate(encoded)]
        return cast(list[float], torch.stack(totals).softmax(-1).tolist())

    def clear_cache(self) -> None:
        """Drop the prompts kept in memory; results are the same without them."""
        self._prefixes.clear()
        self._kept.clear()

    def _neutral_attention(self, prompt: RenderedPrompt, options: ScoringOptions) -> Tensor | None:
        """Return the attention of the neutral reply, where the reducer needs it."""
        if options.reducer != "beyond-neutral":
            return None
        reply = self.tokenizer.encode(NEUTRAL_REPLY)
        self._require_fit(prompt, len(reply))
        (attention,) = attention_to_prompt(self.model, self._prefix(prompt), [reply])
        return attention

    def _decode(
        self, requests: Sequence[GenerationRequest], *, capture: bool
    ) -> tuple[list[list[Reply]], list[Tensor]]:
        """Return the replies by request, and the attention of each reply to its prompt if it is captured."""
        grammars = [self._grammar(request) for request in requests]
        capacities = [capacity_of(grammar, self.tokenizer) for grammar in grammars]
        for request, capacity in zip(requests, capacities, strict=True):
            self._require_fit(request.prompt, capacity)
        answered = [request for request in requests if request.generators]
        if not answered:
            return [[] for _ in requests], []
        prefixes = self._batch_prefixes(answered)
        prefixes += [
            self._prefix(request.without_context)
            for request in answered
            if request.without_context is not None
            for _ in request.generators
        ]
        state = DecodingState(self.model, prefixes, 1, max(capacities), capture=capture)
        replies = decode_replies(state, list(zip(requests, grammars, strict=True)), self.tokenizer)
        if not capture:
            return replies, []
        rows = enumerate(chain.from_iterable(replies))
        return replies, [state.attention_of_row(row, len(reply.tokens)) for row, reply in rows]

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
        """Return the prefix of every row. Those of several prompts are not kept whole: there may be any number."""
        if len(requests) == 1:
            return [self._prefix(requests[0].prompt)] * len(requests[0].generators)
        prefixes: dict[_PromptKey, Prefix] = {}
        for prompt in (request.prompt for request in requests):
            key = _key(prompt)
            prefixes[key] = prefixes.get(key) or self._prefixes.get(key) or self._read(prompt)
        return [prefixes[_key(r.prompt)] for r in requests for _ in r.generators]

    def _prefix(self, prompt: RenderedPrompt) -> Prefix:
        key = _key(prompt)
        prefix = self._prefixes.pop(key, None) or self._read(prompt)
        while len(self._prefixes) >= _KEPT_PREFIXES:
            del self._prefixes[next(iter(self._prefixes))]
        self._prefixes[key] = prefix
        return prefix

    def _read(self, prompt: RenderedPrompt) -> Prefix:
        pictures = None if self._sight is None else self._sight.inputs(prompt)
        return prefill(self.model, prompt.input_ids, prompt.shared_prefix, self._kept, pictures)

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


def _key(prompt: RenderedPrompt) -> _PromptKey:
    return prompt.shared_prefix, prompt.input_ids, prompt.pictures
