"""Who wants to speak in a meeting, and who answers: nobody is locked out, and who is asked by name speaks next."""

import random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from support.dialogue_case import a_context
from support.meeting_behaviour import Behaviour, observe
from support.meeting_case import a_quay, an_attendee, at, eager, held, with_people

from tertulia.models.rehearsal import RehearsalModel
from tertulia.nodes.meeting.willingness import moved, reach_of, weighted_sum, why_willing
from tertulia.runs.driving.conversation import drive
from tertulia.state.cognition import Bid, Floor, WillingnessParts
from tertulia.state.language_model import GenerationRequest
from tertulia.state.meeting import Meeting, WillingnessWeights
from tertulia.state.person import Goal
from tertulia.state.records import Reply
from tertulia.state.seat import Answer, Invitation
from tertulia.worlds.catalog import resolve


class Asker(RehearsalModel):
    """Whoever speaks asks somebody else by name, drawn by the keyed generator; it decides nothing else."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names

    def _reply(self, request: GenerationRequest, generator: random.Random) -> Reply:
        reply = super()._reply(request, generator)
        speech = next((field.name for field in request.fields if field.kind == "speech"), None)
        if speech is None:
            return reply
        other = generator.choice([name for name in self.names if name != speech])
        text = f"{other}, where is the key?"
        return reply.model_copy(update={"fields": {**reply.fields, speech: text}})


async def behaviour_of(meeting: Meeting, model: Any = None, rounds: int = 21, **changes: Any) -> Behaviour:
    context, _ = await held(meeting, model, max_turns=rounds, **changes)
    return observe(context.store, context.run)


# --- nobody is locked out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", ["team_building", "ferry_timetable", "mothers_house"])
async def test_everybody_of_a_shipped_meeting_is_willing_once_in_any_twenty_rounds(scenario: str) -> None:
    """Over 20 seeds of 60 rounds: docs/measuring.md."""
    meeting = resolve(scenario)
    assert isinstance(meeting, Meeting)
    assert {attendee.weights for attendee in meeting.participants} == {WillingnessWeights()}
    seen = await behaviour_of(meeting)
    assert set(seen.unwilling) >= set(meeting.present(0))
    assert max(seen.unwilling.values()) < 20


async def test_an_introvert_without_goals_and_whose_plan_is_done_are_willing_again() -> None:
    quiet = an_attendee("Dee", big_five=("introverted",), goals=())
    settled = an_attendee("Ana", goals=(Goal(text="have tea", sub_goals=("sit down",)),))
    seen = await behaviour_of(with_people(quiet, settled, an_attendee("Bo"), mechanisms=()))
    assert max(seen.unwilling.values()) < 20


# --- who is asked answers -------------------------------------------------------------------------------------------


async def test_who_is_asked_by_name_speaks_next_in_at_least_half_of_the_cases() -> None:
    meeting = resolve("mothers_house")
    assert isinstance(meeting, Meeting)
    seen = await behaviour_of(meeting, Asker(meeting.names))
    assert seen.asked > 15
    assert seen.asked_next >= seen.asked / 2
    assert seen.others_next < seen.others / 4


async def test_even_the_slow_and_quiet_answer_those_who_always_want_to_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    loud = [an_attendee(name, **eager(latency="proactive")) for name in ("Ana", "Bo", "Cy")]
    slow = an_attendee("Jonas", propensity=0.0, latency="cautious", goals=())
    meeting = with_people(*loud, slow, mechanisms=())
    asked = await behaviour_of(meeting, Asker(meeting.names), rounds=15)
    assert asked.asked_next >= asked.asked / 2
    monkeypatch.setattr("tertulia.nodes.meeting.bid.address_of_agent", lambda view: 0.0)
    deaf = await behaviour_of(meeting, Asker(meeting.names), rounds=15)
    assert deaf.asked_next < deaf.asked / 2


# --- presence -------------------------------------------------------------------------------------------------------


async def test_who_leaves_before_the_first_word_does_not_get_the_floor_and_the_next_does() -> None:
    """Bo is the fastest by far, and gone a second after the meeting begins."""
    people = [
        an_attendee("Ana", **eager(latency=(5.0, 0.0))),
        an_attendee("Bo", **eager(latency=(2.0, 0.0), leaves=at(1 / 60))),
        an_attendee("Cy", **eager(latency=(6.0, 0.0))),
    ]
    context, turns = await held(with_people(*people), max_turns=1)
    floor = context.store.step("k3f9", 1, "", "floor", Floor)
    assert floor is not None
    assert (turns[0].speaker, floor.gone, floor.waited_s) == ("Ana", ("Bo",), pytest.approx(5.0))


async def test_a_person_who_takes_long_has_begun_to_speak_before_they_leave() -> None:
    meeting = with_people(an_attendee("Bo", leaves=at(0.1)), an_attendee("Ana"), an_attendee("Cy"))
    settings = {"order": "rule_based", "seat": "Bo", "seat_clock": "runs", "max_turns": 2, "removal_factor": 0}
    context = a_context(start=meeting, **settings)

    def slow(invitation: Invitation) -> Answer:
        return Answer(words="Wait for me.", seconds=9.0)

    await drive(context, InMemorySaver(), ask=slow)
    first = context.store.turns("k3f9")[0]
    assert (first.speaker, first.text) == ("Bo", "Wait for me.")
    assert first.speaker in meeting.present(first.sim_time_s)


# --- who can reach the threshold ------------------------------------------------------------------------------------


def test_reach_says_who_never_can_who_can_when_asked_and_after_how_many_rounds() -> None:
    known = {"big_five": ("introverted",), "goals": ()}
    meeting = with_people(
        an_attendee("Never", weights=WillingnessWeights(topic=0.4, goal=0, emotion=0, personality=0), **known),
        an_attendee("Mute", weights=WillingnessWeights(topic=0, goal=0.6, emotion=0, personality=0), **known),
        an_attendee("Default", **known),
        an_attendee("Keen", **eager()),
    )
    context = a_context(start=meeting, removal_factor=0)
    never, mute, default, keen = reach_of(meeting, context.parameters)
    assert (never.is_never, never.is_asked_enough, never.rounds) == (True, False, None)
    assert (mute.is_never, mute.is_asked_enough, mute.rounds) == (False, False, None)
    assert (default.is_never, default.is_asked_enough) == (False, True)
    assert default.rounds is not None
    assert 0 < default.rounds <= 12
    assert keen.rounds == 0


shares = st.floats(0, 1)


@given(shares, shares, shares, shares, st.sampled_from([0.0, 0.1, 0.5]), st.floats(0, 0.99))
def test_what_made_somebody_willing_is_what_they_would_not_be_without(
    topic: float, goal: float, emotion: float, personality: float, address: float, need: float
) -> None:
    parameters = a_context(start=a_quay(), removal_factor=0).parameters
    weights, pull = WillingnessWeights(), address

    def willingness(pull: float, need: float) -> tuple[float, dict[str, float]]:
        parts = {
            "topic": moved(topic, pull),
            "goal": goal,
            "emotion": moved(emotion, need),
            "personality": moved(personality, pull, need),
        }
        return weighted_sum(weights, **parts), parts

    whole, parts = willingness(pull, need)
    by_content, unwaited = willingness(0.0, 0.0)[0], willingness(pull, 0.0)[0]
    assume(all(abs(found - 0.5) > 1e-6 for found in (whole, by_content, unwaited)))
    bid = Bid(
        parts=WillingnessParts(**parts),
        willingness=whole,
        willing=whole >= 0.5,
        address=address,
        need=need,
        similarity=0,
        similarity_max=None,
        latency_scale_s=1,
        latency_spread_s=1,
        persistence=1,
        latency_s=None,
        won=False,
    )
    expected = "content" if by_content >= 0.5 else "asked" if unwaited >= 0.5 else "waiting" if whole >= 0.5 else None
    assert why_willing(bid, weights, parameters) == expected
