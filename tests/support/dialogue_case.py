"""Two people at a pier: a small hand-made case, and the context in which a node or a graph runs on it."""

from datetime import datetime, timedelta
from typing import Any

from support.scripted import ScriptedModel
from support.stored import a_run

from tertulia.models.batching import BatchingBroker
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.rules.address import asked_by_words
from tertulia.runs.access.suited import suited_to
from tertulia.state.context import Context
from tertulia.state.graph_state import first_state
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import GROUP_CHAT, Parameters
from tertulia.state.records import Case, Dialogue, Memory, Participant, Persona, Turn, Utterance
from tertulia.storage.store import SqlStore

NOW = datetime(2026, 5, 6, 9, 30)

_THINGS = ("ferry", "harbour", "lantern", "garden", "market", "supper", "journey", "letter", "orchard", "bakery")


def a_memory(number: int, text: str, hours_ago: float = 1.0, importance: float = 3, kind: Any = "event") -> Memory:
    created = NOW - timedelta(hours=hours_ago)
    return Memory(id=f"m{number}", kind=kind, text=text, created=created, importance=importance)


def many_memories(name: str, count: int = 12) -> tuple[Memory, ...]:
    return tuple(
        a_memory(i, f"{name} thought of the {_THINGS[i % len(_THINGS)]} on day {i}.", hours_ago=count - i + 1)
        for i in range(count)
    )


def a_pier(memories: int = 12) -> Case:
    """The case: Mara comes upon Piotr, with so many memories each."""
    people = [
        Participant(
            persona=Persona(name="Mara", age=34, character="patient, curious", background=("Mara sells fish.",)),
            memories=many_memories("Mara", memories),
            activity="mending a net",
        ),
        Participant(
            persona=Persona(name="Piotr", home="the lighthouse"),
            memories=many_memories("Piotr", memories),
            activity="reading",
        ),
    ]
    before = Dialogue(
        time=datetime(2026, 5, 4, 18, 5),
        utterances=(
            Utterance(speaker="Piotr", text="The lamp is broken."),
            Utterance(speaker="Mara", text="I have a spare."),
        ),
    )
    return Case(
        scenario="pier",
        time=NOW,
        place="the pier",
        initiator=people[0],
        partner=people[1],
        previous_dialogues=(before,),
    )


#: The state in which a dialogue begins.
BEGINNING: dict[str, Any] = {**first_state(a_pier())}


def some_turns(count: int, first: str = "Mara") -> list[Turn]:
    second = "Piotr" if first == "Mara" else "Mara"
    return [
        Turn(turn=i, round=i, speaker=first if i % 2 else second, text=f"Line {i}.", sim_time_s=i, ended=False)
        for i in range(1, count + 1)
    ]


def a_context(
    model: ScriptedModel | None = None,
    store: SqlStore | None = None,
    start: Start | None = None,
    seed: int = 7,
    **settings: Any,
) -> Context:
    """A run in a store, in memory unless one is given; every setting by its parameter's name, backups on demand."""
    model, start = model or ScriptedModel(), start or a_pier()
    store = store or SqlStore.open(":memory:")
    store.create_run(a_run(), start)
    if isinstance(start, Meeting):
        settings = {**GROUP_CHAT, "removal_factor": 0.5, **settings}
    parameters = suited_to(model.traits, Parameters().with_settings({"backups": "on_demand", **settings}))
    return Context(
        run="k3f9",
        seed=seed,
        start=start,
        parameters=parameters,
        model=model,
        embedder=RehearsalEmbedder(),
        store=store,
        broker=BatchingBroker("k3f9", store),
        nodes={"read_address": asked_by_words.run} if isinstance(start, Meeting) else {},
    )
