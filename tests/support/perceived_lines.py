"""How people in the shipped meetings perceive lines that belong there, and lines that do not."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from support.meeting_lines import OFF_TOPIC, SCENES, Scene

from tertulia.models.batching import BatchingBroker
from tertulia.models.rehearsal import RehearsalModel
from tertulia.nodes.meeting.perceive import perceive_message
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Character
from tertulia.state.context import Context
from tertulia.state.graph_state import cognition_of, first_state
from tertulia.state.language_model import Embedder
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, Turn, TurnRecord
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import resolve


@dataclass(frozen=True)
class Probe:
    """A meeting, lines that people say in it, and lines that do not belong there."""

    label: str
    meeting: Meeting
    scene: Scene
    off_topic: Sequence[str]


@dataclass(frozen=True)
class Line:
    """How somebody perceived a line: whether it belongs there, its relevance, and whether it was missed."""

    agent: str
    belongs: bool
    relevance: float
    missed: bool


def shipped_probes() -> Iterator[Probe]:
    """Yield the hand-made lines of the shipped meetings."""
    for name, scene in SCENES.items():
        meeting = resolve(name)
        assert isinstance(meeting, Meeting)
        yield Probe(name, meeting, scene, OFF_TOPIC)


def in_scene(probe: Probe, embedder: Embedder, remembers: bool = True) -> Iterator[Line]:
    """Yield how everybody perceives the lines one after another, and the off-topic ones somewhere in between."""
    with SqlStore.open(":memory:", create=True) as store:
        context = a_context(probe, embedder, store)
        turns = scene_turns(probe)
        for turn in turns:
            store.save_turn(context.run, TurnRecord(turn=turn))
        for name in probe.meeting.names:
            yield from _perceived(probe, context, name, turns, remembers)


def _perceived(probe: Probe, context: Context, name: str, turns: Sequence[Turn], remembers: bool) -> Iterator[Line]:
    drawn = random.Random(name)
    places = [drawn.randrange(len(turns)) for _ in probe.off_topic]
    noticed = [0]
    for index, turn in enumerate(turns):
        view = a_view(context, name, turn.round + 1, noticed if remembers else [])
        for text in (text for text, place in zip(probe.off_topic, places, strict=True) if place == index):
            other = next(person for person in probe.meeting.names if person != name)
            perception = perceive_message(view, turn.model_copy(update={"speaker": other, "text": text}))
            yield Line(name, False, perception.relevance, not perception.noticed)
        perception = perceive_message(view, turn)
        if turn.speaker != name:
            yield Line(name, True, perception.relevance, not perception.noticed)
        if perception.noticed:
            noticed = [*noticed, turn.turn][-context.parameters.working_memory :]


def a_context(probe: Probe, embedder: Embedder, store: SqlStore) -> Context:
    """Return the context of a run in which everybody is prepared."""
    model, parameters = RehearsalModel("rehearsal"), Parameters()
    context = Context("k3f9", 0, probe.meeting, parameters, model, embedder, store, BatchingBroker("k3f9", store))
    store.create_run(a_record(context), probe.meeting)
    for agent in probe.meeting.participants:
        character = Character(big_five=agent.big_five, descriptions=agent.descriptions, plan=())
        store.save_step(context.run, 0, agent.persona.name, "prepare", character)
    return context


def a_record(context: Context) -> RunRecord:
    """Return the record of the run."""
    return RunRecord(
        run=context.run,
        status="running",
        kind="group_chat",
        scenario=context.start.scenario,
        model="rehearsal",
        embedder=context.embedder.id,
        rehearsed=True,
        seed=0,
        parameters=context.parameters.model_dump(mode="json"),
        created=context.start.time,
    )


def a_view(context: Context, name: str, round: int, noticed: Sequence[int]) -> View:
    """Return somebody's view of a round, everybody there from the start."""
    state = first_state(context.meeting)
    state = {**state, "round": round, "sim_time_s": 8.0 * round, "present": list(context.meeting.names)}
    view = View.of(cognition_of(state, name), context)  # type: ignore[arg-type]
    return replace(view, mind={**view.mind, "noticed": list(noticed)})


def scene_turns(probe: Probe) -> list[Turn]:
    """Return the lines of a scene as turns, all behind the time at which the last one comes."""
    offsets = [probe.meeting.offset_s(agent.joins, 0.0) for agent in probe.meeting.participants]
    return [
        Turn(turn=number, round=number, speaker=speaker, text=text, sim_time_s=max(offsets) + 8.0 * number, ended=False)
        for number, (speaker, text) in enumerate(probe.scene, start=1)
    ]
