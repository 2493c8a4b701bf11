"""All runs and simulations of a store, for the viewer's first page."""

from tertulia.reading.days import simulations_document
from tertulia.reading.run_lines import listed_runs
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.storage.store import SqlStore


def runs_page(store: SqlStore) -> Document:
    """Return all runs, newest first, each with its people and its first line, and all simulations."""
    simulations = simulations_document(store.simulations.all())["simulations"]
    return {"schema_version": SCHEMA_VERSION, "runs": listed_runs(store), "simulations": simulations}
