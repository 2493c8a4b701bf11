"""Days of a town, for the viewer: encounters, how varied the days are, and what its people remember."""

from tertulia.reading.days import Memories, day_rows, encounters_document, memories_document, read_memories
from tertulia.state.documents import Document
from tertulia.state.town import Simulation
from tertulia.storage.store import SqlStore


def town_page(store: SqlStore, simulation: str) -> Document:
    """Return a simulation: its people, who met whom, and its days as `days` tells them, without similarities.

    Similarities are measured with an embedding model, which the page does without.
    """
    record = store.simulations.get(simulation)
    town = store.simulations.town(record.simulation)
    rows = [
        {name: value for name, value in row.items() if not name.startswith("sim")}
        for row in day_rows(store, record, None)
    ]
    return (
        encounters_document(store, record)
        | record.model_dump(mode="json", exclude={"created", "parameters"})
        | {
            "removal_factor": record.parameters.get("removal_factor"),
            "begins": town.begins.isoformat(),
            "people": [resident.persona.name for resident in town.residents],
            "by_day": rows,
        }
    )


def person_page(store: SqlStore, simulation: str, person: str) -> Document:
    """Return what somebody remembers of the simulated days, and the texts of what each insight rests on.

    Raises:
        NotFoundError: Nobody of that name lives there.
    """
    record = store.simulations.get(simulation)
    memories = _memories_of(store, record, person)
    texts = {memory.id: memory.text for memory in memories.stream}
    used = dict.fromkeys(id for memory in memories.formed for id in memory.evidence)
    return memories_document(record, memories) | {"evidence": {id: texts[id] for id in used if id in texts}}


def _memories_of(store: SqlStore, record: Simulation, person: str) -> Memories:
    """Return the memories of somebody by their whole name, with which another name may begin; else by its beginning."""
    town = store.simulations.town(record.simulation)
    if any(resident.persona.name == person for resident in town.residents):
        return Memories(person, store.simulations.memories_of(record, person))
    return read_memories(store, record, person)
