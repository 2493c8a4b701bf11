"""All runs and simulations of a store, for the viewer's first page."""

from tertulia.reading.days import simulations_document
from tertulia.reading.listing import list_runs, runs_document
from tertulia.state.documents import Document
from tertulia.storage.store import SqlStore


def runs_page(store: SqlStore) -> Document:
    """Return all runs, newest first, and all simulations."""
    return runs_document(list_runs(store)) | {
        "simulations": simulations_document(store.simulations.all())["simulations"]
    }
