"""Two days of a town of four as a simulation leaves them in a store.

| day | number | who meets whom | turns |
|---|---|---|---|
| 1 | 1 | Ada, Ben | 2 |
| 1 | 2 | Ben, Cleo | 3 |
| 2 | 1 | Ben, Ada | 1 |

`Ada Lind` lives there too: her name begins with Ada's. She meets nobody.
"""

from datetime import datetime, timedelta

from support.stored import a_case, a_run

from tertulia.state.records import Persona, Remembered, Turn, TurnRecord
from tertulia.state.town import Encounter, Resident, Simulation, Town
from tertulia.storage.store import SqlStore

PEOPLE = ("Ada", "Ben", "Cleo", "Ada Lind")
BEGINS = datetime(2026, 5, 16)

ENCOUNTERS = (
    (1, 1, "Ada", "Ben", ("The lamp is lit.", "The lamp is lit, yes.")),
    (1, 2, "Ben", "Cleo", ("A boat!", "A boat came.", "It came late.")),
    (2, 1, "Ben", "Ada", ("Good day to you.",)),
)

INSIGHT = Remembered(
    id="day_2_1_insight_1",
    kind="thought",
    text="Ada sees that the lamp matters to Ben.",
    created=BEGINS + timedelta(days=1, hours=9),
    importance=8.0,
    evidence=("node_1", "day_1_1_event"),
)

MEMORIES = (
    Remembered(id="node_1", kind="event", text="The lamp went out in May.", created=BEGINS, importance=3.0),
    Remembered(
        id="day_1_1_event",
        kind="event",
        text="Ben carried the lamp.",
        created=BEGINS + timedelta(hours=9),
        importance=5.0,
    ),
    INSIGHT,
)


def write_town(store: SqlStore, name: str = "t0wn") -> Simulation:
    """Store the two days, and what Ada remembers of them."""
    simulation = Simulation(
        simulation=name,
        status="interrupted",
        town="quay",
        model="m",
        embedder="e",
        rehearsed=False,
        seed=3,
        days=2,
        encounters_per_day=2,
        parameters=a_run().parameters,
        created=a_run().created,
    )
    residents = tuple(Resident(persona=Persona(name=person, age=30), days=()) for person in PEOPLE)
    streams = dict.fromkeys(PEOPLE, ((), ())) | {"Ada": (MEMORIES, [(1.0, 0.0)] * len(MEMORIES))}
    store.simulations.create(simulation, Town(name="quay", begins=BEGINS, residents=residents), streams)
    for day, number, initiator, partner, texts in ENCOUNTERS:
        run = f"{name}-{day}-{number}"
        store.create_run(a_run(run, status="finished"), a_case())
        for turn, text in enumerate(texts, start=1):
            speaker = (initiator, partner)[(turn + 1) % 2]
            spoken = Turn(turn=turn, round=turn, speaker=speaker, text=text, sim_time_s=4.0 * turn, ended=False)
            store.save_turn(run, TurnRecord(turn=spoken))
        encounter = Encounter(
            day=day,
            number=number,
            time=BEGINS + timedelta(days=day - 1, hours=8 + number),
            place="the quay",
            initiator=initiator,
            partner=partner,
            activities=(None, "carrying the lamp" if (day, number) == (1, 1) else None),  # Ada remembers it
            run=run,
        )
        store.simulations.save_encounter(name, encounter)
    return simulation
