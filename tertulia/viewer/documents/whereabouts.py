"""The places of people on a day of a town, for the viewer: their days as planned, and their visits to others."""

from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError
from tertulia.state.town import Encounter, Habit, Town
from tertulia.storage.store import SqlStore

#: The most people whose day is given: those who met somebody come first.
_PEOPLE = 100
#: How long a visit counts, in minutes, as that of two who have agreed to meet.
_VISIT_MIN = 30
_DAY_MIN = 24 * 60


@dataclass(frozen=True)
class Stay:
    """A resident at a place, from one minute after midnight until another.

    Attributes:
        roof: The building or square that a place is in: `Net Hall` of `upstairs flat at Net Hall`.
    """

    begins: int
    ends: int
    place: str | None
    roof: str | None
    activity: str | None
    asleep: bool


def day_page(store: SqlStore, simulation: str, day: int) -> Document:
    """Return the stays of people on a day, in order of time.

    Raises:
        NotFoundError: There is no such simulation, or it has no such day.
    """
    from tertulia.nodes.town.plan_day import planned_day

    record = store.simulations.get(simulation)
    if not 1 <= day <= record.days:
        raise NotFoundError(f"simulation {record.simulation} has no day {day}; its days are 1 to {record.days}")
    town = store.simulations.town(record.simulation)
    met: dict[str, list[Encounter]] = {}
    for encounter in store.simulations.encounters(record.simulation):
        if encounter.day == day:
            for name in encounter.pair:
                met.setdefault(name, []).append(encounter)
    shown = _shown(town, met)

    def stays_of(name: str) -> list[Stay]:
        return stays(planned_day(town.resident(name), day, town.plan_seed), met.get(name, ()))

    return {
        "schema_version": SCHEMA_VERSION,
        "simulation": record.simulation,
        "day": day,
        "date": (town.begins + timedelta(days=day - 1)).date().isoformat(),
        "people": [{"name": name, "stays": [asdict(stay) for stay in stays_of(name)]} for name in shown],
        "more": len(town.residents) - len(shown),
    }


def _shown(town: Town, meeting: Container[str]) -> list[str]:
    """Return the names of the people whose day is given, in the town's order."""
    names = [resident.persona.name for resident in town.residents]
    chosen = {*sorted(names, key=lambda name: name not in meeting)[:_PEOPLE]}
    return [name for name in names if name in chosen]


def stays(habits: Sequence[Habit], met: Sequence[Encounter]) -> list[Stay]:
    """Return the stays of a resident, in order of time.

    Args:
        habits: Their day as planned, in order of time.
        met: Their encounters on that day, in order of time. If one is at another place than planned, or at an hour of
            sleep, they are there for half an hour, or until the next.
    """
    ends = [habit.minute for habit in habits[1:]] + [_DAY_MIN]
    found = [
        _stay(habit.minute, end, habit.place, habit.activity, habit.asleep)
        for habit, end in zip(habits, ends, strict=False)
    ]
    for encounter in met:
        begins = encounter.time.hour * 60 + encounter.time.minute
        at = next((stay for stay in found if stay.begins <= begins < stay.ends), None)
        if at is None or at.asleep or encounter.place not in (None, at.place):
            visit = _stay(begins, min(begins + _VISIT_MIN, _DAY_MIN), encounter.place, None, False)
            found = [part for stay in found for part in _without(stay, visit)] + [visit]
    return sorted(found, key=lambda stay: stay.begins)


def _without(stay: Stay, visit: Stay) -> list[Stay]:
    """Return the parts of a stay before and after a visit elsewhere."""
    parts = (stay.begins, min(stay.ends, visit.begins)), (max(stay.begins, visit.ends), stay.ends)
    return [_stay(begins, ends, stay.place, stay.activity, stay.asleep) for begins, ends in parts if begins < ends]


def _stay(begins: int, ends: int, place: str | None, activity: str | None, asleep: bool) -> Stay:
    return Stay(begins, ends, place, place and place.rpartition(" at ")[2], activity, asleep)
