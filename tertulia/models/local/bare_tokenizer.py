"""The tokenizer in a folder by the `tokenizers` library alone, with the methods that `tokenizer` needs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from tertulia.state.files import read_text

#: The most characters of a template and of the tokenizer's options, and of the tokenizer.
_MOST, _MOST_TOKENIZER = 10**6, 10**8


class Encoded(NamedTuple):
    """The tokens of a text."""

    input_ids: list[int]


class BareTokenizer:
    """A tokenizer that neither cuts nor pads texts.

    Attributes:
        text: Its definition, in the JSON of the `tokenizers` library.
        end: The token that ends a reply.
        chat_template: How messages are written.
    """

    def __init__(self, folder: Path) -> None:
        """Read it.

        Raises:
            OSError: A file can't be read.
            ValueError: A file is not as expected.
        """
        self.text = read_text(folder / "tokenizer.json", _MOST_TOKENIZER)
        self.chat_template = read_text(folder / "chat_template.jinja", _MOST)
        options: Any = json.loads(read_text(folder / "tokenizer_config.json", _MOST))
        try:
            self._tokenizer = Tokenizer.from_str(self.text)
        except Exception as error:  # the library has no class of its own
            raise ValueError(f"{folder / 'tokenizer.json'}: {error}") from error
        end = self._tokenizer.token_to_id(str(options["eos_token"])) if isinstance(options, dict) else None
        if end is None:
            raise ValueError(f"{folder / 'tokenizer_config.json'} names no token that ends a text")
        self.end = int(end)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)  # as transformers has it
        self._template = environment.from_string(self.chat_template)

    def __call__(self, text: str, *, add_special_tokens: bool) -> Encoded:
        """Return the tokens of a text."""
        return Encoded(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def decode(self, tokens: list[int], *, skip_special_tokens: bool, **_: Any) -> str:
        """Return the text of tokens."""
        return str(self._tokenizer.decode(tokens, skip_special_tokens=skip_special_tokens))

    def get_added_vocab(self) -> dict[str, int]:
        """Return the tokens that are markup, with their numbers."""
        return {token.content: number for number, token in self._tokenizer.get_added_tokens_decoder().items()}

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool, **_: Any
    ) -> str:
        """Return messages as the model's template writes them."""
        return self._template.render(messages=messages, add_generation_prompt=add_generation_prompt)
