"""An album chat, for the viewer: who has seen which picture, by round."""

from state.album import Population
from state.errors import UsageError
from storage.store import SqliteStore
from tertulia.documents import Document, album_document
from tertulia.exchanges import read_album


def album_page(store: SqliteStore, run: str) -> Document:
    """Return what everybody did in an album chat, and the journeys of its pictures.

    Raises:
        UsageError: The run is no album chat.
    """
    record = store.run(run)
    start = store.start(record.run)
    if not isinstance(start, Population):
        raise UsageError(f"run {record.run} is no album chat")
    return album_document(record, *read_album(store, record, start))
