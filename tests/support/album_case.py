"""A small population with albums, and what a run of theirs is driven with."""

from datetime import datetime

from tertulia.state.album import Picture, PictureFile, Population, Villager
from tertulia.state.records import Persona

CAPTIONS = ("red kite", "stone bridge", "copper kettle", "paper lantern", "garden gate", "toy boat", "blue teapot")


def a_population(people: int = 5, pictures: int = 3, with_files: bool = True) -> Population:
    """People called Ana 1, Ana 2, …, each with `pictures` pictures, of which no two have the same."""
    villagers = tuple(
        Villager(
            persona=Persona(name=f"Ana {number}"),
            properties=(("Name", f"Ana {number}"), ("Hobby", "kites" if number % 2 else "boats")),
            album=tuple(f"p{number}_{place}" for place in range(pictures)),
        )
        for number in range(1, people + 1)
    )
    albums = [
        Picture(
            id=id,
            caption=CAPTIONS[place % len(CAPTIONS)],
            variant=f"of Ana {number}",
            file=PictureFile(hash="0" * 32, width=96, height=64, colours=("green", "brown")) if with_files else None,
        )
        for number, villager in enumerate(villagers, start=1)
        for place, id in enumerate(villager.album)
    ]
    return Population(
        scenario="a_population",
        title="Neighbours",
        time=datetime(2026, 5, 1, 10),
        villagers=villagers,
        pictures=tuple(albums),
    )
