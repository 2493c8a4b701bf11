"""Opening models for a command: what is being loaded is shown meanwhile."""

from cli.environment import model_access
from cli.terminal.status_line import status_line
from state.language_model import Embedder, LanguageModel
from state.parameters import Parameters


def open_language_model(name: str, parameters: Parameters) -> LanguageModel:
    """Return the language model of that name, in the precision of the parameters.

    Raises:
        TertuliaError: There is none, it can't be used, or it can't be loaded.
    """
    with status_line(f"loading {name}") as line:
        return model_access(line.report).language_model(name, parameters)


def open_embedding_model(name: str) -> Embedder:
    """Return the embedder of that name.

    Raises:
        TertuliaError: There is none, or it can't be loaded.
    """
    with status_line(f"loading {name}") as line:
        return model_access(line.report).embedder(name)
