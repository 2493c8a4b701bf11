"""Names as keys: thousands of them are hashed once, however often something is looked up by them."""

import pytest

from tertulia.state.names import Names
from tertulia.worlds.catalog import resolve


@pytest.mark.parametrize("names", [(), ("Ada",), ("Ada", "Bo")])
def test_names_are_the_tuple_of_them(names: tuple[str, ...]) -> None:
    made = Names.of(names)
    assert (made, hash(made), {made: 1}[names]) == (names, hash(names), 1)
    assert Names.of(made) is made


def test_those_of_a_population_are_such() -> None:
    population = resolve("villagers")
    assert Names.of(population.names) is population.names
