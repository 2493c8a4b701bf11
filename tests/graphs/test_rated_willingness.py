"""Willingness as a model rates it: what is recorded, what is off the scale, and what says nothing."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.dialogue_case import a_context
from support.meeting_case import a_quay, an_attendee, with_people
from support.scripted import ScriptedModel

from tertulia.models.served.repair import UnusableReplyError, read_answer
from tertulia.runs.driving.conversation import drive
from tertulia.runs.driving.events import Event, Noted
from tertulia.runs.planning.meeting_check import SAME_RATINGS, UNWILLING_ROUNDS
from tertulia.state.cognition import Assessment, Bid, WillingnessRatings
from tertulia.state.context import Context
from tertulia.state.language_model import ReplyField
from tertulia.state.meeting import WillingnessWeights
from tertulia.views.measuring.participation import read_participation


async def rated(ratings: Any = (), rounds: int = 3, **settings: Any) -> tuple[Context, list[str]]:
    """Hold a meeting of two whose model gives these whole numbers, and return its notes too."""
    meeting = with_people(an_attendee("Ana"), an_attendee("Bo"), mechanisms=())
    known = {"removal_factor": 0, "willingness": "rated", "max_turns": rounds, **settings}
    context = a_context(ScriptedModel(ratings=ratings), start=meeting, **known)
    notes: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, Noted):
            notes.append(event.text)

    await drive(context, InMemorySaver(), note)
    return context, notes


async def test_the_parts_are_the_models_ratings_with_its_reasons() -> None:
    context, _ = await rated()
    bids, ratings = (
        context.store.steps("k3f9", "bid", Bid),
        context.store.steps("k3f9", "decide", WillingnessRatings),
    )
    assert set(bids) == set(ratings)
    for key, bid in bids.items():
        assert bid.parts is not None
        assert tuple(bid.parts.model_dump().values())[:3] == tuple(v / 10 for v in ratings[key].values)[:3]
        assert all(getattr(ratings[key], part).reason for part in ("topic", "goal", "emotion", "personality"))


async def test_the_question_holds_the_situation_and_that_one_was_asked_or_quiet() -> None:
    opened = a_quay(mechanisms=())
    asked = opened.model_copy(
        update={"opening": opened.opening and opened.opening.model_copy(update={"text": "Bo, who pays?"})}
    )
    context = a_context(start=asked, removal_factor=0, willingness="rated", max_turns=2)
    await drive(context, InMemorySaver())
    calls = [call for call in context.store.calls("k3f9") if call.node == "decide" and call.agent == "Bo"]
    first, second = ("\n".join(unit.text for unit in context.store.prompt(call.prompt).units) for call in calls)
    assert "You have just been asked by name." in first
    assert "You have not said a word for" not in first
    assessment = context.store.step("k3f9", 1, "Bo", "assess", Assessment)
    assert assessment is not None
    assert assessment.thought in first
    spoke = context.store.turns("k3f9")[0].speaker == "Bo"
    assert ("You have not said a word for 1 rounds." in second) != spoke


def test_a_number_off_the_scale_is_taken_as_it_was_given_where_the_field_allows_it() -> None:
    model, answer = ScriptedModel(), '{"topic": 14}'
    with pytest.raises(UnusableReplyError):
        read_answer(answer, [ReplyField("topic", "integer")], model.tokenizer)
    lenient = ReplyField("topic", "integer", is_bounded=False)
    assert read_answer(answer, [lenient], model.tokenizer).fields == {"topic": 14}
    assert read_answer('{"topic": -3}', [lenient], model.tokenizer).fields == {"topic": -3}


async def test_off_the_scale_counts_as_its_nearer_end_is_told_once_and_counted() -> None:
    # Of each agent in each round: how strongly they feel, and then the four parts.
    context, notes = await rated([5, 5] + [14, -2, 5, 5] * 2 + [5, 5] + [14, 5, 5, 5] * 2 + [5] * 10, rounds=3)
    assert [note for note in notes if "rates outside 0 to 10" in note] == [
        "the model of Ana rates outside 0 to 10; the nearer end counts",
        "the model of Bo rates outside 0 to 10; the nearer end counts",
    ]
    first = context.store.step("k3f9", 1, "Ana", "bid", Bid)
    assert first is not None
    assert first.parts is not None
    assert (first.parts.topic, first.parts.goal) == (1.0, 0.0)
    figures = read_participation(context.store, context.store.run("k3f9"), context.start)
    assert [(agent.rated, agent.rated_off_scale, agent.distinct_ratings) for agent in figures.agents] == [(3, 2, 3)] * 2


async def test_ratings_that_are_always_the_same_are_told_once() -> None:
    _, notes = await rated([5] * 500, rounds=SAME_RATINGS + 3)
    assert sum("has given the same ratings" in note for note in notes) == 2


async def test_a_run_notes_who_no_longer_wants_to_speak() -> None:
    never = WillingnessWeights(topic=0, goal=0.6, emotion=0, personality=0)
    meeting = with_people(an_attendee("Mute", weights=never, goals=()), an_attendee("Ana"), an_attendee("Bo"))
    context = a_context(start=meeting, removal_factor=0, max_turns=UNWILLING_ROUNDS + 5)
    notes: list[str] = []
    await drive(context, InMemorySaver(), lambda event: notes.append(event.text) if isinstance(event, Noted) else None)
    assert [note.split(":")[0] for note in notes] == [
        "Mute may stay silent for good",
        f"Mute has not wanted to speak for {UNWILLING_ROUNDS} rounds",
    ]
