"""What is known where a line is said: what a monitor of sense reads it against."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tertulia.nodes.meeting.address import is_named
from tertulia.state.album import Population
from tertulia.state.meeting import Attendee, Start
from tertulia.state.recall import may_be_recalled
from tertulia.state.records import Case, Participant, Prompt
from tertulia.state.store import Store

#: The latest lines that are looked at for what is said again.
LINES_SEEN = 32

#: The latest memories of a resident of a town that are looked at, beside those that the prompts of the two show.
MEMORIES_SEEN = 32

#: What the prompts of an album chat tell their reader about the picture, and about the reader.
_TOLD_IN_EXCHANGE = ("picture", "basic_info")


@dataclass(frozen=True)
class Situation:
    """What is known where a line is said.

    Attributes:
        speaker: Who says it.
        people: The names of all who take part.
        before: The latest lines of the conversation before it as pairs of speaker and text, oldest first.
        known: By person, what they know and are: memories, character, what they do, what they want.
        place: Where they are; `None` where it is not known.
        time: When the line is said; `None` where it is not known.
        shown: What the prompt tells or shows besides what is known: instructions, and the answers of examples.
    """

    speaker: str
    people: Sequence[str]
    before: Sequence[tuple[str, str]] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    place: str | None = None
    time: datetime | None = None
    shown: tuple[str, ...] = ()


def situation_of(
    store: Store,
    run: str,
    start: Start,
    speaker: str,
    turn: int,
    sim_time_s: float,
    prompt: Prompt | None = None,
    with_streams: bool = True,
) -> Situation:
    """Return what is known where a turn of a run is spoken.

    Of an album chat, where pairs meet, only what the prompt shows is known; `situation_in_exchange` knows more.

    Args:
        prompt: The prompt of the turn before anything was removed; `None` where nobody was asked.
        with_streams: Whether what a town's people remember of its days is known, as far as the prompts of the two
            showed it or it is among the latest (`MEMORIES_SEEN`): so it costs the same however old the town is.
    """
    if isinstance(start, Population):
        return Situation(speaker, start.names, shown=_shown(prompt))
    people = {name: start.participant(name) for name in start.names}
    known = {name: known_to(person) for name, person in people.items()}
    if with_streams and isinstance(start, Case):
        for name, memories in _of_streams(store, run, start, speaker, turn, prompt).items():
            known[name] = (*known[name], *memories)
    return Situation(
        speaker,
        start.names,
        before=lines_before(store, run, start, turn),
        known=known,
        place=start.place,
        time=start.time + timedelta(seconds=sim_time_s),
        shown=_shown(prompt),
    )


def situation_in_exchange(
    population: Population, pair: Sequence[str], said: Mapping[str, str], prompt: Prompt | None
) -> Situation:
    """Return what is known where the next utterance of an exchange of an album chat is said.

    Args:
        pair: The names of who asks and who answers.
        said: By part of the turn (`state.album.PARTS`), the utterances before: none before the plan.
        prompt: The prompt of the utterance before anything was removed; it shows the picture.
    """
    asker, answerer = pair
    speaker, people, before = asker, population.names, []
    if "" in said:
        speaker, people, before = answerer, (asker, answerer), [(asker, said[""])]
    elif "plan" in said:
        people, before = (asker, answerer), [(asker, said["plan"])]
    units = () if prompt is None else prompt.units
    told = tuple(unit.text for unit in units if unit.kind == "item" and unit.block in _TOLD_IN_EXCHANGE)
    return Situation(speaker, people, before, {speaker: told}, place=population.place, shown=_shown(prompt))


def lines_before(store: Store, run: str, start: Start, turn: int) -> list[tuple[str, str]]:
    """Return the latest lines before a turn as pairs of speaker and text; none in an album chat, where pairs meet."""
    if start.kind == "album_chat":
        return []
    turns = store.turns(run, max(1, turn - LINES_SEEN), turn - 1) if turn > 1 else []
    return [(line.speaker, line.text) for line in turns if line.speaker is not None]


def known_to(person: Participant) -> tuple[str, ...]:
    """Return what a person knows and is, as texts: memories, character, activity; in a meeting goals and interests."""
    persona = person.persona
    texts = [memory.text for memory in person.memories]
    texts += [text for text in (persona.traits, persona.background, persona.lifestyle, persona.home) if text]
    texts += [person.activity] if person.activity else []
    if isinstance(person, Attendee):
        goals = [part for goal in person.goals for part in (goal.text, *goal.sub_goals)]
        texts += [*person.descriptions, *person.interests, *goals, *([person.setting] if person.setting else [])]
    return tuple(texts)


def _shown(prompt: Prompt | None) -> tuple[str, ...]:
    units = () if prompt is None else prompt.units
    return tuple(unit.text for unit in units if unit.kind == "text" and unit.block != "current_dialogue")


# --- what a town's people remember ----------------------------------------------------------------------------------


def _of_streams(
    store: Store, run: str, case: Case, speaker: str, turn: int, prompt: Prompt | None
) -> dict[str, tuple[str, ...]]:
    """Return by person what is looked at of their stream; empty where they have none.

    What the other remembers of the speaker is left out: it may be the speaker's own too.
    """
    other = case.other(speaker).persona.name
    if case.participant(speaker).stream is None:
        return {}
    own = [*_recalled_in(prompt), *_latest(store, case.participant(speaker))]
    others = [*_recalled_in(_last_prompt(store, run, other, turn)), *_latest(store, case.participant(other))]
    return {
        speaker: tuple(dict.fromkeys(own)),
        other: tuple(dict.fromkeys(text for text in others if not is_named(speaker, text))),
    }


def _latest(store: Store, person: Participant) -> Iterator[str]:
    stream = person.stream
    if stream is not None and stream.length:
        numbers = range(max(1, stream.length - MEMORIES_SEEN + 1), stream.length + 1)
        yield from (memory.text for memory in store.remembered(stream, numbers) if may_be_recalled(memory))


def _recalled_in(prompt: Prompt | None) -> list[str]:
    units = () if prompt is None else prompt.units
    return [unit.text for unit in units if unit.kind == "item" and unit.block == "memory"]


def _last_prompt(store: Store, run: str, speaker: str, turn: int) -> Prompt | None:
    """Return the prompt of a speaker's last turn before this one, of two who take turns; `None` if there is none."""
    turns = store.turns(run, max(1, turn - 2), turn - 1) if turn > 1 else []
    last = next((line.turn for line in reversed(turns) if line.speaker == speaker), None)
    record = None if last is None else store.turn_record(run, last)
    return None if record is None or record.prompt is None else store.prompt(record.prompt)
