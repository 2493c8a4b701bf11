"""Grammars of JSON replies (by llguidance): no reply is malformed, and none breaks off within a sentence.

A `ReplyGrammar` is compiled once per set of fields; each row of a batch has a `ReplyMatcher`, which knows the tokens
that may come next and those that must. `read_reply` reads the finished reply.
"""

import json
import re
from collections.abc import Sequence

import numpy as np
from llguidance import LLMatcher, LLTokenizer
from numpy.typing import NDArray

from tertulia.models.speech import BRACKETS, CONTROLS, EMPHASIS, SENTENCE_END
from tertulia.state.errors import ModelError
from tertulia.state.language_model import ReplyField, Tokenizer
from tertulia.state.records import Reply

#: Never inside a string: quotes and backslashes (no escapes are needed then), line breaks and control characters.
_CONTROL = rf'"\\{CONTROLS}'
_MARKUP = BRACKETS + EMPHASIS
_SENTENCE_END = rf"{SENTENCE_END}['’”)]?"
_ENDS_WITH_SENTENCE = re.compile(_SENTENCE_END + r"\s*$")

_VALUES = {
    "speech": rf"[^\s.,;:!?)\-\x2F%&+$@{_CONTROL}{_MARKUP}][^{_CONTROL}{_MARKUP}]*{_SENTENCE_END}",
    "text": rf"[^\s{_CONTROL}][^{_CONTROL}]*",
    "word": r"[!#-\[\]-~]",  # ASCII: at most one token a character
    "boolean": "true|false",
}


class ReplyGrammar:
    """The grammar of a JSON object with these fields, in this order, separated by `", "` and `": "`."""

    def __init__(
        self, constraints: LLTokenizer, tokenizer: Tokenizer, fields: tuple[ReplyField, ...], reply_prefix: str
    ) -> None:
        self.fields, self.reply_prefix, self.encode = fields, reply_prefix, tokenizer.encode
        self.literals = _literals(fields)
        sequence = [f"{_lark(literal)} V{i}" for i, literal in enumerate(self.literals[:-1])]
        rules = [f"start: {' '.join(sequence)} {_lark(self.literals[-1])}"]
        rules += [f"V{i}: {_value(field)}" for i, field in enumerate(fields)]
        self._matcher = LLMatcher(constraints, LLMatcher.grammar_from_lark("\n".join(rules)))
        self.vocabulary = constraints.vocab_size
        if self._matcher.is_error() or not self._matcher.consume_tokens(self.encode(reply_prefix)):
            raise ModelError(f"the reply can't begin with {reply_prefix!r}: {self._matcher.get_error()}")

    def matcher(self) -> "ReplyMatcher":
        """Return a matcher at the beginning of a reply, after its `reply_prefix`."""
        return ReplyMatcher(self, self._matcher.deep_copy())


class ReplyMatcher:
    """The state of an unfinished reply in its grammar."""

    def __init__(self, grammar: ReplyGrammar, matcher: LLMatcher) -> None:
        self.grammar, self._matcher = grammar, matcher
        self._mask = np.zeros((grammar.vocabulary + 31) // 32, dtype=np.int32)

    def allowed(self) -> NDArray[np.bool_]:
        """Return which tokens may come next, `(vocabulary,)`."""
        return ~self.forbidden()

    def forbidden(self) -> NDArray[np.bool_]:
        """Return which tokens may not come next, `(vocabulary,)`."""
        self._matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
        bits = np.unpackbits(~self._mask.view(np.uint8), bitorder="little")
        return bits[: self.grammar.vocabulary].view(np.bool_)

    def accept(self, tokens: Sequence[int]) -> None:
        """Append tokens to the reply."""
        if tokens and not self._matcher.consume_tokens(list(tokens)):
            raise ModelError(f"the reply's grammar refuses a token that it allowed ({self._matcher.get_error()})")

    def accepts(self, tokens: Sequence[int]) -> bool:
        """Return whether these tokens may come next."""
        return bool(self._matcher.validate_tokens(list(tokens)) == len(tokens))

    def rollback(self, tokens: int) -> None:
        """Remove the last tokens."""
        if tokens and not self._matcher.rollback(tokens):
            raise ModelError(f"the reply's grammar can't go back ({self._matcher.get_error()})")

    def forced(self) -> list[int]:
        """Return the tokens that must come next, none if there is a choice.

        A space at their end is left out: it may be part of the token that follows.
        """
        try:
            text = self._matcher.compute_ff_bytes().decode("utf-8")
        except UnicodeDecodeError:  # the rest of a character that is not whole yet
            return []
        # Not by the tokenizer of the grammar: it would read markup in a name.
        return self.grammar.encode(text.rstrip(" "))

    def finished(self) -> bool:
        """Return whether the reply is complete."""
        return bool(self._matcher.is_stopped() or self._matcher.is_accepting())

    def position(self, text: str) -> int | None:
        """Return the index of the field that `text`, the reply so far, is in; `None` between fields."""
        at = 0
        for index, literal in enumerate(self.grammar.literals[:-1]):
            if not text.startswith(literal, at):
                return None
            start, behind = at + len(literal), self.grammar.literals[index + 1][0]
            if self.grammar.fields[index].kind == "choice":  # may hold the text behind it
                choices = map(_escaped, self.grammar.fields[index].choices)
                end = next((start + len(choice) for choice in choices if text.startswith(choice + behind, start)), -1)
            else:
                end = text.find(behind, start)
            if end < 0:
                return index
            at = end
        return None


def ends_with_sentence(text: str) -> bool:
    """Return whether `text` ends with the end of a sentence."""
    return bool(_ENDS_WITH_SENTENCE.search(text))


def read_reply(grammar: ReplyGrammar, written: str, tokens: Sequence[int], text_tokens: tuple[int, int]) -> Reply:
    """Return the reply whose text is the grammar's `reply_prefix` and the text written after it."""
    text = grammar.reply_prefix + written
    return Reply(text=text, tokens=tuple(tokens), text_tokens=text_tokens, fields=json.loads(text))


def _literals(fields: Sequence[ReplyField]) -> list[str]:
    """Return the text before each value, and after the last."""
    literals, closing = [], "{"
    for field in fields:
        opening = '"' if field.kind in ("speech", "text", "choice", "word") else ""
        literals.append(f"{closing}{json.dumps(field.name, ensure_ascii=False)}: {opening}")
        closing = f"{opening}, "
    return [*literals, closing.removesuffix(", ") + "}"]


def _value(field: ReplyField) -> str:
    if field.kind == "choice":
        return " | ".join(_lark(_escaped(choice)) for choice in field.choices)
    if field.kind == "integer":
        return f"/{'|'.join(map(str, range(field.maximum, field.minimum - 1, -1)))}/"
    if field.kind == "word":
        return f"/{_VALUES['word']}{{1,{field.max_tokens}}}/"
    return f"/{'|'.join(field.choices) or _VALUES[field.kind]}/"


def _escaped(text: str) -> str:
    """Return a text in the form that it has between the quotes of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _lark(literal: str) -> str:
    return json.dumps(literal, ensure_ascii=False)
