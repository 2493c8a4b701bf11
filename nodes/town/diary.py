"""Agreements of people of a town, as entries of their days, and their effect on encounters.

1. An agreement to meet is entered in the days of both, at one time and place, unless one of them sleeps then, or has
   agreed before to be with another person within half an hour. Without a place, the proposer comes over.
2. At that time they meet, beside the drawn encounters. Until half an hour later each of them is there for others, too.

Agreements depend on the lines, so they never change the drawn encounters: those are the same with any seed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from tertulia.nodes.town.draw_encounters import habit_at, where_and_doing
from tertulia.prompts.town import keeping
from tertulia.state.agreements import Agreement, Entry, Hindrance
from tertulia.state.parameters import Parameters
from tertulia.state.text import folded_words
from tertulia.state.town import Diary, Encounter, Habit, Town, TownContext

#: How long people are at the agreed place, and how far apart two such times are at least.
STAY = timedelta(minutes=30)


def entries_of(agreements: Iterable[Agreement], encounter: Encounter, town: Town, diary: Diary) -> tuple[Entry, ...]:
    """Return the agreements of an encounter as entries of the two, without those already entered.

    Args:
        diary: The agreements of earlier conversations; entries of this one are passed over.
    """
    entries: list[Entry] = []
    for agreement in agreements:
        hindrance, hindered = None, None
        if agreement.kind == "meet" and agreement.time is not None:
            pair, day = set(agreement.people), town.day_of(agreement.time)
            known = (entry for near in (day - 1, day, day + 1) for entry in diary.meetings(near))
            kept = [*(entry for entry in known if entry.run != encounter.run), *filter(_meets, entries)]
            if any(set(entry.agreement.people) == pair and _is_near(entry, agreement.time) for entry in kept):
                continue
            hindrance, hindered = _hindrance(agreement, agreement.time, town, kept)
        entry = Entry(
            run=encounter.run,
            number=len(entries) + 1,
            made=encounter.time,
            agreement=agreement,
            place=place_meant(agreement, encounter, town),
            hindrance=hindrance,
            hindered=hindered,
        )
        entries.append(entry)
    return tuple(entries)


def _hindrance(
    agreement: Agreement, time: datetime, town: Town, kept: Iterable[Entry]
) -> tuple[Hindrance | None, str | None]:
    for name in agreement.people:
        habit = habit_at(town, name, time)
        if habit is not None and habit.asleep:
            return "asleep", name
    for name in agreement.people:
        if any(name in entry.agreement.people and _is_near(entry, time) for entry in kept):
            return "engaged", name
    return None, None


def _is_near(entry: Entry, time: datetime) -> bool:
    return entry.meets_at is not None and abs(entry.meets_at - time) < STAY


# --- places ---------------------------------------------------------------------------------------------------------


def place_meant(agreement: Agreement, encounter: Encounter, town: Town) -> str | None:
    """Return the place of the town that has most of the words said for it: of several, that at which the two are most.

    A place that the town does not have stays as it was said; `None` without a place.
    """
    if agreement.place is None:
        return None
    words = set(folded_words(agreement.place))
    theirs = Counter(_places_of(town, agreement.people))
    everywhere = Counter(_places_of(town, [resident.persona.name for resident in town.residents]))
    shared = {place: len(words & set(folded_words(place))) for place in everywhere}
    most = max(shared.values(), default=0)
    if 2 * most < len(words) or not most:
        return agreement.place
    found = [place for place, count in shared.items() if count == most]
    return max(found, key=lambda place: (place == encounter.place, theirs[place], everywhere[place], place))


def _places_of(town: Town, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        for day in town.resident(name).days:
            yield from (habit.place for habit in day if habit.place and not habit.asleep)


# --- days -----------------------------------------------------------------------------------------------------------


def with_agreed(town: TownContext, day: int, planned: tuple[Encounter, ...]) -> tuple[Encounter, ...]:
    """Return the encounters of a day with those that were agreed on so far, in order of time."""
    entries = town.diary.meetings(day)
    if not entries:
        return planned
    key = day, len(entries)
    if key not in town.schedule:
        agreed = [
            _meeting_of(town, entry, day) for entry in sorted(entries, key=lambda entry: (_time(entry), entry.run))
        ]
        # Agreed meetings come first: others wait.
        ordered = sorted([*agreed, *planned], key=lambda encounter: encounter.time)
        town.schedule.clear()
        town.schedule[key] = tuple(
            encounter.model_copy(update={"number": number}) for number, encounter in enumerate(ordered, start=1)
        )
    return town.schedule[key]


def as_agreed(town: TownContext, encounter: Encounter) -> Encounter:
    """Return an encounter at the agreed place of its people, if one of them is in the middle of an agreed meeting."""
    engaged = {
        name: entry
        for entry in _near(town, encounter.time)
        for name in entry.agreement.people
        if name in encounter.pair and _time(entry) <= encounter.time < _time(entry) + STAY
    }
    if encounter.appointment is not None or not engaged:
        return encounter
    first, second = (
        _habit_of(town, engaged[name], name) if name in engaged else habit_at(town.town, name, encounter.time)
        for name in encounter.pair
    )
    return encounter.model_copy(update=where_and_doing(encounter.initiator, first, second, _language(town)))


def _meeting_of(town: TownContext, entry: Entry, day: int) -> Encounter:
    """Return the encounter of two at the time that they agreed on; without a place, the proposer comes over."""
    proposer, other = entry.agreement.people
    time, language = _time(entry), _language(town)
    if entry.place is not None:
        activities = keeping(other, language), keeping(proposer, language)
        initiator, partner, where = proposer, other, {"place": entry.place, "activities": activities}
    else:
        initiator, partner = other, proposer
        host, guest = (habit_at(town.town, name, time) for name in (other, proposer))
        where = where_and_doing(initiator, host, guest, language)
        host_does, guest_does = where["activities"]
        where["activities"] = host_does or keeping(proposer, language), guest_does or keeping(other, language)
    appointment = entry.appointment
    return Encounter(
        day=day, number=1, time=time, initiator=initiator, partner=partner, appointment=appointment, **where
    )


def _habit_of(town: TownContext, entry: Entry, name: str) -> Habit:
    """Return a person's activity during an agreed meeting; without a place, at the other's."""
    first, second = entry.agreement.people
    place = entry.place
    if place is None:
        host = habit_at(town.town, second, _time(entry))
        place = host.place if host else None
    time = _time(entry)
    activity = keeping(second if name == first else first, _language(town))
    return Habit(minute=time.hour * 60 + time.minute, activity=activity, place=place)


def _near(town: TownContext, time: datetime) -> Iterator[Entry]:
    """Yield the agreements to meet on a day, and on that before: people that meet at midnight are there after it."""
    day = town.town.day_of(time)
    yield from town.diary.meetings(day - 1)
    yield from town.diary.meetings(day)


def _meets(entry: Entry) -> bool:
    return entry.meets_at is not None


def _time(entry: Entry) -> datetime:
    assert entry.meets_at is not None
    return entry.meets_at


def _language(town: TownContext) -> str:
    return Parameters.model_validate(town.simulation.parameters).language
