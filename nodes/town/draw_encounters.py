"""The encounters of a town, with time and place: drawn by the seed of the case, or as the town's log has them.

1. A drawn pair is in one place at that time, if such a pair has met as seldom as any. Else one of them comes over to
   see the other, and is said to: they meet at the other's place.
2. People's activities and places come from their days (`plan_day.py`).
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, deque
from datetime import datetime, time, timedelta
from itertools import combinations
from math import comb
from operator import itemgetter
from random import Random
from typing import Any

from tertulia.nodes.town.plan_day import planned_day
from tertulia.prompts.town import visit
from tertulia.state.languages import DEFAULT
from tertulia.state.randomness import keyed_generator
from tertulia.state.town import FIRST_HOUR, LAST_HOUR, Encounter, Habit, Town

#: Encounters are drawn on whole minutes, with at least this many minutes between them if possible.
_LEAST_GAP_MIN = 20
#: The most pairs in one place that are listed, and tries to find one among more.
_ALL_LISTED = 500


def encounters_of(town: Town, day: int, seed: int, count: int | None, language: str = DEFAULT) -> tuple[Encounter, ...]:
    """Return the encounters of a day, in order of time.

    Args:
        day: From 1.
        seed: Of the case: encounters are the same in all trials of a town.
        count: How many are drawn; `None` for those of the log.
        language: Of the words for a visit.
    """
    begins = town.begins + timedelta(days=day - 1)
    if count is None:
        logged = town.logged[(day - 1) % len(town.logged)]
        first = logged[0].time if logged else begins
        shift = begins - datetime.combine(first.date(), time())
        return tuple(encounter.model_copy(update={"day": day, "time": encounter.time + shift}) for encounter in logged)
    return _drawn(town, day, begins, seed, count, language)


def _drawn(town: Town, day: int, begins: datetime, seed: int, count: int, language: str) -> tuple[Encounter, ...]:
    generator = keyed_generator(seed, round=day, node="encounters")
    minutes = _minutes(generator, count)
    pairs = _Pairs(town, day)
    drawn = []
    for number, minute in enumerate(minutes, start=1):
        begins_at = 60 * FIRST_HOUR + minute
        initiator, partner = generator.sample(pairs.draw(generator, begins_at), 2)
        first, second = (_habit(town, name, day, begins_at) for name in (initiator, partner))
        drawn.append(
            Encounter(
                day=day,
                number=number,
                time=begins + timedelta(minutes=begins_at),
                initiator=initiator,
                partner=partner,
                **where_and_doing(initiator, first, second, language),
            )
        )
    return tuple(drawn)


def where_and_doing(initiator: str, first: Habit | None, second: Habit | None, language: str) -> dict[str, Any]:
    """Return place and activities of an encounter: the initiator's place; the partner is there, or comes over.

    Args:
        first, second: The activities of the initiator and the partner at that time by their days; `None` if it is not
            known.
    """
    activity = second.activity if second else None
    if first and first.place and first.place != (second.place if second else None):
        activity = visit(initiator, second.place if second else None, language)
    activities = (first.activity if first else None, activity)
    return {"place": first.place if first else None, "activities": activities}


def habit_at(town: Town, name: str, time: datetime) -> Habit | None:
    """Return a resident's activity at a time by their day, or the one that goes on since the day before."""
    day, minute = town.day_of(time), time.hour * 60 + time.minute
    if (habit := _habit(town, name, day, minute)) is not None:
        return habit
    return _habit(town, name, max(1, day - 1), 24 * 60)


class _Pairs:
    """The pairs of waking residents, drawn among those that have met least often on a day: of these, one in one place.

    Nothing lists them: a town of 10,000 has fifty million. Kept are the people awake, and the ranks of the pairs that
    may not be drawn; the rank of a pair is its place in `combinations(awake, 2)`.
    """

    def __init__(self, town: Town, day: int) -> None:
        self._names = [resident.persona.name for resident in town.residents]
        changes = (
            (habit.minute, index, habit)
            for index, resident in enumerate(town.residents)
            for habit in planned_day(resident, day, town.plan_seed)
        )
        self._changes = deque(sorted(changes, key=itemgetter(0)))
        self._asleep: set[int] = set()
        self._places: dict[int, str | None] = {}
        self._together: list[list[int]] = []  # the people awake in one place, of every place with several
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
        """Return a pair in one place that has met as seldom as any; `None` if none is found."""
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
        """Let habits change up to a minute; return whether anybody has woken or fallen asleep."""
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
        """Rank the pairs of people awake that have met more often than the fewest."""
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
    """Return the times of a day's encounters, in minutes after the first hour; if they are many, some coincide."""
    length = 60 * (LAST_HOUR - FIRST_HOUR)
    if count > length:
        return sorted(generator.choices(range(length), k=count))
    gap = max(1, min(_LEAST_GAP_MIN, length // count))
    return sorted(generator.sample(range(0, length, gap), count))


def _habit(town: Town, name: str, day: int, minute: int) -> Habit | None:
    habits = planned_day(town.resident(name), day, town.plan_seed)
    return next((habit for habit in reversed(habits) if habit.minute <= minute), None)
