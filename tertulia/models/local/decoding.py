"""Sampling of replies: rows of one prompt or of several, each with a grammar matcher and a generator.

1. Every row reads its unread tokens (one, or several that the grammar forces at once).
2. From the logits after its last token each row draws the next one among those that its grammar allows.
3. A text that reaches its limit is truncated to its last whole sentence and closed there; a draft, where the likeliest
   is taken, behind its first sentence.

This module knows nothing of units; attention is captured by `decoding_state` on the way.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import torch
from torch import Tensor

from tertulia.models.local.decoding_state import DecodingState
from tertulia.models.local.grammar import ReplyGrammar, ReplyMatcher, ends_with_sentence, read_reply
from tertulia.models.local.repetition import repeating_tokens, repetition_penalties
from tertulia.prompts.placeholders import continues_placeholder, form_of, is_label, is_placeholder
from tertulia.state.language_model import GenerationRequest, ReplyField, Tokenizer
from tertulia.state.records import Reply
from tertulia.state.words import has_unspaced

#: Rank up to which the nucleus is looked for before all of the vocabulary is sorted.
_LIKELY = 256

#: The share of the likeliest token's probability below which a token is not drawn while the context is amplified.
_PLAUSIBLE = 0.05

#: The most consecutive tokens that a text may repeat from itself or the latest lines, if repetitions are unwanted.
_NOT_REPEATED_NEARBY = 3

#: The fewest words with which speech that could go on is ended.
_FEWEST_WORDS = 4

#: Signs within a word, within a number, and the tokenizer's placeholder for the first bytes of a sign.
_APOSTROPHES = frozenset("'’ʼ")
_JOINS_LETTERS = _APOSTROPHES | frozenset("-‐‑")
_JOINS_DIGITS = frozenset(".,:")
_UNFINISHED = "\ufffd"


@dataclass
class _Row:
    """An unfinished reply.

    Attributes:
        tokens: All tokens of the reply so far.
        unread: Number of tokens at their end that the model has not read yet.
        text_starts: By text field, the number of tokens before it.
        information: By its place, the log-probability of each token that was drawn in a text, or what the context adds
            to that.
        form: The placeholder of each text in the prompt's form.
        written: The tokens that were decoded last, and their text.
    """

    request: GenerationRequest
    grammar: ReplyGrammar
    matcher: ReplyMatcher
    generator: random.Random
    tokens: list[int] = field(default_factory=list)
    unread: int = 0
    text_starts: dict[int, int] = field(default_factory=dict)
    information: dict[int, float] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    written: tuple[tuple[int, ...], str] = ((), "")
    finished: bool = False

    def text(self, tokenizer: Tokenizer) -> str:
        """Return the reply so far, with the beginning that the prompt gives it."""
        tokens = tuple(self.tokens)
        if self.written[0] != tokens:
            self.written = tokens, tokenizer.decode(self.tokens)
        return self.grammar.reply_prefix + self.written[1]


def capacity_of(grammar: ReplyGrammar, tokenizer: Tokenizer) -> int:
    """Return the number of tokens that the longest reply of this grammar may have."""
    literals = sum(len(tokenizer.encode(literal)) for literal in grammar.literals)
    return literals + sum(_longest(f, tokenizer) for f in grammar.fields) + 8


def _longest(field: ReplyField, tokenizer: Tokenizer) -> int:
    if field.kind == "choice":
        return 2 * max(len(tokenizer.encode(choice)) for choice in field.choices) + 2  # escaped, it may be longer
    return field.max_tokens + 2 if field.kind in ("speech", "text", "word") else 4


def decode_replies(
    state: DecodingState,
    requests: Sequence[tuple[GenerationRequest, ReplyGrammar]],
    tokenizer: Tokenizer,
) -> list[list[Reply]]:
    """Return one reply per generator of each request, drawn by temperature and nucleus within the grammar.

    Args:
        state: Rows that have read nothing yet, one per generator, in the order of the requests; behind them, in that
            order too, those that read the replies after the prompt without its context, if a request has one.
        requests: Each with the grammar of its replies. A generator draws one number for each free token of its row.
    """
    forms = [form_of(request.prompt.source) for request, _ in requests]
    by_request = [
        [_Row(r, grammar, grammar.matcher(), generator, form=form) for generator in r.generators]
        for (r, grammar), form in zip(requests, forms, strict=True)
    ]
    rows = [row for rows_of_request in by_request for row in rows_of_request]
    to_read: list[list[int]] = []
    for row in rows:
        _extend(row, row.matcher.forced())
        to_read.append([row.request.prompt.input_ids[-1], *row.tokens])
    contrasted = [index for index, row in enumerate(rows) if row.request.without_context is not None]
    contrast_of = {index: len(rows) + at for at, index in enumerate(contrasted)}
    to_read += [to_read[index] for index in contrasted]  # both prompts end alike
    while any(not row.finished for row in rows):
        logits = state.next_logits(to_read)
        for index, row in enumerate(rows):
            if row.finished:
                continue
            row.unread = 0
            contrast = contrast_of.get(index)
            without = None if contrast is None else logits[contrast]
            _advance(row, logits[index], without, tokenizer)
            kept = 1 + len(row.tokens) - row.unread
            for at in (index,) if contrast is None else (index, contrast):
                if state.lengths[at] > kept:
                    state.truncate(at, state.lengths[at] - kept)
        to_read = [[] if row.finished else row.tokens[-row.unread :] for row in rows]
        to_read += [to_read[index] for index in contrasted]
    if state.captured_attention is not None:
        _read_rest(state, rows)
    return [[_finish(row, tokenizer) for row in rows_of_request] for rows_of_request in by_request]


def _advance(row: _Row, logits: Tensor, without_context: Tensor | None, tokenizer: Tokenizer) -> None:
    """Draw the next token of a row, append the tokens that the grammar forces, and close a text at its limit."""
    grammar = row.grammar
    forbidden = torch.from_numpy(row.matcher.forbidden())
    gains = None if without_context is None else logits.log_softmax(-1) - without_context.log_softmax(-1)
    information = logits.log_softmax(-1) if row.request.is_best_of else gains
    logits = logits[: len(forbidden)].masked_fill(forbidden[: len(logits)], -torch.inf)
    index = row.matcher.position(row.text(tokenizer))
    token = _draw(row, index, logits, gains, tokenizer)
    _extend(row, [token])
    index = row.matcher.position(row.text(tokenizer))
    if index is not None and grammar.fields[index].kind in ("speech", "text"):
        start = row.text_starts.setdefault(index, len(row.tokens) - 1)
        if information is not None:
            row.information[len(row.tokens) - 1] = float(information[token])
        is_long = len(row.tokens) - start >= grammar.fields[index].max_tokens
        is_one_speech = row.request.is_best_of and len(grammar.fields) == 1
        if is_long or (is_one_speech and _goes_on(row.tokens[start:], tokenizer)):
            _close(row, grammar.fields[index], start, tokenizer)
    _extend(row, row.matcher.forced())
    row.finished = row.matcher.finished()


def _draw(row: _Row, index: int | None, logits: Tensor, gains: Tensor | None, tokenizer: Tokenizer) -> int:
    """Return the next token of a row, in the field `index`; tokens that are no speech are not drawn."""
    request, number = row.request, row.generator.random()
    if index is None or row.grammar.fields[index].kind not in ("speech", "text"):
        return draw_token(logits, number, request.temperature, request.top_p, request.min_p)
    text = row.tokens[row.text_starts.get(index, len(row.tokens)) :]
    while True:
        spoken = text_logits(text, logits, gains, request, tokenizer)
        token = draw_token(spoken, number, request.temperature, request.top_p, request.min_p)
        if not _is_no_speech(row, index, [*text, token], tokenizer):
            return token
        logits[token] = -torch.inf
        if logits.amax() == -torch.inf:
            return token


def text_logits(
    text: Sequence[int], logits: Tensor, gains: Tensor | None, request: GenerationRequest, tokenizer: Tokenizer
) -> Tensor:
    """Return the logits of a text's next token: without repetitions, or less of them, and with its context amplified.

    The context decides which word comes, the model alone how it is spelled: names would get letters of others.
    """
    found = repeating_tokens(text, request.no_repeat_from, request.no_repeat_ngram)
    nearby = [text, *request.recent_lines]
    found += repeating_tokens(text, nearby, min(request.no_repeat_ngram, _NOT_REPEATED_NEARBY))
    repeats = [token for token in dict.fromkeys(found) if not continues_word(text, token, tokenizer)]
    without = logits.index_fill(0, torch.tensor(repeats, dtype=torch.long), -torch.inf) if repeats else logits
    if repeats and without.amax() > -torch.inf:
        logits = without
    if request.dry:
        penalties = repetition_penalties(text, request.no_repeat_from, request.dry, tokenizer)
        tokens = torch.tensor([*penalties], dtype=torch.long)
        logits = logits.index_add(0, tokens, -torch.tensor([*penalties.values()], dtype=logits.dtype))
    if gains is None or not request.context_strength:
        return logits
    within_word = continues_word(text, int(logits.argmax()), tokenizer)
    return amplified(logits, gains[: len(logits)], 0.0 if within_word else request.context_strength)


def _is_no_speech(row: _Row, index: int, tokens: Sequence[int], tokenizer: Tokenizer) -> bool:
    """Return whether speech of these tokens begins with a speaker's name or the words of the form, or is only these."""
    field = row.grammar.fields[index]
    if field.kind != "speech":
        return False
    text, end, _ = tokenizer.decode(tokens).partition('"')
    form = row.form.get(field.name)
    return (
        is_label(text, row.request.prompt.source)
        or continues_placeholder(text, form)
        or (bool(end) and is_placeholder(text, form))
    )


