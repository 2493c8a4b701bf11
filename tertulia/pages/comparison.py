"""Two runs aligned, for the viewer."""

from storage.store import SqliteStore
from tertulia.comparing import compare, comparison_document
from tertulia.documents import Document


def comparison_page(store: SqliteStore, a: str, b: str) -> Document:
    """Return how two runs differ, as `diff --json` gives it."""
    return comparison_document(compare(store, a, b), {})
