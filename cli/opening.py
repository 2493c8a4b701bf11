"""Opening models: what is being loaded is shown, and what fails is told as one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from cli.environment import cache_folder, key_of
from cli.terminal.output import waiting
from state.errors import ModelError, TertuliaError
from state.language_model import Embedder, LanguageModel
from state.parameters import Parameters


def open_language_model(name: str, parameters: Parameters) -> LanguageModel:
    """Return the language model of that name, in the precision of the parameters.

    Raises:
        TertuliaError: There is none, it can't be used, or it can't be loaded.
    """
    from models.chat import key_variable
    from models.loading import open_model

    with waiting(f"loading {name}"), _told(f"the model {name!r}"):
        return open_model(
            name,
            cache=cache_folder(),
            precision=parameters.precision,
            limits=parameters,
            key=key_of(key_variable(name)),
        )


def open_embedding_model(name: str) -> Embedder:
    """Return the embedder of that name.

    Raises:
        TertuliaError: There is none, or it can't be loaded.
    """
    from models.loading import open_embedder

    with waiting(f"loading {name}"), _told(f"the embedder {name!r}"):
        return open_embedder(name)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Tell in one line what a library raises about files that nobody here has written."""
    try:
        yield
    except TertuliaError:
        raise
    except Exception as error:
        raise ModelError(
            f"{what} can't be loaded: {type(error).__name__}: {error}; see that its files are whole"
        ) from error
