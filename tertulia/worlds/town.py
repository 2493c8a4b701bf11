"""Read a town to simulate from a Generative Agents run: its people, their habits and memories, the encounters.

1. If encounters are drawn (`nodes/town/draw_encounters.py`), the first day is the day after the log ends: everything
   in the log is known.
2. If they are those of the log, the first day is the log's first: only records from before its first dialogue are
   known. A simulation that is longer than the log begins the log's days again.

Source: Park et al. 2023 (the log); APP §2 (its dialogues).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path

from tertulia.state.errors import NotFoundError, ScenarioError, nearest_hint
from tertulia.state.records import Dialogue, Remembered
from tertulia.state.town import PAST_KEPT, Encounter, Habit, PastDialogue, Resident, Town
from tertulia.worlds.catalog import TOWNS
from tertulia.worlds.ga_files import PersonFiles, address_in_words
from tertulia.worlds.generative_agents import Log, read_log
from tertulia.worlds.log_words import activity_in, is_asleep, is_conversation


@dataclass(frozen=True)
class OpenedTown:
    """A town, and the memories of everybody in it when the simulation begins, by name, oldest first."""

    town: Town
    memories: Mapping[str, Sequence[Remembered]]


def open_town(name: str, from_log: bool) -> OpenedTown:
    """Read a town.

    Args:
        name: A shipped town, or `ga:FOLDER`.
        from_log: Whether its encounters are those of its log.

    Raises:
        NotFoundError: There is no such town, or no such folder.
        ScenarioError: It can't be read, or fewer than two people live there.
    """
    log = read_log(_folder_of(name))
    people = log.files.people
    if len(people) < 2:
        raise ScenarioError(f"{name}: only {len(people)} person lives there; an encounter needs two")
    first = log.dialogues[0].time
    last = max(person.stream[-1].memory.created for person in people.values() if person.stream)
    begins = _midnight(first) if from_log else _midnight(last) + timedelta(days=1)
    known_until = first if from_log else begins
    town = Town(
        name=name,
        begins=begins,
        residents=tuple(Resident(persona=person.persona, days=_days_of(person)) for person in people.values()),
        past=() if from_log else _past(log),
        logged=_logged(log, name) if from_log else (),
        withheld=log.files.notes,
    )
    leaking = _leaking_records(log, known_until)
    memories = {
        name: tuple(
            Remembered(**record.memory.model_dump(), evidence=record.evidence)
            for record in person.stream
            if record.memory.created < known_until
            and not record.is_idle
            and record.memory.id not in leaking.get(name, ())
        )
        for name, person in people.items()
    }
    return OpenedTown(town, memories)


def _folder_of(name: str) -> Path:
    if name in TOWNS:
        return TOWNS[name]
    if name.startswith("ga:") and name != "ga:":
        return Path(name.removeprefix("ga:")).expanduser()
    hint = nearest_hint(name, TOWNS, otherwise=f" (known: {', '.join(TOWNS)}); give a shipped town, or ga:FOLDER")
    raise NotFoundError(f"unknown town {name!r}{hint}")


def _midnight(moment: datetime) -> datetime:
    return datetime.combine(moment.date(), time())


def _days_of(person: PersonFiles) -> tuple[tuple[Habit, ...], ...]:
    """Return a person's habits on each day of the log, without chats."""
    days: dict[datetime, list[Habit]] = {}
    for action in person.actions:
        activity = activity_in(action.activity, person.persona.name)
        if activity and not action.chat and not is_conversation(activity):
            minute = action.since.hour * 60 + action.since.minute
            place = address_in_words(action.address)
            habit = Habit(minute=minute, activity=activity, place=place, asleep=is_asleep(activity))
            habits = days.setdefault(_midnight(action.since), [])
            if not habits or habits[-1].activity != habit.activity:
                habits.append(habit)
    return tuple(tuple(days[day]) for day in sorted(days))


def _past(log: Log) -> tuple[PastDialogue, ...]:
    kept: dict[tuple[str, str], list[PastDialogue]] = {}
    for logged in log.dialogues:
        past = PastDialogue(pair=logged.pair, dialogue=Dialogue(time=logged.time, utterances=logged.utterances))
        kept[logged.pair] = [*kept.get(logged.pair, []), past][-PAST_KEPT:]
    everything = (past for dialogues in kept.values() for past in dialogues)
    return tuple(sorted(everything, key=lambda past: past.dialogue.time))


def _logged(log: Log, name: str) -> tuple[tuple[Encounter, ...], ...]:
    """Return the encounters of a log by day, from that of its first dialogue to that of its last."""
    cases = [log.case(number, name) for number in range(len(log.dialogues))]
    first = _midnight(cases[0].time)
    days: list[list[Encounter]] = [[] for _ in range((cases[-1].time - first).days + 1)]
    for case in cases:
        day = (case.time - first).days
        days[day].append(
            Encounter(
                day=day + 1,
                number=len(days[day]) + 1,
                time=case.time,
                place=case.place,
                initiator=case.initiator.persona.name,
                partner=case.partner.persona.name,
                activities=(case.initiator.activity, case.partner.activity),
            )
        )
    return tuple(map(tuple, days))


def _leaking_records(log: Log, until: datetime) -> dict[str, set[str]]:
    """Return, by name, the ids of memories from before a time that hold a dialogue at that time or later."""
    leaking: dict[str, set[str]] = {}
    for number, dialogue in enumerate(log.dialogues):
        if dialogue.time >= until:
            case = log.case(number, "")
            for name in dialogue.pair:
                kept = {memory.id for memory in case.participant(name).memories}
                stream = log.files.people[name].stream
                early = {r.memory.id for r in stream if r.memory.created < min(until, dialogue.time)}
                leaking.setdefault(name, set()).update(early - kept)
    return leaking
