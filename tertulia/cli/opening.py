"""Open stores and models for a command; a status line names the model that is being loaded."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tertulia.cli.environment import model_access, store_path
from tertulia.cli.terminal.status_line import status_line
from tertulia.models.local.hub import uncollected
from tertulia.state.language_model import Embedder, LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.storage.store import SqlStore


def open_existing(option: str | None) -> SqlStore:
    """Open the store of a command that does not make one (`--store`)."""
    return SqlStore.open(store_path(option), create=False)


def open_language_model(
    name: str, parameters: Parameters, with_code: Iterable[str] | None = None, is_named: bool = True
) -> LanguageModel:
    """Open a language model in the precision of the parameters.

    Args:
        with_code: Models whose own Python code may run.
        is_named: Whether the command names the model, not a store.

    Raises:
        TertuliaError: It does not exist, can't be used, or can't be loaded.
    """
    with status_line(f"loading {name}") as line:
        return model_access(line, [name] if is_named else [], with_code).language_model(name, parameters)


def open_embedding_model(name: str | None, recorded: str) -> Embedder:
    """Open the embedder that the command names, else the one that a store names, or raise `TertuliaError`."""
    with status_line(f"loading {name or recorded}") as line:
        return model_access(line, [name] if name else ()).embedder(recorded if name is None else name)


@contextmanager
def loading_for_good() -> Iterator[None]:
    """Collect no garbage while models are loaded inside, and never scan the loaded objects again."""
    with uncollected():
        try:
            yield
        finally:
            gc.freeze()
