"""A tokenizer of transformers, or a bare one, with the project's interface.

Text is data: chat markup comes only from the model's template, and nothing in a text is read as markup.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from llguidance import LLTokenizer

from tertulia.models.local.bare_tokenizer import BareTokenizer
from tertulia.state.errors import ModelError
from tertulia.state.language_model import Role
from tertulia.state.text import whole_characters

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

#: Replaces a message's content while the model's chat template is read.
_PLACEHOLDER = "\ue000{}\ue001"


class HuggingFaceTokenizer:
    """Implements `state.language_model.Tokenizer`."""

    def __init__(self, tokenizer: "PreTrainedTokenizerFast | BareTokenizer") -> None:
        self.tokenizer = tokenizer
        added = sorted(tokenizer.get_added_vocab(), key=len, reverse=True)
        self._markup = re.compile("|".join(map(re.escape, added))) if added else None
        self._newline = self._tokens("\n")
        self._known_markup: dict[tuple[Role, ...], list[list[int]]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the tokens of `text` in the middle of a prompt; no special token among them.

        Half a surrogate pair, which tokenizers refuse, is read as U+FFFD.
        """
        text = whole_characters(text)
        if self._markup is None:
            return self._encode_piece(text)
        tokens: list[int] = []
        start = 0
        for match in self._markup.finditer(text):
            # Cut inside a piece that looks like markup: neither half is a special token.
            cut = match.start() + 1
            tokens += self._encode_piece(text[start:cut])
            start = cut
        return tokens + self._encode_piece(text[start:])

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of `tokens`."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def chat_markup(self, roles: Sequence[Role]) -> list[list[int]]:
        """Return the tokens of the model's markup around messages of these roles (see the contract).

        For a tokenizer without a chat template, messages are lines.
        """
        key = tuple(roles)
        if key not in self._known_markup:
            self._known_markup[key] = self._read_markup(key)
        return self._known_markup[key]

    def constraints(self) -> LLTokenizer:
        """Return the tokenizer in the form that grammars take (`grammar.ReplyGrammar`).

        Raises:
            ValueError: It has no such form.
        """
        if isinstance(self.tokenizer, BareTokenizer):
            return LLTokenizer(self.tokenizer.text, eos_token=self.tokenizer.end)
        import llguidance.hf

        return llguidance.hf.from_tokenizer(self.tokenizer)

    def _read_markup(self, roles: tuple[Role, ...]) -> list[list[int]]:
        if not self._has_template:
            start = self._special_start()
            return [start if i == 0 else self._newline for i in range(len(roles) + 1)]
        contents = [_PLACEHOLDER.format(i) for i in range(len(roles))]
        messages = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]
        try:
            text = self._apply_template(messages)
        except Exception as error:  # templates raise their own errors from Jinja
            if roles[:2] == ("system", "user"):
                # The template knows no system role: its text opens the first user message.
                return self._without_system(roles)
            raise ModelError(f"the chat template refuses messages of the roles {', '.join(roles)} ({error})") from None
        pieces = re.split("|".join(map(re.escape, contents)), text)
        if len(pieces) != len(roles) + 1:
            if roles[:2] == ("system", "user"):
                return self._without_system(roles)
            raise ModelError(f"the chat template drops messages (roles {', '.join(roles)}); use layout=single_message")
        return [self._markup_tokens(piece, is_first=i == 0) for i, piece in enumerate(pieces)]

    @property
    def _has_template(self) -> bool:
        return bool(self.tokenizer.chat_template)

    def _apply_template(self, messages: list[dict[str, str]]) -> str:
        return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def _markup_tokens(self, text: str, *, is_first: bool) -> list[int]:
        return self._tokens(text)

    def _without_system(self, roles: tuple[Role, ...]) -> list[list[int]]:
        first, *rest = self._read_markup(roles[1:])
        return [first, self._newline, *rest]

    def _special_start(self) -> list[int]:
        return list(self.tokenizer("", add_special_tokens=True).input_ids)

    def _tokens(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False).input_ids)

    def _encode_piece(self, text: str) -> list[int]:
        # After a line break, or tokenizers that mark the beginning of a text would put a space before it.
        if not text:
            return []
        tokens = self._tokens("\n" + text)
        if tokens[: len(self._newline)] == self._newline:
            return tokens[len(self._newline) :]
        return self._tokens(text)
