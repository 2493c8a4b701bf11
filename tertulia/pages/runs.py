"""All runs and simulations of a store, for the viewer's first page."""

from storage.store import SqlStore
from tertulia.days import simulations_document
from tertulia.documents import Document
from tertulia.listing import list_runs, runs_document


def runs_page(store: SqlStore) -> Document:
    """Return all runs, newest first, and all simulations."""
    return runs_document(list_runs(store)) | {
        "simulations": simulations_document(store.simulations.all())["simulations"]
    }
