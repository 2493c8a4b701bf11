"""All runs and simulations of a store, for the viewer's first page."""

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.storage.store import SqlStore
from tertulia.views.reading.days import simulations_document
from tertulia.views.reading.run_lines import count_runs, listed_runs


def runs_page(store: SqlStore, first: int | None = None) -> Document:
    """Return all runs, newest first, each with its people and its first line, and all simulations.

    Args:
        first: The most runs; `None`: all. `total` says how many there are.
    """
    simulations = simulations_document(store.simulations.all())["simulations"]
    listed = listed_runs(store, first)
    total = len(listed) if first is None else count_runs(store)
    return {"schema_version": SCHEMA_VERSION, "runs": listed, "total": total, "simulations": simulations}
