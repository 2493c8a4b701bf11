"""What is known where a line is said: what a monitor of sense reads it against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tertulia.nodes.meeting.address import is_named
from tertulia.prompts.cut import joined
from tertulia.state.album import Population
from tertulia.state.meeting import Attendee, Meeting, Start
from tertulia.state.recall import may_be_recalled
from tertulia.state.records import Case, Participant, Prompt
from tertulia.state.store import Store

#: The latest lines that are looked at for what is said again.
LINES_SEEN = 32

#: The latest memories of a resident of a town that are looked at, beside those that the prompts of the two show.
MEMORIES_SEEN = 16

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
    remembered: dict[str, list[str]] = {}
    if with_streams and (latest := latest_memories(store, start)):
        prompts = {name: prompt if name == speaker else _last_prompt(store, run, name, turn) for name in start.names}
        remembered = {name: [*recalled_in(prompts[name]), *latest[name]] for name in start.names}
    return situation_among(start, speaker, sim_time_s, lines_before(store, run, start, turn), remembered, prompt)


def situation_among(
    start: Case | Meeting,
    speaker: str,
    sim_time_s: float,
    before: Sequence[tuple[str, str]],
    remembered: Mapping[str, Sequence[str]],
    prompt: Prompt | None = None,
) -> Situation:
    """Return what is known where somebody speaks.

    Args:
        before: The latest lines, oldest first.
        remembered: By person, what is looked at of their stream. What others remember of the speaker counts as nobody's
            secret: it may be the speaker's own too.
        prompt: As of `situation_of`.
    """
    if isinstance(start, Case):
        start = start.shown
    known = {name: known_to(start.participant(name)) for name in start.names}
    for name, memories in remembered.items():
        is_own = name == speaker
        new = (text for text in memories if is_own or not is_named(speaker, text))
        known[name] = tuple(dict.fromkeys((*known[name], *new)))
    time = start.time + timedelta(seconds=sim_time_s)
    return Situation(speaker, start.names, before, known, start.place, time, _shown(prompt))


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
    told = tuple(unit.text for unit in joined(units) if unit.kind == "item" and unit.block in _TOLD_IN_EXCHANGE)
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


def latest_memories(store: Store, start: Start) -> dict[str, list[str]]:
    """Return by person the latest memories of their stream, oldest first; empty where they are in no simulation."""
    if not isinstance(start, Case) or start.initiator.stream is None:
        return {}
    found: dict[str, list[str]] = {}
    for name in start.names:
        stream, found[name] = start.participant(name).stream, []
        if stream is not None and stream.length:
            numbers = range(max(1, stream.length - MEMORIES_SEEN + 1), stream.length + 1)
            memories = filter(may_be_recalled, store.remembered(stream, numbers))
            found[name] = [memory.text for memory in memories]
    return found


def recalled_in(prompt: Prompt | None) -> list[str]:
    """Return the memories that a prompt shows; none where there is no prompt."""
    units = () if prompt is None else prompt.units
    return [unit.text.removeprefix("- ") for unit in joined(units) if unit.kind == "item" and unit.block == "memory"]


def _last_prompt(store: Store, run: str, speaker: str, turn: int) -> Prompt | None:
    """Return the prompt of a speaker's last turn before this one; `None` if there is none, or it is long ago."""
    turns = store.turns(run, max(1, turn - LINES_SEEN), turn - 1) if turn > 1 else []
    last = next((line.turn for line in reversed(turns) if line.speaker == speaker), None)
    record = None if last is None else store.turn_record(run, last)
    return None if record is None or record.prompt is None else store.prompt(record.prompt)
