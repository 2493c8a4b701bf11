"""What people miss of what belongs to a meeting, and of what does not: `python -m benchmarks.perception [FOLDER]`.

The lines are made by hand for the shipped meetings. Given the folder of a Generative Agents run, its dialogues are
taken as well: a dialogue's own lines belong there, and those of the others do not. Nobody has had a thought yet.

Shares are of the lines that somebody else says; `worst` is that of whoever misses most. AUC is the share of pairs in
which the line that belongs there is the more relevant one, whatever passes regardless.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.perception_lines import HELD_OUT, MEASURED, OFF_TOPIC, OFF_TOPIC_AGAIN, Scene
from tertulia.models.batching import BatchingBroker
from tertulia.models.loading import open_embedder
from tertulia.models.rehearsal import RehearsalModel
from tertulia.nodes.meeting.perceive import perceive_message
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Character
from tertulia.state.context import Context
from tertulia.state.graph_state import cognition_of, first_state
from tertulia.state.language_model import Embedder
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, RunRecord, Turn, TurnRecord, Utterance
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import list_cases, resolve
from tertulia.worlds.generative_agents import read_log

#: The threshold of the definition before, by which only profile, background and feeling counted, names included.
_FORMER_THRESHOLD = 0.25


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


def main() -> None:
    """Print the table."""
    embedder = open_embedder("minilm")
    print("lines | perception | of | missed, worst | missed, mean | off-topic missed | AUC")
    probes = list(shipped_probes())
    for folder in sys.argv[1:]:
        probes += real_probes(Path(folder))
    for label in dict.fromkeys(probe.label for probe in probes):
        same = [probe for probe in probes if probe.label == label]
        for name, perceive in (("before", former), ("alone", alone), ("now", in_scene)):
            lines = [line for probe in same for line in perceive(probe, embedder)]
            print(f"{label} | {name} | {row(lines)}", flush=True)


def shipped_probes() -> Iterator[Probe]:
    """Yield the hand-made lines of the shipped meetings."""
    for part, scenes, off_topic in (("measured", MEASURED, OFF_TOPIC), ("held out", HELD_OUT, OFF_TOPIC_AGAIN)):
        for name, scene in scenes.items():
            meeting = resolve(name)
            assert isinstance(meeting, Meeting)
            yield Probe(f"{name}, {part}", meeting, scene, off_topic)


def real_probes(folder: Path) -> Iterator[Probe]:
    """Yield the dialogues of a Generative Agents run, each as a meeting of two that its first line opens."""
    scenes = [
        tuple((line.speaker, line.text) for line in dialogue.utterances) for dialogue in read_log(folder).dialogues
    ]
    for number, listed in enumerate(list_cases(f"ga:{folder}").cases):
        assert isinstance(listed.case, Case)
        others = [text for other in scenes if other is not scenes[number] for _, text in other]
        off_topic = random.Random(number).sample(others, 12)
        meeting = as_meeting(listed.case, scenes[number][0])
        yield Probe("real dialogues", meeting, scenes[number][1:], off_topic)


def as_meeting(case: Case, opening: tuple[str, str]) -> Meeting:
    """Return a dialogue of two as a meeting."""
    people = [
        Attendee(persona=person.persona, memories=(), big_five=(person.persona.traits or "calm",))
        for person in (case.initiator, case.partner)
    ]
    return Meeting(
        scenario=case.scenario,
        title=case.place or "",
        description=case.place or "",
        time=case.time,
        opening=Utterance(speaker=opening[0], text=opening[1]),
        participants=tuple(people),
        mechanisms=(),
    )


def row(lines: Sequence[Line]) -> str:
    """Return the figures of a row."""
    on, off = ([line for line in lines if line.belongs is belongs] for belongs in (True, False))
    by_agent = [[line.missed for line in on if line.agent == agent] for agent in {line.agent for line in on}]
    higher = np.array([line.relevance for line in on])[:, None] - np.array([line.relevance for line in off])
    return (
        f"{len(on)}, {len(off)} | {max(map(np.mean, by_agent)):.2f} | {np.mean([line.missed for line in on]):.2f} | "
        f"{np.mean([line.missed for line in off]):.2f} | {np.mean((higher > 0) + (higher == 0) / 2):.2f}"
    )


# --- ways to perceive -----------------------------------------------------------------------------------------------


def in_scene(probe: Probe, embedder: Embedder, remembers: bool = True) -> Iterator[Line]:
    """Yield how everybody perceives the lines one after another, and the off-topic ones somewhere in between."""
    with SqlStore.open(":memory:", create=True) as store:
        context = a_context(probe, embedder, store)
        turns = scene_turns(probe)
        for turn in turns:
            store.save_turn(context.run, TurnRecord(turn=turn))
        for name in probe.meeting.names:
            yield from _perceived(probe, context, name, turns, remembers)


def alone(probe: Probe, embedder: Embedder) -> Iterator[Line]:
    """Yield how everybody perceives the lines if they remember none of those before."""
    return in_scene(probe, embedder, remembers=False)


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


def former(probe: Probe, embedder: Embedder) -> Iterator[Line]:
    """Yield how everybody perceived the lines before: with names, by profile, background and feeling alone."""
    for name in probe.meeting.names:
        agent = probe.meeting.participant(name)
        known = [agent.persona.background, agent.setting, *(goal.text for goal in agent.goals), *agent.interests]
        profile = " ".join([name, ", ".join(agent.big_five), *agent.descriptions])
        texts = [profile, " ".join(part for part in known if part) or name, f"{name} feels {agent.emotion}."]
        other = next(person for person in probe.meeting.names if person != name)
        lines = [(speaker, text, True) for speaker, text in probe.scene if speaker != name]
        for speaker, text, belongs in [*lines, *((other, text, False) for text in probe.off_topic)]:
            vectors = np.array(embedder.embed([f"{speaker}: {text}", *texts]))
            relevance = float(np.clip(vectors[1:] @ vectors[0], 0.0, 1.0).max())
            is_named = name.split()[0].casefold() in text.casefold()
            yield Line(name, belongs, relevance, relevance < _FORMER_THRESHOLD and not is_named)


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


if __name__ == "__main__":
    main()
