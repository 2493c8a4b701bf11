"""The words of the people of stored conversations, for measures of a population (tertulia/metrics/population.py).

A conversation is a run, or all encounters of a simulated town together. All names are masked, as they would tell the
speaker, whatever is said.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tertulia.metrics.diversity import directions_of
from tertulia.metrics.personality import HIGHEST, LOWEST
from tertulia.metrics.population import Lines
from tertulia.metrics.recitation import recites
from tertulia.nodes.shared.known import known_to
from tertulia.nodes.shared.names_in_text import without_names
from tertulia.state.album import Villager
from tertulia.state.cognition import Character
from tertulia.state.errors import NotFoundError
from tertulia.state.language_model import Embedder
from tertulia.state.meeting import BIG_FIVE, Start
from tertulia.state.records import Participant, RunRecord
from tertulia.state.store import Store
from tertulia.state.text import folded
from tertulia.storage.store import SqlStore
from tertulia.views.reading.exchanges import spoken_turns
from tertulia.views.reading.rounds import read_characters


@dataclass(frozen=True)
class PopulationLine:
    """A line without names, and when it was said.

    Attributes:
        at: Its round; of a town its day, or its encounter if there is one day.
        fold: The number of the group left out with it when it is attributed: its turn, or its encounter.
        recited: Whether it recites a text that its speaker was given.
    """

    speaker: str
    text: str
    at: int
    fold: int
    recited: bool


@dataclass(frozen=True)
class Conversation:
    """The lines of a run, or of a simulation, that are measured.

    Attributes:
        name: The id of the run, or of the simulation.
        case: Its scenario; of a simulation its town.
        personas: By person the texts that they were given, without names.
        traits: By person, for each trait of which they were given a pole, 5 or 1.
    """

    name: str
    case: str
    seed: int
    lines: tuple[PopulationLine, ...]
    personas: Mapping[str, tuple[str, ...]]
    traits: Mapping[str, Mapping[str, float]]
    rehearsed: bool
    finished: bool
    embedder: str


def conversation_of_run(store: Store, run: RunRecord, first: int = 1) -> Conversation:
    """Return the lines of a run from a turn on, for measures."""
    start = store.start(run.run)
    return Conversation(
        name=run.run,
        case=run.scenario,
        seed=run.seed,
        lines=tuple(_lines(store, run, start, first)),
        personas={name: _persona(start.participant(name), start.names) for name in start.names},
        traits=traits_given(read_characters(store, run.run)) if run.kind == "group_chat" else {},
        rehearsed=run.rehearsed,
        finished=run.status == "finished",
        embedder=run.embedder,
    )


def conversation_of_simulation(store: SqlStore, name: str) -> Conversation:
    """Return the lines of all encounters of a simulation, for measures.

    Raises:
        NotFoundError: There is no such simulation.
    """
    simulation = store.simulations.get(name)
    conversed = [encounter for encounter in store.simulations.encounters(simulation.simulation) if encounter.run]
    runs = [store.run(encounter.run) for encounter in conversed]
    has_days = len({encounter.day for encounter in conversed}) > 1
    lines: list[PopulationLine] = []
    personas: dict[str, tuple[str, ...]] = {}
    for number, (encounter, run) in enumerate(zip(conversed, runs, strict=True), 1):
        start = store.start(run.run)
        at = encounter.day if has_days else number
        lines += _lines(store, run, start, 1, (at, number))
        for person in start.names:
            personas.setdefault(person, _persona(start.participant(person), start.names))
    return Conversation(
        name=simulation.simulation,
        case=simulation.town,
        seed=simulation.seed,
        lines=tuple(lines),
        personas=personas,
        traits={},
        rehearsed=any(run.rehearsed for run in runs),
        finished=simulation.status == "finished",
        embedder=simulation.embedder,
    )


def lines_of(conversation: Conversation, embedder: Embedder) -> tuple[Lines, float | None]:
    """Return the lines of a conversation that count, with their vectors, and the share that is recited."""
    uttered = [line for line in conversation.lines if line.text]
    counted = [line for line in uttered if not line.recited]
    people = {name: number for number, name in enumerate(dict.fromkeys(line.speaker for line in counted))}
    texts = {text: number for number, text in enumerate(dict.fromkeys(folded(line.text) for line in counted))}
    given = [conversation.personas.get(name, ()) for name in people]
    lines = Lines(
        vectors=_directions([line.text for line in counted], embedder),
        speakers=np.array([people[line.speaker] for line in counted], dtype=np.int64),
        texts=np.array([texts[folded(line.text)] for line in counted], dtype=np.int64),
        at=np.array([line.at for line in counted], dtype=np.int64),
        folds=np.array([line.fold for line in counted], dtype=np.int64),
        personas=np.array([_directions(known, embedder).mean(axis=0) for known in given]) if all(given) else None,
    )
    return lines, 1 - len(counted) / len(uttered) if uttered else None


def traits_given(characters: Mapping[str, Character]) -> dict[str, dict[str, float]]:
    """Return by person the traits of which they were given a pole, at the ends of the inventory's scale."""
    ends = {
        pole: (trait, float(end))
        for trait, poles in BIG_FIVE.items()
        for pole, end in zip(poles, (HIGHEST, LOWEST), strict=True)
    }
    return {
        name: dict(ends[pole] for pole in character.big_five if pole in ends) for name, character in characters.items()
    }


def find_conversation(store: SqlStore, name: str) -> Conversation | None:
    """Return the run of that id, or the simulation; `None` if there is neither."""
    if name not in {simulation.simulation for simulation in store.simulations.all()}:
        with suppress(NotFoundError):
            return conversation_of_run(store, store.run(name))
    with suppress(NotFoundError):
        return conversation_of_simulation(store, name)
    return None


def _lines(
    store: Store, run: RunRecord, start: Start, first: int, when: tuple[int, int] | None = None
) -> Iterable[PopulationLine]:
    names = start.names
    known = {name: given_to(start.participant(name)) for name in start.names}
    for turn in spoken_turns(store, run.run, start, first):
        if turn.speaker is not None:
            at, fold = when or (turn.round, turn.turn)
            is_recited = recites(turn.text, known.get(turn.speaker, ()))
            yield PopulationLine(turn.speaker, without_names(turn.text, names), at, fold, is_recited)


def given_to(person: Participant) -> tuple[str, ...]:
    """Return the texts that describe a person: their knowledge, their personality, and a villager's properties."""
    properties = person.properties if isinstance(person, Villager) else ()
    return (*known_to(person), *(f"{name}: {value}" for name, value in properties))


def _persona(person: Participant, names: tuple[str, ...]) -> tuple[str, ...]:
    masked = (without_names(text, names) for text in given_to(person))
    return tuple(dict.fromkeys(text for text in masked if text))


def _directions(texts: Sequence[str], embedder: Embedder) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return directions_of(embedder.embed(list(texts))) if texts else np.empty((0, 0))
