"""Read a town to simulate from a Generative Agents run: its people, their memories, and their encounters.

1. Encounters are drawn by seed, and then the first day is the day after the log ends: everything in the log is known.
2. Or they are those of the log, at the log's times, and then the first day is the log's first: only what is from before
   its first dialogue is known. A simulation that is longer than the log begins the log's days again.
3. What people do and where comes from what the log shows them doing at that time of day.
4. Two who are drawn are in one place at that time, if such a pair has met as seldom as any. Else one of them comes over
   to see the other, and is said to: they meet where the other is.

Source: Park et al. 2023 (the log); APP §2 (its dialogues).
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import combinations
from math import comb
from operator import itemgetter
from pathlib import Path
from random import Random

from tertulia.prompts.town import visit
from tertulia.state.errors import NotFoundError, ScenarioError, nearest_hint
from tertulia.state.languages import DEFAULT
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Dialogue, Remembered
from tertulia.state.town import Encounter, Habit, PastDialogue, Resident, Town
from tertulia.worlds.catalog import TOWNS
from tertulia.worlds.ga_files import PersonFiles, address_in_words
from tertulia.worlds.generative_agents import Log, read_log
from tertulia.worlds.log_words import activity_in, is_asleep, is_conversation

#: Encounters are drawn between these hours, on whole minutes, with at least this many minutes between them if possible.
_FIRST_HOUR, _LAST_HOUR = 8, 21
_LEAST_GAP_MIN = 20
#: Earlier dialogues of a pair that are kept (a prompt shows three: APP Table 1).
PAST_KEPT = 10
#: The most pairs in one place that are listed, and tries to find one among more.
_ALL_LISTED = 500


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


def encounters_of(town: Town, day: int, seed: int, count: int | None, language: str = DEFAULT) -> tuple[Encounter, ...]:
    """Return the encounters of a day, in order of time.

    Args:
        day: From 1.
        seed: Of the case: who meets when is the same in all trials of a town.
        count: How many are drawn; `None` for those of the log.
        language: Of the words for a visit.
    """
    begins = town.begins + timedelta(days=day - 1)
    if count is None:
        logged = town.logged[(day - 1) % len(town.logged)]
        shift = begins - _midnight(logged[0].time) if logged else timedelta()
        return tuple(encounter.model_copy(update={"day": day, "time": encounter.time + shift}) for encounter in logged)
    return _drawn(town, day, begins, seed, count, language)


def _drawn(town: Town, day: int, begins: datetime, seed: int, count: int, language: str) -> tuple[Encounter, ...]:
    generator = keyed_generator(seed, round=day, node="encounters")
    minutes = _minutes(generator, count)
    pairs = _Pairs(town, day)
    drawn = []
    for number, minute in enumerate(minutes, start=1):
        begins_at = 60 * _FIRST_HOUR + minute
        initiator, partner = generator.sample(pairs.draw(generator, begins_at), 2)
        first, second = (_habit(town, name, day, begins_at) for name in (initiator, partner))
        activity = second.activity if second else None
        if first and first.place and first.place != (second.place if second else None):
            activity = visit(initiator, second.place if second else None, language)
        drawn.append(
            Encounter(
                day=day,
                number=number,
                time=begins + timedelta(minutes=begins_at),
                place=first.place if first else None,
                initiator=initiator,
                partner=partner,
                activities=(first.activity if first else None, activity),
            )
        )
    return tuple(drawn)


class _Pairs:
    """The pairs of waking residents, drawn among those that have met least often on a day: of these, one in one place.

    Nothing lists them: a town of 10,000 has fifty million. What is kept is whoever is awake, and the ranks of the pairs
    that may not be drawn; the rank of a pair is its place in `combinations(awake, 2)`.
    """

    def __init__(self, town: Town, day: int) -> None:
        self._names = [resident.persona.name for resident in town.residents]
        changes = (
            (habit.minute, index, habit)
            for index, resident in enumerate(town.residents)
            for habit in _habits(resident, day)
        )
        self._changes = deque(sorted(changes, key=itemgetter(0)))
        self._asleep: set[int] = set()
        self._places: dict[int, str | None] = {}
        self._together: list[list[int]] = []  # those who are awake in one place, of every place with several
        self._awake: list[int] = []  # indices in the town's list of residents
        self._met: Counter[tuple[int, int]] = Counter()
        self._fewest = 0
        self._withheld: list[int] = []  # ranks of the pairs that have met more often than the fewest, in order

    def draw(self, generator: Random, minute: int) -> tuple[str, str]:
        """Return a pair that meets now, in the order of the town's list; minutes never go back."""
        if self._pass_to(minute) or not self._awake:
            awake = [index for index in range(len(self._names)) if index not in self._asleep]
            self._awake = awake if len(awake) > 1 else [*range(len(self._names))]
            self._fewest = 0
            self._withhold()
        while len(self._withheld) == comb(len(self._awake), 2):
            self._fewest += 1
            self._withhold()
        pair = self._in_one_place(generator) or self._anywhere(generator)
        self._met[pair] += 1
        insort(self._withheld, self._rank(*(bisect_left(self._awake, index) for index in pair)))
        return self._names[pair[0]], self._names[pair[1]]

    def _in_one_place(self, generator: Random) -> tuple[int, int] | None:
        """Return a pair in one place that has met as seldom as any; `None` where none is found."""
        sizes = [comb(len(group), 2) for group in self._together]
        if sum(sizes) <= _ALL_LISTED:
            pairs = [pair for group in self._together for pair in combinations(group, 2)]
            pairs = [pair for pair in pairs if self._met[pair] == self._fewest]
            return generator.choice(pairs) if pairs else None
        for _ in range(_ALL_LISTED):
            (group,) = generator.choices(self._together, sizes)
            first, second = sorted(generator.sample(group, 2))
            if self._met[first, second] == self._fewest:
                return first, second
        return None

    def _anywhere(self, generator: Random) -> tuple[int, int]:
        drawn = generator.choice(range(comb(len(self._awake), 2) - len(self._withheld)))
        passed_over = bisect_right(range(len(self._withheld)), drawn, key=lambda index: self._withheld[index] - index)
        return self._pair(drawn + passed_over)

    def _pass_to(self, minute: int) -> bool:
        """Let habits change up to a minute; return whether somebody has woken or fallen asleep."""
        changed = moved = False
        while self._changes and self._changes[0][0] <= minute:
            _, index, habit = self._changes.popleft()
            changed |= habit.asleep != (index in self._asleep)
            moved |= habit.place != self._places.get(index)
            (self._asleep.add if habit.asleep else self._asleep.discard)(index)
            self._places[index] = habit.place
        if changed or moved:
            groups: dict[str, list[int]] = {}
            for index in sorted(self._places.keys() - self._asleep):
                if place := self._places[index]:
                    groups.setdefault(place, []).append(index)
            self._together = [group for group in groups.values() if len(group) > 1]
        return changed

    def _withhold(self) -> None:
        """Rank the pairs of those who are awake that have met more often than the fewest."""
        index = {resident: index for index, resident in enumerate(self._awake)}
        self._withheld = sorted(
            self._rank(index[first], index[second])
            for (first, second), times in self._met.items()
            if times > self._fewest and first in index and second in index
        )

    def _rank(self, first: int, second: int) -> int:
        return first * (2 * len(self._awake) - first - 1) // 2 + second - first - 1

    def _pair(self, rank: int) -> tuple[int, int]:
        count = len(self._awake)
        first = bisect_right(range(count - 1), rank, key=lambda index: self._rank(index, index + 1)) - 1
        second = rank - self._rank(first, first + 1) + first + 1
        return self._awake[first], self._awake[second]


def _minutes(generator: Random, count: int) -> list[int]:
    """Return the times of a day's encounters, in minutes after the first hour; where they are many, some coincide."""
    length = 60 * (_LAST_HOUR - _FIRST_HOUR)
    if count > length:
        return sorted(generator.choices(range(length), k=count))
    gap = max(1, min(_LEAST_GAP_MIN, length // count))
    return sorted(generator.sample(range(0, length, gap), count))


def _habit(town: Town, name: str, day: int, minute: int) -> Habit | None:
    habits = _habits(town.resident(name), day)
    return next((habit for habit in reversed(habits) if habit.minute <= minute), None)


def _habits(resident: Resident, day: int) -> tuple[Habit, ...]:
    """Return what a resident does on a day; the days of the log are repeated."""
    return resident.days[(day - 1) % len(resident.days)] if resident.days else ()


def _folder_of(name: str) -> Path:
    if name in TOWNS:
        return TOWNS[name]
    if name.startswith("ga:") and name != "ga:":
        return Path(name.removeprefix("ga:")).expanduser()
    raise NotFoundError(f"unknown town {name!r}{nearest_hint(name, TOWNS)}; give a shipped town, or ga:FOLDER")


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
