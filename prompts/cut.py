"""Cutting long items, which λ could only remove whole or not at all, into their sentences.

The pieces of an item are items, with its id and `.piece_1`, `.piece_2` and so on. They take its place, on its
lines: joined, their texts are its text.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tertulia.state.records import Prompt, Unit
from tertulia.state.sentences import lines, sentences
from tertulia.state.words import words

#: The share of the removable words above which an item is cut. λ is mostly turned in quarters, and passes over a unit
#: that holds more than it asks for; before scoring, the share of the words is all that is known of that.
LONGEST_SHARE = 0.25

_PIECE = ".piece_"


def cut_long_items(prompt: Prompt) -> Prompt:
    """Return the prompt with each removable item that is too long as its sentences, an earlier dialogue as its lines.

    Too long are items with more than `LONGEST_SHARE` of the words of all removable items, and at least two sentences.
    """
    sizes = {unit.id: len(words(unit.text)) for unit in prompt.units if unit.removable and unit.picture is None}
    longest = LONGEST_SHARE * sum(sizes.values())
    units = [piece for unit in prompt.units for piece in (_pieces(unit) if sizes.get(unit.id, 0) > longest else [unit])]
    return prompt if len(units) == len(prompt.units) else prompt.model_copy(update={"units": tuple(units)})


def whole_items(prompt: Prompt) -> Prompt:
    """Return the prompt as it was before its long items were cut."""
    return prompt.model_copy(update={"units": tuple(joined(prompt.units))})


def joined(units: Iterable[Unit]) -> list[Unit]:
    """Return units with adjacent pieces of an item as a single unit of its id."""
    return [
        pieces[0]
        if len(pieces) == 1 and pieces[0].id == item
        else pieces[0].model_copy(update={"id": item, "text": "".join(piece.text for piece in pieces)})
        for item, pieces in by_item(units)
    ]


def by_item(units: Iterable[Unit]) -> Iterator[tuple[str, Sequence[Unit]]]:
    """Yield the id of each item with its adjacent pieces, of any other unit with this unit, as they are rendered.

    White space before a piece goes with the piece that it follows.
    """
    for item, group in groupby(units, key=lambda unit: item_of(unit.id)):
        first, *others = group
        if first.id not in (item, f"{item}{_PIECE}1"):
            first = first.model_copy(update={"text": first.text.lstrip()})
        yield item, (first, *others)


def item_of(unit: str) -> str:
    """Return the id of the item of which a unit is a piece; of any other unit its own."""
    item, _, number = unit.rpartition(_PIECE)
    return item if item and number.isdecimal() else unit


def _pieces(unit: Unit) -> list[Unit]:
    # A line of a dialogue begins with its speaker.
    texts = lines(unit.text) if unit.block == "previous_dialogues" else sentences(unit.text)
    if len(texts) == 1:
        return [unit]
    return [
        unit.model_copy(update={"id": f"{unit.id}{_PIECE}{number}", "text": text})
        for number, text in enumerate(texts, start=1)
    ]
