"""Texts that several need at the same moment, embedded in one go."""

from collections.abc import Sequence
from functools import cache
from typing import Protocol, cast, runtime_checkable

from tertulia.state.language_model import Embedder


@runtime_checkable
class PreparingEmbedder(Protocol):
    """An embedder that embeds the texts of several askers at the same moment in one go."""

    async def prepare(self, texts: Sequence[str]) -> None:
        """Embed texts beside those that others ask for now; `embed` then has the same vectors at once."""


async def prepare(embedder: Embedder, texts: Sequence[str]) -> None:
    """Have texts embedded beside those of others, before `embed` is asked for them, if an embedder can."""
    if _prepares(type(embedder)):
        await cast(PreparingEmbedder, embedder).prepare(texts)


@cache  # looking for its methods takes as long as a statement of SQL
def _prepares(kind: type) -> bool:
    return issubclass(kind, PreparingEmbedder)
