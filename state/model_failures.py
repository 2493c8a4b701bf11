"""Errors of a model, so that they do not count as the fault of the step that asks."""

from collections.abc import Iterator
from contextlib import contextmanager

from tertulia.state.errors import ModelError, TertuliaError, failure_text
from tertulia.state.language_model import LanguageModel


@contextmanager
def model_failures(model: LanguageModel) -> Iterator[None]:
    """Turn a model's errors inside into a `ModelError`: else it would count as the fault of the step that asks."""
    try:
        yield
    except TertuliaError:
        raise
    except Exception as error:
        raise ModelError(f"{model.id}: {failure_text(error)}") from error
