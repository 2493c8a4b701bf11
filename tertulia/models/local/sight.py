"""Pictures in the prompts of a local model: their tokens, and the inputs of its vision part beside the tokens.

1. The model's processor turns a picture into tokens and tensors, by itself: no text of a prompt ever passes through it,
   so none can be read as a picture.
2. `ProcessorTokenizer` puts the tokens of a picture in the place of its unit (`prompts.render`).
3. `PictureInputs` are handed to the model when the prompt is read; it merges the two itself
   (`decoding_state.prefill`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from PIL import Image
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast, ProcessorMixin

from tertulia.models.local.tokenizer import HuggingFaceTokenizer
from tertulia.models.picture_bytes import open_picture
from tertulia.state.errors import ModelError
from tertulia.state.language_model import PictureLookup, RenderedPrompt
from tertulia.state.text import first_line

K = TypeVar("K")

#: How many pictures' tensors, and tokens, are kept: those used last.
_KEPT, _KEPT_TOKENS = 8, 4096

#: A processor's outputs by token; all others are by picture.
_BY_TOKEN = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids", "labels")

#: Replaces the text of a message, to find the place of a picture in it.
_TEXT = "\ue000"


@dataclass(frozen=True)
class PictureInputs:
    """The model's inputs for a prompt's pictures beside its tokens, by the names of its arguments.

    The token types say which kind each token of the prompt is, `(P,)`; 0 is text.
    """

    tensors: dict[str, Tensor]
    token_types: dict[str, Tensor]

    def for_tokens(self, count: int, model: Any) -> dict[str, Tensor]:
        """Return the arguments for a forward pass over the first tokens of the prompt, followed by text."""
        types = {
            name: nn.functional.pad(kinds[:count], (0, max(0, count - len(kinds))))[None]
            for name, kinds in self.token_types.items()
        }
        return {
            name: tensor.to(model.device, model.dtype if tensor.is_floating_point() else None)
            for name, tensor in {**self.tensors, **types}.items()
        }


@dataclass(frozen=True)
class _Processed:
    """A picture as its processor returns it: its tokens with their further inputs, and the other tensors."""

    by_token: dict[str, Tensor]
    tensors: dict[str, Tensor]


class PictureProcessor:
    """The processor of a model that sees, with the markup that its chat template has for a picture."""

    def __init__(self, processor: ProcessorMixin) -> None:
        """Find the markup out.

        Raises:
            ModelError: The processor makes nothing of a picture.
        """
        self.processor = processor
        self._markup, problem = "", ""
        for markup in _markups(processor):
            try:
                self._markup = markup
                self.process([probe_picture()])
                return
            except ModelError as error:
                problem = problem or str(error)
        raise ModelError(problem or "its processor has no token for a picture")

    @property
    def tokenizer(self) -> Any:
        """The tokenizer that comes with it."""
        return self.processor.tokenizer

    def process(self, pictures: Sequence[Image.Image]) -> _Processed:
        """Return the tokens and tensors of pictures.

        Raises:
            ModelError: The processor can't read them.
        """
        text = [self._markup * len(pictures)]
        try:
            found = self.processor(images=list(pictures), text=text, add_special_tokens=False, return_tensors="pt")
        except (ValueError, TypeError, RuntimeError, AttributeError, KeyError, IndexError, ImportError) as error:
            raise ModelError(f"its processor can't read a picture ({first_line(error)})") from error
        tensors = {name: value for name, value in found.items() if isinstance(value, Tensor)}
        by_token = {name: tensors.pop(name)[0] for name in _BY_TOKEN if name in tensors}
        if not tensors or not len(by_token.get("input_ids", ())):
            raise ModelError("its processor makes no tokens of a picture")
        for name in ("attention_mask", "labels"):
            by_token.pop(name, None)
        return _Processed(by_token, tensors)


class ProcessorTokenizer(HuggingFaceTokenizer):
    """Implements `state.language_model.SeeingTokenizer`: a tokenizer beside the processor of its model."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, processor: PictureProcessor) -> None:
        super().__init__(tokenizer)
        self._processor = processor
        self._lookup: PictureLookup | None = None
        self._tokens_of: dict[str, dict[str, Tensor]] = {}
        self._tensors_of: dict[tuple[str, ...], dict[str, Tensor]] = {}
        special = {*tokenizer.all_special_ids, *processor.processor.image_token_ids}
        #: Tokens that no text has.
        self.special_tokens = frozenset(special - {tokenizer.unk_token_id, None})

    def use_pictures(self, lookup: PictureLookup) -> None:
        """Take the bytes of pictures from there."""
        self._lookup = lookup

    def encode(self, text: str) -> list[int]:
        """Return the tokens of `text`; none of a picture, not even if a normaliser makes one of other letters."""
        tokens = super().encode(text)
        if self.special_tokens.isdisjoint(tokens):
            return tokens
        by_sign = [token for sign in text for token in super(ProcessorTokenizer, self).encode(sign)]
        return [token for token in by_sign if token not in self.special_tokens]

    def encode_picture(self, content: str) -> list[int]:
        """Return the tokens in the place of the picture of that content hash.

        Raises:
            ModelError: It can't be read.
        """
        return list(map(int, self._by_token(content)["input_ids"]))

    def inputs(self, prompt: RenderedPrompt) -> PictureInputs | None:
        """Return the model's inputs for the pictures of a prompt; `None` if it has none."""
        if not prompt.pictures:
            return None
        contents = tuple(content for _, content in prompt.pictures)
        if prompt.pictures[-1][0] + len(self.encode_picture(contents[-1])) == len(prompt.input_ids):
            raise ModelError("the prompt ends with a picture; let an instruction stand behind it")
        types: dict[str, Tensor] = {}
        for first, content in prompt.pictures:
            for name, kinds in self._by_token(content).items():
                if name != "input_ids":
                    whole = types.setdefault(name, torch.zeros(len(prompt.input_ids), dtype=kinds.dtype))
                    whole[first : first + len(kinds)] = kinds
        return PictureInputs(self._tensors(contents), types)

    def probe(self, prompt: Sequence[int], response: Sequence[int]) -> tuple[list[int], list[int], PictureInputs]:
        """Return a prompt with a picture in its middle, and a response, to try a model with."""
        processed = self._processor.process([probe_picture()])
        picture = list(map(int, processed.by_token["input_ids"]))
        before = [token for token in prompt if token not in self.special_tokens]
        written = [token for token in response if token not in self.special_tokens]
        whole = [*before, *picture, *before]
        types = {
            name: nn.functional.pad(kinds, (len(before), len(before)))
            for name, kinds in processed.by_token.items()
            if name != "input_ids"
        }
        return whole, written, PictureInputs(processed.tensors, types)

    def _by_token(self, content: str) -> dict[str, Tensor]:
        if content not in self._tokens_of:
            self._tensors_of.pop((content,), None)
            self._tensors((content,))
        return self._tokens_of[content]

    def _tensors(self, contents: tuple[str, ...]) -> dict[str, Tensor]:
        """Return the tensors of pictures; of several, the processor may make them of one shape."""
        tensors = self._tensors_of.pop(contents, None)
        if tensors is None:
            if self._lookup is None:
                raise ModelError("the model was given no pictures: call use_pictures first")
            processed = self._processor.process([open_picture(self._lookup(content)) for content in contents])
            if len(contents) == 1:
                _keep(self._tokens_of, contents[0], processed.by_token, _KEPT_TOKENS)
            tensors = processed.tensors
        _keep(self._tensors_of, contents, tensors, _KEPT)
        return tensors

    def _apply_template(self, messages: list[dict[str, str]]) -> str:
        """Return the markup of a processor's own template; most want the parts of a message listed, some its text."""
        processor = self._processor.processor
        if not processor.chat_template:
            return super()._apply_template(messages)
        listed = [
            {"role": message["role"], "content": [{"type": "text", "text": message["content"]}]} for message in messages
        ]
        try:
            text = _templated(processor, listed, add_generation_prompt=True)
        except ModelError:
            text = "'type'"
        # A template that joins texts may write the list as Python shows it.
        return _templated(processor, messages, add_generation_prompt=True) if "'type'" in text else text

    @property
    def _has_template(self) -> bool:
        return bool(self._processor.processor.chat_template) or super()._has_template

    def _markup_tokens(self, text: str, *, is_first: bool) -> list[int]:
        """Return the tokens of markup; a template of a processor leaves the first token of all to the tokenizer."""
        tokens = super()._markup_tokens(text, is_first=is_first)
        bos = self._processor.tokenizer.bos_token_id
        if is_first and bos is not None and self._special_start()[:1] == [bos] and tokens[:1] != [bos]:
            return [bos, *tokens]
        return tokens


