"""People who are made up by a seed: names, ages, traits, work, and a few memories, for trying things out."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from tertulia.state.errors import SettingError
from tertulia.state.meeting import BIG_FIVE
from tertulia.state.randomness import keyed_generator
from tertulia.worlds.people import Person
from tertulia.worlds.yaml_file import YamlFile

#: Names, shared with further villagers; and what else a person is made of.
_NAMES, _PARTS = (Path(__file__).parent / "albums" / name for name in ("names.yaml", "people.yaml"))

#: The youngest and the oldest, and how many traits and memories somebody has.
_AGES, _TRAITS, _MEMORIES = (18, 84), 3, 3

#: The lowest and the highest importance of a memory.
_IMPORTANCE = (3, 8)


def generate_people(count: int, seed: int = 1, without: Collection[str] = ()) -> list[Person]:
    """Return people who are made up: name, age, three Big Five poles, work, home, activity and three memories.

    The first people are the same however many there are, so a population can grow. All texts are English.

    ::

        people = tertulia.generate_people(5, seed=1)

    Args:
        count: How many, from 1.
        seed: Seed of all draws, any integer.
        without: Names that nobody may have, such as those of people of your own.

    Raises:
        SettingError: There are not so many names, or a count is not a whole number from 1.
    """
    parts, names = _read(_PARTS), _names(seed, without)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= len(names):
        raise SettingError("count", count, f": a whole number from 1 to {len(names):,} is expected")
    return [_made(name, keyed_generator(seed, agent=name, node="generate_person"), parts) for name in names[:count]]


def _names(seed: int, without: Collection[str]) -> list[str]:
    """Return full names in an order of the seed; no given name comes again before all have come."""
    read = _read(_NAMES)
    draw = keyed_generator(seed, node="name_people")
    given, family = (draw.sample(read[kind], len(read[kind])) for kind in ("given", "family"))
    taken = {name.casefold() for name in without}
    pairs = [(first, (lap + first) % len(family)) for lap in range(len(family)) for first in range(len(given))]
    names = [f"{given[first]} {family[last]}" for first, last in pairs]
    return [name for name in names if name.casefold() not in taken]


def _made(name: str, draw: Random, parts: Mapping[str, Sequence[Any]]) -> Person:
    work = draw.choice(parts["work"])
    dimensions = draw.sample(sorted(BIG_FIVE), _TRAITS)
    memories = draw.sample(parts["memories"], _MEMORIES)
    return Person(
        name=name,
        age=draw.randint(*_AGES),
        traits=[draw.choice(BIG_FIVE[dimension]) for dimension in dimensions],
        background=f"{name} {work}.",
        home=draw.choice(parts["homes"]),
        activity=draw.choice(parts["activities"]),
        memories=[{"text": f"{name} {text}.", "importance": draw.randint(*_IMPORTANCE)} for text in memories],
    )


@lru_cache
def _read(file: Path) -> dict[str, list[str]]:
    values: dict[str, list[str]] = YamlFile.read(file).values
    return values
