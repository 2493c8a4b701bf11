"""Prompts in memory: those read last are kept whole, and the beginnings of others for later ones.

A prompt that is found is the same, to the bit, as one read again (`decoding_state.prefill`), so the kept
prompts do not change a result.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tertulia.models.local.architecture import Model
from tertulia.models.local.decoding_state import prefill
from tertulia.models.local.kept_chunks import KeptChunks
from tertulia.models.local.packed_linear import weight_bytes
from tertulia.models.local.prefix import Prefix
from tertulia.state.language_model import RenderedPrompt

if TYPE_CHECKING:
    from tertulia.models.local.sight import ProcessorTokenizer

#: Prompts kept whole: the full one and the pruned one of an utterance, and the one without its context.
_KEPT_PROMPTS = 3

#: Bytes of keys and values kept in memory for later prompts: 22,000 tokens of the embedded model in bfloat16. A large
#: model may keep more, a share of the bytes of its weights. As much again may be prompts that are kept whole.
_KEPT_BYTES, _KEPT_SHARE = 512 << 20, 0.25

#: The key of a prompt: its shared prefix, its tokens, and its pictures, all of which may have the same tokens.
PromptKey = tuple[int, tuple[int, ...], tuple[tuple[int, str], ...]]


class KeptPrompts:
    """The prompts of a model that are in memory."""

    def __init__(self, model: Model, sight: "ProcessorTokenizer | None") -> None:
        """Keep nothing yet."""
        self._model, self._sight = model, sight
        self.prefixes: dict[PromptKey, Prefix] = {}
        self._most = _KEPT_PROMPTS
        self.chunks = KeptChunks(max(_KEPT_BYTES, int(_KEPT_SHARE * weight_bytes(model))))

    def make_room(self, questions: int) -> None:
        """Keep as many prompts from now on as several conversations need; more than three within the budget only."""
        self._most = max(self._most, _KEPT_PROMPTS * questions)

    def get(self, prompt: RenderedPrompt) -> Prefix:
        """Return a prompt, read if it is not in memory, and keep it as the one used last."""
        key = prompt_key(prompt)
        prefix = self.prefixes.pop(key, None) or self.read(prompt)
        while len(self.prefixes) >= self._most or (
            len(self.prefixes) >= _KEPT_PROMPTS
            and prefix.size + sum(kept.size for kept in self.prefixes.values()) > self.chunks.budget
        ):
            del self.prefixes[next(iter(self.prefixes))]
        self.prefixes[key] = prefix
        return prefix

    def reader(self, *, keeps: bool = True) -> Callable[[RenderedPrompt], Prefix]:
        """Return a reader for the prompts of one batch: each is read once, and is one object throughout the batch.

        With `keeps` they are kept whole afterwards.
        """
        of_batch: dict[PromptKey, Prefix] = {}

        def prefix(prompt: RenderedPrompt) -> Prefix:
            key = prompt_key(prompt)
            if key not in of_batch:
                of_batch[key] = self.get(prompt) if keeps else self.prefixes.get(key) or self.read(prompt)
            return of_batch[key]

        return prefix

    def read(self, prompt: RenderedPrompt) -> Prefix:
        """Return a prompt, read anew but for the kept chunks of its beginning."""
        pictures = None if self._sight is None else self._sight.inputs(prompt)
        return prefill(self._model, prompt.input_ids, prompt.shared_prefix, self.chunks, pictures)

    def clear(self) -> None:
        """Drop everything."""
        self.prefixes.clear()
        self._most = _KEPT_PROMPTS
        self.chunks.clear()


def prompt_key(prompt: RenderedPrompt) -> PromptKey:
    """Return the key of a prompt."""
    return prompt.shared_prefix, prompt.input_ids, prompt.pictures
