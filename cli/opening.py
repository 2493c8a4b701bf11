"""Opening models for a command: what is being loaded is shown meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager

from cli.environment import model_access
from cli.output import waiting
from state.language_model import Embedder, LanguageModel
from state.parameters import Parameters
from tertulia.engines import ModelAccess


@contextmanager
def opening_shown(model: str) -> Iterator[ModelAccess]:
    """Show that models are opened while inside; yields what opening them needs."""
    with waiting(f"loading {model}"):
        yield model_access()


def open_language_model(name: str, parameters: Parameters) -> LanguageModel:
    """Return the language model of that name, in the precision of the parameters.

    Raises:
        TertuliaError: There is none, it can't be used, or it can't be loaded.
    """
    with opening_shown(name) as access:
        return access.language_model(name, parameters)


def open_embedding_model(name: str) -> Embedder:
    """Return the embedder of that name.

    Raises:
        TertuliaError: There is none, or it can't be loaded.
    """
    with opening_shown(name) as access:
        return access.embedder(name)
