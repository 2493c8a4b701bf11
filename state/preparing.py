"""Texts that several need at the same moment, embedded in one go."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tertulia.state.language_model import Embedder


@runtime_checkable
class PreparingEmbedder(Protocol):
    """An embedder that embeds the texts of several who ask at the same moment in one go."""

    async def prepare(self, texts: Sequence[str]) -> None:
        """Embed texts beside those that others ask for now; `embed` then has the same vectors at once."""


async def prepare(embedder: Embedder, texts: Sequence[str]) -> None:
    """Have texts embedded beside those of others, before `embed` is asked for them, where an embedder can."""
    if isinstance(embedder, PreparingEmbedder):
        await embedder.prepare(texts)