def _extend(row: _Row, tokens: list[int]) -> None:
    row.matcher.accept(tokens)
    row.tokens += tokens
    row.unread += len(tokens)


def _close(row: _Row, field: ReplyField, start: int, tokenizer: Tokenizer) -> None:
    """End a text at its last whole sentence; speech without one trails off at its last whole character."""
    quote = tokenizer.encode('"')
    for end in range(len(row.tokens), start, -1):
        text = tokenizer.decode(row.tokens[start:end])
        if ends_with_sentence(text) and not is_placeholder(text, row.form.get(field.name)):
            _truncate(row, end)
            if row.matcher.accepts(quote):  # not after a space, or if the sentence's end is all there is
                _extend(row, quote)
                return
    closing = tokenizer.encode('…"') if field.kind == "speech" else quote
    while not row.matcher.accepts(closing):
        _truncate(row, len(row.tokens) - 1)
    _extend(row, closing)


def _truncate(row: _Row, end: int) -> None:
    surplus = len(row.tokens) - end
    row.matcher.rollback(surplus)
    del row.tokens[end:]
    row.information = {at: figure for at, figure in row.information.items() if at < end}
    row.unread = max(0, row.unread - surplus)


def _read_rest(state: DecodingState, rows: Sequence[_Row]) -> None:
    """Read the tokens that the grammar forced at the end, except the last token: Eq. 1 has no row for it."""
    rest = [row.tokens[len(row.tokens) - row.unread : -1] for row in rows]
    if any(rest):
        state.read_attention([*rest, *([] for _ in range(len(state.lengths) - len(rest)))])


