"""Have a model answer the personality inventory as each person of a meeting, before the conversation and after it.

The answers are no part of the conversation: speakers never hear of the questions. The persona is told in full, both
times and whatever λ was; so only the spoken lines differ.

Source: the question of arXiv 2604.24698 (persona collapse); the items are those of `lab/annotations/inventory.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tertulia.lab.annotations.annotating import AnnotationRequest
from tertulia.lab.annotations.inventory import item_fields, items_by_call, rated_items
from tertulia.metrics.personality import SEGMENT_TURNS, scores_of
from tertulia.prompts.annotation import ask_self_inventory
from tertulia.state.album import Villager
from tertulia.state.annotation import Annotation
from tertulia.state.cognition import Character
from tertulia.state.meeting import Meeting
from tertulia.state.records import Participant, Turn

#: The scores of people on the inventory's five traits, in [1, 5].
Traits = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class SelfRatings:
    """How people answered about themselves: scores by person and trait, before and after the conversation."""

    before: Traits
    after: Traits


def self_inventory_requests(
    meeting: Meeting, characters: Mapping[str, Character], turns: Sequence[Turn]
) -> list[AnnotationRequest]:
    """Return the requests for a meeting: two calls before it, and two after it, for each person with a character.

    After it they have heard its last 30 turns.
    """
    return [
        request
        for heard in ((), turns[-SEGMENT_TURNS:])
        for name in meeting.names
        if name in characters
        for request in person_requests(
            meeting.participant(name), characters[name], heard, heard[-1].turn if heard else 0
        )
    ]


def person_requests(
    person: Participant, character: Character | None, heard: Sequence[Turn], last: int
) -> list[AnnotationRequest]:
    """Return the requests for a person after a turn: two calls.

    Args:
        character: In a meeting, as they entered it; `None` in a dialogue of two.
        heard: The lines that they have heard of late.
        last: The turn; 0 before the first.
    """
    return [_annotation_request(person, character, heard, last, at, part) for at, part in enumerate(items_by_call())]


def self_ratings(annotations: Sequence[Annotation]) -> SelfRatings:
    """Return the scores from the answers to all requests about a meeting."""
    ratings: dict[tuple[bool, str], dict[int, int]] = {}
    for annotation in annotations:
        ratings.setdefault((annotation.last == 0, annotation.agent), {}).update(rated_items(annotation))
    scores = {key: scores_of(rated) for key, rated in ratings.items()}
    before, after = (
        {agent: traits for (is_first, agent), traits in scores.items() if is_first is wanted}
        for wanted in (True, False)
    )
    return SelfRatings(before, after)


def _annotation_request(
    person: Participant,
    character: Character | None,
    heard: Sequence[Turn],
    last: int,
    part: int,
    items: Sequence[str],
) -> AnnotationRequest:
    name, poles = person.persona.name, () if character is None else character.big_five
    return AnnotationRequest(
        instrument="self_inventory",
        agent=name,
        first=last + 1,
        last=last,
        part=part,
        prompt=ask_self_inventory(heard, name, poles, _given(person, character), items),
        fields=item_fields(items),
    )


def _given(person: Participant, character: Character | None) -> list[str]:
    persona, descriptions = person.persona, () if character is None else character.descriptions
    texts = [
        persona.occupation,
        persona.character,
        persona.style,
        *persona.background,
        persona.lifestyle,
        person.activity,
        person.setting,
    ]
    texts += [*descriptions, *(goal.text for goal in person.goals)]
    if isinstance(person, Villager):
        texts += [f"{name}: {value}" for name, value in person.properties]
    return [text for text in texts if text]
