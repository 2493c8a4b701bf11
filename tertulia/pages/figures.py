"""Figures of a run, for the viewer: diversity, length, participation."""

from metrics.diversity import dialogue_of, distinct_n, words_per_utterance
from storage.store import SqliteStore
from tertulia.documents import SCHEMA_VERSION, Document
from tertulia.exchanges import spoken_turns


def figures_page(store: SqliteStore, run: str) -> Document:
    """Return how varied and how long the utterances of a run are."""
    record = store.run(run)
    dialogue = dialogue_of(spoken_turns(store, record.run, store.start(record.run)))
    figures = {f"dist{n}": distinct_n([dialogue], n) for n in (1, 2, 3)} | {"len": words_per_utterance([dialogue])}
    return {"schema_version": SCHEMA_VERSION, "run": record.run, **figures}