def _goes_on(tokens: Sequence[int], tokenizer: Tokenizer) -> bool:
    """Return whether the last token goes on behind a whole sentence, of some words: `Yes.` answers any question."""
    text = tokenizer.decode(tokens[:-1])
    if not ends_with_sentence(text) or len(text.split()) < _FEWEST_WORDS:
        return False
    return tokenizer.decode(tokens)[len(text) :].startswith(" ")


def _finish(row: _Row, tokenizer: Tokenizer) -> Reply:
    written = tokenizer.decode(row.tokens)
    reply = read_reply(row.grammar, written, row.tokens, _text_tokens(row.tokens, written, row.grammar, tokenizer))
    if not row.information:
        return reply
    return reply.model_copy(update={"information": fmean(row.information.values())})


def _text_tokens(tokens: Sequence[int], written: str, grammar: ReplyGrammar, tokenizer: Tokenizer) -> tuple[int, int]:
    """Return which tokens hold the first text field; all of them if there is none."""
    first_text = next((i for i, f in enumerate(grammar.fields) if f.kind in ("speech", "text")), None)
    if first_text is None:
        return 0, len(tokens)
    opening = max(0, len("".join(grammar.literals[: first_text + 1])) - len(grammar.reply_prefix))
    closing = written.index('"', opening)
    ends = [len(tokenizer.decode(tokens[: i + 1])) for i in range(len(tokens))]
    first = next(i for i, end in enumerate(ends) if end > opening)
    quote = next(i for i, end in enumerate(ends) if end > closing)
    return first, quote if quote and ends[quote - 1] == closing else quote + 1


