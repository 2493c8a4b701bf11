"""Days of a town, for the viewer: encounters, and what its people remember."""

from storage.store import SqliteStore
from tertulia.days import encounters_document, memories_document, read_memories
from tertulia.documents import Document


def town_page(store: SqliteStore, simulation: str) -> Document:
    """Return a simulation and who met whom."""
    record = store.simulations.get(simulation)
    return encounters_document(store, record) | record.model_dump(mode="json", exclude={"created"})


def person_page(store: SqliteStore, simulation: str, person: str) -> Document:
    """Return what somebody remembers of the simulated days."""
    record = store.simulations.get(simulation)
    return memories_document(record, read_memories(store, record, person))
