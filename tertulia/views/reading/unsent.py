"""The parameters of sampling that servers did not take: a run's own are unknown then, and not those that were set."""

from tertulia.state.documents import Document
from tertulia.state.records import RunRecord
from tertulia.state.server_table import STEP, ServerTable
from tertulia.state.store import Store


def sent_document(store: Store, run: RunRecord) -> Document:
    """Return a run's parameters, null for those that its model's server did not take, and all that servers did not.

    `server` is the table of what its server honours, if the user had it asked (`doctor --server`).
    """
    unsent = store.unsent(run.run)
    unknown = unsent.get(run.model, frozenset()) & run.parameters.keys()
    tables = store.steps(run.run, STEP, ServerTable)
    return {
        "parameters": {**run.parameters, **dict.fromkeys(unknown)},
        "unsent": {model: sorted(names) for model, names in unsent.items()},
        "server": next((table.model_dump(mode="json") for table in tables.values()), None),
    }


def unsent_in_words(store: Store, run: RunRecord) -> list[str]:
    """Return a line for each model whose server did not take a parameter, and for a table of its server."""
    left_out = store.unsent(run.run).items()
    lines = [f"unknown, as {model} was not sent them: {', '.join(sorted(names))}" for model, names in left_out]
    for table in store.steps(run.run, STEP, ServerTable).values():
        lines.append(f"{table.server}, asked {table.checked}, lacks {', '.join(table.lacking()) or 'nothing'}")
    return lines
