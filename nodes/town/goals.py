"""Whom people of a town seek of their own accord, because they meant to. No model is asked. English only.

1. A goal is what a memory of their last days says that they want, plan or promised: to ask, tell, see or help somebody
   of the town. One that names a day waits for it; one that names an hour has that hour.
2. They go where that person is by their day at that time, or speak to them where both are anyway.
3. A person follows one goal a day at most and is sought once; a goal is done with once the two have met after it arose.

What people remember depends on what was said, so these encounters stand beside those that are drawn, as agreed ones do.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from tertulia.nodes.agreements.spoken_days import day_in
from tertulia.nodes.agreements.spoken_times import time_in
from tertulia.nodes.town.draw_encounters import habit_at
from tertulia.prompts.town import visit
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Remembered
from tertulia.state.town import Encounter, Errand, Habit, TownContext

#: The languages whose memories are read.
_LANGUAGES = ("en",)
#: How far back goals are looked for, in days, how many memories are read at once, and how many people for each goal.
_LAST_DAYS, _READ_AT_ONCE, _ASKED_FOR_EACH = 3, 64, 16
#: People are sought between these hours, on such minutes, and not within so many of another encounter of the day.
_FIRST_MIN, _LAST_MIN, _STEP_MIN, _APART_MIN = 8 * 60, 21 * 60, 20, 30

_MEANS = re.compile(
    r"(?:\b(?:wants?|means?|plans?|intends?|hopes?|needs?|has|have|decided|resolved|would like|is going|promised?"
    r"(?: [A-Z]\w+){0,2})(?: (?:in|on) \w+)? to|\b(?:must|should|will|plan for [^:]{3,40}:|plan:)) ",
)
_DENIED = re.compile(r"\b(?:not|never|if|wonders?|no longer)\b|n['’]t\b")
_DEEDS = (
    "ask|tell|see|visit|(?:talk|speak) (?:to|with)|thank|apologi[sz]e to|show|help|find|meet|invite|remind|warn|bring"
    "|give|consult|confess to|make (?:up|peace) with|be calm with|check (?:with|on)|look in on|play chess with|call on"
)


def seekings_of(town: TownContext, day: int, planned: Sequence[Encounter], seed: int, language: str) -> list[Encounter]:
    """Return the encounters of a day in which one seeks another, beside those that are planned.

    They follow from what is stored of the days before, so that they are the same after a crash.

    Args:
        planned: The encounters of the day that are drawn.
        seed: Of the case.
    """
    limit = max(1, len(planned) // 2)
    if language not in _LANGUAGES:
        return []
    names = [resident.persona.name for resident in town.town.residents]
    generator = keyed_generator(seed, round=day, node="goals")
    found: list[Encounter] = []
    for seeker in generator.sample(names, min(len(names), _ASKED_FOR_EACH * limit)):
        if len(found) == limit:
            break
        busy = [*planned, *found]
        sought = {encounter.partner for encounter in found} | {encounter.initiator for encounter in found}
        for errand, partner, at in _goals(town, seeker, names, day):
            if seeker in sought or partner in sought or _have_met(town, seeker, partner, day, errand.made):
                continue
            if (encounter := _meeting(town, errand, partner, day, at, busy, seed, language)) is not None:
                found.append(encounter)
                break
    return found


def goals_in(text: str, names: Sequence[str], owner: str) -> list[tuple[str, str]]:
    """Return whom the owner of a memory means to seek, each with the clause that says so; none where it says no such.

    Args:
        names: Of all who live in the town.
    """
    own = owner.partition(" ")[0]
    begins = re.match(rf"(?:On [^,:]*?\b\d+ \w+ )?(?:{re.escape(own)}\b|I\b|He\b|She\b|\w+ing\b)", text)
    means = _MEANS.search(text)
    if begins is None or means is None or _DENIED.search(text):
        return []
    others = [name for name in names if name != owner]
    if any(re.search(rf"\b{re.escape(name.partition(' ')[0])}\b", text[: means.start()]) for name in others):
        return []  # it is the other's plan
    found: list[tuple[int, str, str]] = []
    for name in others:
        called = rf"(?:{re.escape(name)}|{re.escape(name.partition(' ')[0])})\b"
        deed = re.compile(rf"\b(?:{_DEEDS}) {called}[^,;.]*").search(text, means.end() - 1)
        if deed is not None:
            found.append((deed.start(), name, deed[0]))
    return [(name, clause) for _, name, clause in sorted(found)]


def _goals(
    town: TownContext, seeker: str, names: Sequence[str], day: int
) -> Iterator[tuple[Errand, str, datetime | None]]:
    """Yield the goals of somebody for a day, the latest first, with whom they seek, and the time if one is said."""
    begins = town.town.begins + timedelta(days=day - 1)
    for memory in _last_memories(town, seeker, begins):
        errand = Errand(seeker=seeker, memory=memory.id, made=memory.created, what=memory.text)
        meant = day_in(memory.text, memory.created.date())
        if meant is not None and meant != begins.date():
            continue
        for partner, clause in goals_in(memory.text, names, seeker):
            time = time_in(clause, begins)
            yield errand, partner, time.resolved(begins) if time is not None and time.is_exact else None


def _last_memories(town: TownContext, name: str, begins: datetime) -> Iterator[Remembered]:
    """Yield what somebody remembers of the last days before a day, the latest first."""
    stream = town.simulations.stream(town.simulation, name)
    last = stream.length
    while last > 0:
        numbers = range(max(1, last - _READ_AT_ONCE + 1), last + 1)
        for memory in reversed(town.store.remembered(stream, numbers)):
            if memory.created < begins - timedelta(days=_LAST_DAYS):
                return
            if memory.created < begins and memory.kind != "chat":
                yield memory
        last = numbers[0] - 1


def _have_met(town: TownContext, first: str, second: str, day: int, since: datetime) -> bool:
    """Return whether two have met in the simulation since a time, before a day."""
    probe = Encounter(
        day=day, number=1, time=since, place=None, initiator=first, partner=second, activities=(None, None)
    )
    last = town.simulations.last_encounters(town.simulation.simulation, probe, 1)
    return bool(last) and last[-1].time > since


def _meeting(
    town: TownContext,
    errand: Errand,
    partner: str,
    day: int,
    at: datetime | None,
    busy: Sequence[Encounter],
    seed: int,
    language: str,
) -> Encounter | None:
    """Return the encounter in which a person seeks another; `None` where there is no time for it."""
    begins = town.town.begins + timedelta(days=day - 1)
    minutes = (
        [at.hour * 60 + at.minute]
        if at is not None and at.date() == begins.date()
        else [*range(_FIRST_MIN, _LAST_MIN, _STEP_MIN)]
    )
    free = []
    for minute in minutes:
        time = begins + timedelta(minutes=minute)
        first, second = (habit_at(town.town, name, time) for name in (errand.seeker, partner))
        if _can_meet(first, second) and not any(
            abs(other.time - time) < timedelta(minutes=_APART_MIN) and {errand.seeker, partner} & set(other.pair)
            for other in busy
        ):
            free.append((time, first, second))
    together = [slot for slot in free if slot[1] and slot[2] and slot[1].place == slot[2].place]
    if not free:
        return None
    generator = keyed_generator(seed, round=day, agent=errand.seeker, node="goal_time")
    time, first, second = generator.choice(together or free)
    sought = sought_at(errand, partner, first, second, language)
    return Encounter(day=day, number=1, time=time, initiator=errand.seeker, partner=partner, errand=errand, **sought)


def sought_at(
    errand: Errand, partner: str, seeking: Habit | None, sought: Habit | None, language: str
) -> dict[str, Any]:
    """Return place and activities where one seeks another: where that one is; who seeks is there, or comes over."""
    place = sought.place if sought else None
    activity = seeking.activity if seeking else None
    if seeking is None or seeking.place != place:
        activity = visit(partner, seeking.place if seeking else None, language)
    return {"place": place, "activities": (activity, sought.activity if sought else None)}


def _can_meet(first: Habit | None, second: Habit | None) -> bool:
    return first is not None and second is not None and not (first.asleep or second.asleep) and second.place is not None
