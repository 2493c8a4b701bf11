"""Measure the units that a stored line leaned on, with a status line; an interrupt keeps the measured part."""

from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.opening import open_language_model
from tertulia.cli.terminal.output import plain, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.runs.driving.interrupting import interruptible, run_or_abandon
from tertulia.state.language_model import LanguageModel
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore


def check_line(
    store: SqlStore, run: RunRecord, start: Start, turn: int, reader: str | None, calls: int | None, agent: str | None
) -> None:
    """Measure and keep the loss of a line, or of an agent's thought, without units of its prompt; print the cost of it.

    Raises:
        typer.Exit: It was interrupted; the measured part is kept.
    """
    from tertulia.lab.annotations.leave_one_out import CALLS, check_turn

    parameters = Parameters.model_validate(run.parameters)

    def opened(name: str) -> LanguageModel:
        return open_language_model(name, parameters, is_named=name == reader)

    def tell(text: str) -> None:
        progress().print(plain(text))

    kept = "interrupted; what was measured is kept, give the command again to go on"
    with exit_when_interrupted(kept), status_line() as line, interruptible():
        told, budget = {"tell": tell, "show": line.show}, calls or CALLS
        run_or_abandon(check_turn(store, run, start, turn, opened, reader=reader, agent=agent, calls=budget, **told))
