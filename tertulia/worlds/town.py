"""Read a town to simulate from a Generative Agents run: its people, their habits and memories, the encounters.

1. If encounters are drawn (`nodes/town/draw_encounters.py`), the first day is the day after the log ends: everything
   in the log is known.
2. If they are those of the log, the first day is the log's first: only records from before its first dialogue are
   known. A simulation that is longer than the log begins the log's days again.
3. A town in which nothing has happened yet begins on its own first day: people remember their plans for it.

Source: Park et al. 2023 (the log); APP §2 (its dialogues).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path

from tertulia.state.errors import NotFoundError, ScenarioError, nearest_hint
from tertulia.state.records import Dialogue, Remembered
from tertulia.state.town import LAST_HOUR, PAST_KEPT, Encounter, Habit, PastDialogue, Resident, Town
from tertulia.worlds.catalog import TOWNS
from tertulia.worlds.ga_files import PersonFiles, address_in_words
from tertulia.worlds.generative_agents import Log, read_log
from tertulia.worlds.log_words import activity_in, is_asleep, is_conversation, is_made_up

#: The first day of a town in which nothing has happened, if no file says it: that of the program's own towns.
FIRST_DAY = datetime(2023, 2, 13)

#: Minutes of a day; how long before a town begins its people thought of their plans; and the poignancy of these, that
#: of a day's plan in the program (Park et al. 2023).
_DAY_MIN = 24 * 60
_MOMENT = timedelta(seconds=1)
_PLANS_WEIGH = 5


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
        ScenarioError: It can't be read, fewer than two people live there, or `from_log` and it has no dialogue.
    """
    log = read_log(_folder_of(name))
    people = log.files.people
    if len(people) < 2:
        raise ScenarioError(f"{name}: only {len(people)} person lives there; an encounter needs two")
    if from_log and not log.dialogues:
        raise ScenarioError(f"{name} holds no dialogue, so --from-log has no encounters; leave it out to draw them")
    begins = _midnight(log.dialogues[0].time) if from_log else _first_day_after(log)
    known_until = log.dialogues[0].time if from_log else begins
    cut_day = _cut_day(people.values())
    residents = (
        Resident(persona=person.persona, days=_days_of(person, from_log, cut_day)) for person in people.values()
    )
    town = Town(
        name=name,
        begins=begins,
        residents=tuple(residents),
        past=() if from_log else _past(log),
        logged=_logged(log, name) if from_log else (),
        withheld=(*log.files.notes, *([log.files.made_up_note] if log.files.made_up_note else [])),
    )
    if not any(person.stream for person in people.values()):
        return OpenedTown(town, {name: _plans_of(person, begins) for name, person in people.items()})
    leaking = _leaking_records(log, known_until)
    memories = {
        name: tuple(
            Remembered(**record.memory.model_dump(), evidence=record.evidence)
            for record in person.stream
            if record.memory.created < known_until
            and not (record.is_idle or record.is_made_up)
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


def _first_day_after(log: Log) -> datetime:
    """Return midnight after all that a log holds, or before the first day of a town in which nothing has happened."""
    people = log.files.people.values()
    moments = [person.stream[-1].memory.created for person in people if person.stream]
    if moments:
        return _midnight(max(moments)) + timedelta(days=1)
    return _midnight(log.files.begins or FIRST_DAY)


def _plans_of(person: PersonFiles, begins: datetime) -> tuple[Remembered, ...]:
    """Return a person's plans as memories from the last moment before a town begins."""
    return tuple(
        Remembered(id=f"plan_{number}", kind="thought", text=text, created=begins - _MOMENT, importance=_PLANS_WEIGH)
        for number, text in enumerate(person.plans, start=1)
    )


def _cut_day(people: Iterable[PersonFiles]) -> datetime | None:
    """Return the last day of a log if it ends before the evening, when people still meet; `None` if it is whole."""
    last = max((action.since for person in people for action in person.actions), default=None)
    return _midnight(last) if last is not None and last.hour < LAST_HOUR else None


def _days_of(person: PersonFiles, from_log: bool, cut_day: datetime | None) -> tuple[tuple[Habit, ...], ...]:
    """Return a person's habits on each day of the log, without chats; without activities, those of their schedule.

    The schedule is that of the last day of the log: nobody knows it before.

    Args:
        cut_day: The last day of the log if it is not whole; it counts only if there is no other.
    """
    if not person.actions and not from_log:
        return _scheduled(person)
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
    whole = sorted(day for day in days if day != cut_day) or sorted(days)
    return tuple(tuple(days[day]) for day in whole)


def _scheduled(person: PersonFiles) -> tuple[tuple[Habit, ...], ...]:
    """Return the habits of a person's last schedule as one day; nothing if there is none."""
    habits: list[Habit] = []
    minute = 0
    for activity, minutes in person.schedule:
        is_shown = activity and not is_conversation(activity) and not is_made_up(activity, person.persona.name)
        if minute < _DAY_MIN and is_shown:
            habits.append(Habit(minute=minute, activity=activity, place=None, asleep=is_asleep(activity)))
        minute += minutes
    return (tuple(habits),) if habits else ()


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