def _keep(kept: dict[K, dict[str, Tensor]], key: K, value: dict[str, Tensor], most: int) -> None:
    """Add an entry as the one used last, and drop the oldest ones that are too many."""
    kept.pop(key, None)
    kept[key] = value
    while len(kept) > most:
        del kept[next(iter(kept))]


def probe_picture() -> Image.Image:
    """Return a picture with which a processor and a model are tried: colours that differ everywhere."""
    row = Image.linear_gradient("L")
    return Image.merge("RGB", (row, row.rotate(90), row.rotate(180).point(lambda value: value * 7 % 256))).resize(
        (96, 96)
    )


def _markups(processor: ProcessorMixin) -> list[str]:
    """Return the possible placeholders of a picture: that of the chat template, then the processor's tokens."""
    markups = []
    if processor.chat_template:
        text = {"type": "text", "text": _TEXT}
        try:
            without, written = (
                _templated(processor, [{"role": "user", "content": parts}])
                for parts in ([text], [{"type": "image"}, text])
            )
        except ModelError:
            without = written = ""
        start = next((i for i, (a, b) in enumerate(zip(without, written, strict=False)) if a != b), len(without))
        markups.append(written[start : start + len(written) - len(without)].strip())
    markups += [str(getattr(processor, name, None) or "") for name in ("boi_token", "image_token")]
    return [markup for markup in dict.fromkeys(markups) if markup]


def _templated(processor: ProcessorMixin, messages: list[dict[str, Any]], **options: Any) -> str:
    try:
        return str(processor.apply_chat_template(messages, tokenize=False, **options))
    except Exception as error:  # templates raise their own errors from Jinja
        raise ModelError(f"the chat template refuses a message ({first_line(error)})") from error
