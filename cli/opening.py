"""Opening models for a command: what is being loaded is shown meanwhile."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tertulia.cli.environment import model_access
from tertulia.cli.terminal.status_line import status_line
from tertulia.models.local.hub import uncollected
from tertulia.state.language_model import Embedder, LanguageModel
from tertulia.state.parameters import Parameters


def open_language_model(
    name: str, parameters: Parameters, with_code: Iterable[str] | None = None, is_named: bool = True
) -> LanguageModel:
    """Return the language model of that name, in the precision of the parameters.

    Args:
        is_named: Whether the command names the model, not a store.

    Raises:
        TertuliaError: There is none, it can't be used, or it can't be loaded.
    """
    with status_line(f"loading {name}") as line:
        return model_access(line, [name] if is_named else [], with_code).language_model(name, parameters)


def open_embedding_model(name: str) -> Embedder:
    """Return the embedder that the command names.

    Raises:
        TertuliaError: There is none, or it can't be loaded.
    """
    with status_line(f"loading {name}") as line:
        return model_access(line, [name]).embedder(name)


@contextmanager
def loading_for_good() -> Iterator[None]:
    """Look for no garbage while models are loaded inside, and never again among what is there then: it stays."""
    with uncollected():
        try:
            yield
        finally:
            gc.freeze()
