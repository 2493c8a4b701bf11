"""Rehearsed runs that are taken for runs of a model, so that their lines can be checked; and models that read them."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from support.scripted import ScriptedModel

import tertulia as tt
from tertulia.lab.annotations.leave_one_out import CALLS, check_turn
from tertulia.state.language_model import RenderedPrompt
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table
from tertulia.views.reading.turns import TurnDetails, read_turn

#: By what a unit makes a line likelier, in nats a token, by the id of the unit.
Worth = Mapping[str, float]


def a_run_of_a_model(folder: Path, scenario: str = "tidewell", scored: bool = True, **options: Any) -> tt.Run:
    """Return a run by `scripted`: it was rehearsed, and the store says otherwise.

    Args:
        scored: Whether its lines have scores.
    """
    path = folder / "checked.db"
    run = tt.run(scenario, rehearse=True, store=path, **options)
    alter(path, "runs", rehearsed=0, model="scripted")
    if not scored:
        alter(path, "turns", line_scores=None, line_scored_by=None)
    return tt.open_store(path).run(run.id)


def alter(path: Path, table: str, **values: object) -> None:
    """Give all rows of a table these values, with the checksums that belong to them."""
    with SqlStore.open(path) as store, store.transaction():
        rows = [row | values for row in Table(store.file, table).select("")]
        Table(store.file, table).insert_all(rows, replace=True)


def reading_by(worth: Worth, **options: Any) -> ScriptedModel:
    """Return a model to which a line is likelier by what the units of its prompt are worth."""

    def likelihood(prompt: RenderedPrompt) -> float:
        return -5 + sum(worth.get(unit, 0.0) for unit in prompt.token_spans)

    return ScriptedModel(likelihood=likelihood, rehearsed=False, **options)


def units_of(details: TurnDetails) -> list[str]:
    """Return the units of the prompt that was answered which a check leaves out."""
    return [unit.id for unit in details.informing if unit.id not in details.record.removed]


def read(run: tt.Run, turn: int = 2, reader: str | None = None) -> TurnDetails:
    """Return a turn, as a reader measured it."""
    with SqlStore.open(run.store.path) as store:
        return read_turn(store, record := store.run(run.id), store.start(record.run), turn, reader=reader)


async def checked(
    run: tt.Run, model: ScriptedModel | Callable[[str], ScriptedModel], turn: int = 2, **options: Any
) -> TurnDetails:
    """Check a turn by a model, and return it."""
    opened = model if not isinstance(model, ScriptedModel) else lambda _: model
    with SqlStore.open(run.store.path) as store:
        record = store.run(run.id)
        await check_turn(
            store, record, store.start(record.run), turn, opened, **{"calls": CALLS, "reader": None, **options}
        )
    return read(run, turn, options.get("reader"))


def left_out(model: ScriptedModel, units: Collection[str]) -> list[set[str]]:
    """Return which of some units each prompt lacked that a model has read."""
    return [set(units) - set(prompt.token_spans) for prompt in model.asked("log_likelihood")]
