"""Ask a model about stored runs, with a status line; an interrupt keeps the answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from tertulia.cli.opening import open_language_model
from tertulia.cli.terminal.output import progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.runs.driving.interrupting import interruptible, run_or_abandon
from tertulia.state.annotation import Annotation
from tertulia.state.language_model import LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.annotations.annotating import AnnotationRequest


def ask(
    store: SqlStore,
    run: RunRecord,
    model: str | None,
    requests: Sequence["AnnotationRequest"],
    default: str | None = None,
) -> list[Annotation]:
    """Return the answers of a model, or of the run's own; it is loaded only if some are missing.

    Args:
        default: A model of a participant, in place of the run's own.

    Raises:
        typer.Exit: It was interrupted; the answers so far are kept.
    """
    from tertulia.lab.annotations.annotating import answers_to

    parameters = Parameters.model_validate(run.parameters)
    name, is_named = model or default or run.model, model is not None

    def opened() -> LanguageModel:
        return open_language_model(name, parameters, is_named=is_named)

    with status_line() as line, interruptible():
        try:
            return run_or_abandon(answers_to(requests, store, run, name, opened, line.show))
        except KeyboardInterrupt:
            progress().print("interrupted; what was answered is kept, give the command again to go on")
            raise typer.Exit(130) from None
