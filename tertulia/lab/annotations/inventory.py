"""Have a model fill in the personality inventory about each person, for every 30 turns in which they spoke.

Source: ChatAgents §IV-C, App. E.
"""

from collections.abc import Mapping, Sequence

from tertulia.lab.annotations.annotating import AnnotationRequest
from tertulia.metrics.personality import HIGHEST, LOWEST, RatedSegment, segments
from tertulia.prompts.annotation import ask_inventory, inventory_items
from tertulia.state.annotation import Annotation
from tertulia.state.cognition import Character
from tertulia.state.language_model import ReplyField
from tertulia.state.records import RunRecord, Turn

#: Items in a call: two calls for the inventory.
ITEMS_PER_CALL = 22


def inventory_requests(turns: Sequence[Turn]) -> list[AnnotationRequest]:
    """Return the requests for a conversation: two calls per person and segment in which they spoke."""
    return [
        _annotation_request([turn for turn in turns if segment.first <= turn.turn <= segment.last], name, at, part)
        for segment in segments(turns)
        for name in segment.speakers
        for at, part in enumerate(items_by_call())
    ]


def items_by_call() -> list[list[str]]:
    """Return the 44 items, in two calls."""
    items = [*inventory_items().values()]
    return [items[first : first + ITEMS_PER_CALL] for first in range(0, len(items), ITEMS_PER_CALL)]


def rated_items(annotation: Annotation) -> dict[int, int]:
    """Return the ratings of an annotation by the number of the item."""
    numbers = {item: number for number, item in inventory_items().items()}
    return {numbers[item]: int(rating) for item, rating in annotation.answers.items()}


def item_fields(items: Sequence[str]) -> tuple[ReplyField, ...]:
    """Return the fields of an answer that rates items."""
    return tuple(ReplyField(item, "integer", minimum=LOWEST, maximum=HIGHEST) for item in items)


def rated_segments(
    run: RunRecord, annotations: Sequence[Annotation], characters: Mapping[str, Character]
) -> list[RatedSegment]:
    """Return the ratings of every person in each segment, from the answers to all requests about a run.

    The characters are everybody as they entered a meeting; there are none in a dialogue of two.
    """
    ratings: dict[tuple[str, int, int], dict[int, int]] = {}
    for annotation in annotations:
        key = annotation.agent, annotation.first, annotation.last
        ratings.setdefault(key, {}).update(rated_items(annotation))
    return [
        RatedSegment(
            run=run.run,
            agent=agent,
            first=first,
            last=last,
            poles=characters[agent].big_five if agent in characters else (),
            ratings=rated,
        )
        for (agent, first, last), rated in ratings.items()
    ]


def _annotation_request(turns: Sequence[Turn], name: str, part: int, items: Sequence[str]) -> AnnotationRequest:
    return AnnotationRequest(
        instrument="inventory",
        agent=name,
        first=turns[0].turn,
        last=turns[-1].turn,
        part=part,
        prompt=ask_inventory(turns, name, items),
        fields=item_fields(items),
    )