def amplified(logits: Tensor, gains: Tensor, strength: float) -> Tensor:
    """Return logits in which the context counts more. Source: Shi et al. 2023, Eq. 2; Li et al. 2023, Eq. 2.

    The log-probability of a token grows by its gain by the context, times `strength`. A token with less than a
    twentieth of the probability of the likeliest may not come: there the difference is noise.

    Args:
        logits: `(V,)` after the whole prompt, `-inf` for a token that may not come.
        gains: `(V,)`, the context's contribution to the log-probability of each token.
        strength: α, from 0.
    """
    plausible = logits >= logits.max() + math.log(_PLAUSIBLE)
    return torch.where(plausible, logits + strength * gains, -torch.inf)


def continues_word(text: Sequence[int], token: int, tokenizer: Tokenizer) -> bool:
    """Return whether a token continues a word: a banned repetition may not begin, but is never broken off.

    Else a name that was said before would end in other letters, `isn` in something else than `'t`, and `7:` in another
    minute. A sign of a script without spaces is a word by itself.
    """
    spelled = tokenizer.decode(text[-6:])
    before, added = spelled[-2:], tokenizer.decode([*text[-6:], token])[len(spelled) :][:1]
    is_letter = before[-1:].isalpha() and not has_unspaced(before[-1:])
    if before.endswith(_UNFINISHED) or (added == _UNFINISHED and is_letter):
        return True  # in the middle of a sign, or perhaps of an apostrophe
    if before[-1:].isalnum():
        return added in _APOSTROPHES or (added.isalnum() and not has_unspaced(before[-1:] + added))
    joins = _JOINS_DIGITS if before[:1].isdigit() and added.isdigit() else _JOINS_LETTERS
    return before[:1].isalnum() and before[1:] in joins and added.isalnum()


def draw_token(logits: Tensor, number: float, temperature: float, top_p: float, min_p: float = 0.0) -> int:
    """Return the token drawn by a number in [0, 1) from the nucleus of the distribution, or from less of it by min-p.

    Both see the distribution at the temperature, as Nguyen et al. 2024 define min-p and as transformers orders its
    warpers. The nucleus is of all tokens, not of those that min-p leaves. Source: Holtzman et al. 2020 for the nucleus.

    Args:
        logits: `(V,)` in float32, `-inf` for a token that may not come.
        temperature: Above 0.
        top_p: The nucleus is the smallest set of most likely tokens with at least this probability.
        min_p: From 0 to 1: the share of the likeliest token's probability below which none is drawn; 0: off.
    """
    probabilities = (logits / temperature).softmax(-1)
    ranked, order = probabilities.topk(min(_LIKELY, len(probabilities)))
    if ranked.sum() < top_p:
        ranked, order = probabilities.sort(descending=True)
    cumulated = ranked.double().cumsum(-1)
    nucleus = int((cumulated < top_p).sum()) + 1
    if min_p:
        nucleus = min(nucleus, int((ranked >= min_p * ranked[0]).sum()))
    cumulated = cumulated[:nucleus]
    drawn = int(torch.searchsorted(cumulated, number * cumulated[-1].item(), right=True))
    return int(order[min(drawn, len(cumulated) - 1)])
