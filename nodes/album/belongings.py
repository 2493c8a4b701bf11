"""The belongings of villagers from exchange to exchange: a queue of exchanges, and a queue of pictures."""

from collections.abc import Iterable

from tertulia.state.album import Exchange, Population
from tertulia.state.graph_state import Belongings
from tertulia.state.parameters import Parameters


def first_belongings(population: Population, parameters: Parameters) -> dict[str, Belongings]:
    """Return everybody's belongings at the beginning: their latest pictures, and nothing to remember."""
    return {
        villager.persona.name: {"history": [], "album": list(villager.album[-parameters.album_pictures :])}
        for villager in population.villagers
    }


def belongings_after(
    belongings: Belongings, turn: int, received: str | None, parameters: Parameters
) -> tuple[Belongings, str | None]:
    """Return a villager's belongings after an exchange, and the id of the picture that a received one replaces.

    A picture that they have already is not received again.
    """
    history = [*belongings["history"], turn]
    album, dropped = belongings["album"], None
    if received is not None and received not in album:
        album = [*album, received]
        if len(album) > parameters.album_pictures:
            dropped, *album = album
    kept: Belongings = {
        "history": history[max(0, len(history) - parameters.history_records) :],
        "album": album,
    }
    return kept, dropped


def belongings_at(
    population: Population, exchanges: Iterable[tuple[int, Exchange]], parameters: Parameters
) -> dict[str, Belongings]:
    """Return everybody's belongings after these exchanges, each with its turn, in order: the beginning of a fork."""
    everybody = first_belongings(population, parameters)
    for turn, exchange in exchanges:
        received = {exchange.asker: None, exchange.answerer: exchange.picture if exchange.passed else None}
        for name, picture in received.items():
            everybody[name], _ = belongings_after(everybody[name], turn, picture, parameters)
    return everybody
