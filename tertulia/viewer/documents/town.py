"""Days of a town for the viewer: encounters, diversity, and memories."""

from tertulia.state.documents import Document
from tertulia.state.town import Simulation
from tertulia.storage.store import SqlStore
from tertulia.views.reading.agreements import town_agreements
from tertulia.views.reading.days import (
    Memories,
    agreement_rows,
    day_rows,
    encounters_document,
    memories_document,
    read_memories,
)
from tertulia.views.reading.run_lines import run_lines


def town_page(store: SqlStore, simulation: str) -> Document:
    """Return a simulation: people, encounters with first lines, and days as in `days` without what needs a model."""
    record = store.simulations.get(simulation)
    town = store.simulations.town(record.simulation)
    rows = [
        {name: value for name, value in row.items() if not name.startswith("sim")}
        for row in day_rows(store, record, None)
    ]
    document = encounters_document(store, record)
    lines = run_lines(store, [encounter["run"] for encounter in document["encounters"]])
    for encounter in document["encounters"]:
        line = lines.get(encounter["run"])
        encounter.update(speaker=line and line.speaker, first_line=line and line.text)
    return (
        document
        | record.model_dump(mode="json", exclude={"created", "parameters"})
        | {
            "removal_factor": record.parameters.get("removal_factor"),
            "begins": town.begins.isoformat(),
            "people": [resident.persona.name for resident in town.residents],
            "by_day": rows,
            "agreements": agreement_rows(town_agreements(store, record)),
        }
    )


def person_page(store: SqlStore, simulation: str, person: str) -> Document:
    """Return the memories of a resident from the simulated days, and the evidence of each insight.

    Raises:
        NotFoundError: There is no such resident.
    """
    record = store.simulations.get(simulation)
    memories = _memories_of(store, record, person)
    texts = {memory.id: memory.text for memory in memories.stream}
    used = dict.fromkeys(id for memory in memories.formed for id in memory.evidence)
    return memories_document(record, memories) | {"evidence": {id: texts[id] for id in used if id in texts}}


def _memories_of(store: SqlStore, record: Simulation, person: str) -> Memories:
    """Return the memories of a resident by their whole name, else by its beginning; one name may begin another."""
    town = store.simulations.town(record.simulation)
    if any(resident.persona.name == person for resident in town.residents):
        return Memories(person, store.simulations.memories_of(record, person))
    return read_memories(store, record, person)
