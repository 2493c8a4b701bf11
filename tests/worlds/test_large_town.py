"""Towns of any size: who meets, without a list of all pairs."""

from datetime import datetime
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tertulia.nodes.town.draw_encounters import encounters_of
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Persona
from tertulia.state.town import Habit, Resident, Town

NAMES = "ABCDEFG"

habits = st.lists(st.tuples(st.integers(0, 1439), st.booleans()), max_size=5).map(
    lambda drawn: tuple(
        Habit(minute=minute, activity="at it", place=None, asleep=asleep)
        for minute, asleep in sorted(drawn, key=lambda habit: habit[0])
    )
)
towns = st.lists(habits, min_size=2, max_size=7).map(
    lambda days: Town(
        name="quay",
        begins=datetime(2026, 5, 16),
        residents=tuple(
            Resident(persona=Persona(name=name, age=30), days=(day,)) for name, day in zip(NAMES, days, strict=False)
        ),
    )
)


def pairs_by_listing_all(town: Town, seed: int, count: int) -> list[tuple[str, str]]:
    """Who meets on the first day, by the plain definition."""
    generator = keyed_generator(seed, round=1, node="encounters")
    step = max(1, min(20, 780 // count))
    minutes = sorted(generator.sample(range(0, 780, step), count))
    met = dict.fromkeys(combinations([resident.persona.name for resident in town.residents], 2), 0)
    drawn = []
    for minute in minutes:
        asleep = set()
        for resident in town.residents:
            begun = [habit for habit in resident.days[0] if habit.minute <= 480 + minute]
            if begun and begun[-1].asleep:
                asleep.add(resident.persona.name)
        awake = [pair for pair in met if asleep.isdisjoint(pair)] or [*met]
        fewest = min(met[pair] for pair in awake)
        pair = generator.choice([pair for pair in awake if met[pair] == fewest])
        met[pair] += 1
        initiator, partner = generator.sample(pair, 2)
        drawn.append((initiator, partner))
    return drawn


@given(towns, st.integers(0, 2**32), st.integers(1, 60))
def test_who_meets_is_drawn_as_from_a_list_of_all_pairs(town: Town, seed: int, count: int) -> None:
    drawn = [encounter.pair for encounter in encounters_of(town, 1, seed, count)]
    assert drawn == pairs_by_listing_all(town, seed, count)


@given(towns, st.lists(st.sampled_from(("quay", "mill")), min_size=7, max_size=7), st.integers(1, 40))
def test_of_the_pairs_that_have_met_least_those_in_one_place_come_first(town: Town, at: list[str], count: int) -> None:
    begun = [
        resident.model_copy(update={"days": ((Habit(minute=0, activity="at it", place=place, asleep=False),),)})
        for resident, place in zip(town.residents, at, strict=False)
    ]
    where = {resident.persona.name: place for resident, place in zip(begun, at, strict=False)}
    met = dict.fromkeys(combinations(where, 2), 0)
    for encounter in encounters_of(town.model_copy(update={"residents": tuple(begun)}), 1, 3, count):
        pair = next(pair for pair in met if set(pair) == set(encounter.pair))
        least = [pair for pair in met if met[pair] == min(met.values())]
        near = [pair for pair in least if where[pair[0]] == where[pair[1]]]
        assert pair in (near or least)
        met[pair] += 1


def test_a_day_may_have_more_encounters_than_minutes() -> None:
    residents = tuple(Resident(persona=Persona(name=f"P{number}", age=30), days=((),)) for number in range(60))
    town = Town(name="quay", begins=datetime(2026, 5, 16), residents=residents)
    encounters = encounters_of(town, 1, 1, 1200)
    assert [encounter.number for encounter in encounters] == [*range(1, 1201)]
    assert all(earlier.time <= later.time for earlier, later in pairwise(encounters))
    assert len({frozenset(encounter.pair) for encounter in encounters}) == 1200  # of 1770 pairs
