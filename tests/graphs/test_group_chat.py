"""Meetings from their opening to their end: who is there, who speaks, under every order, and who they are."""

import asyncio
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise, repeat
from typing import Any

import pytest
from support.dialogue_case import a_context
from support.meeting_case import a_meeting_of, a_quay, an_attendee, at, eager, held, with_people
from support.scripted import ScriptedModel

from tertulia.graphs.group_chat import ORDERS
from tertulia.runs.access.suited import suited_to
from tertulia.runs.driving.conversation import drive
from tertulia.state.cognition import Assessment, Bid, Character, Floor
from tertulia.state.context import Context
from tertulia.state.language_model import RenderedPrompt
from tertulia.state.meeting import BIG_FIVE
from tertulia.state.records import Persona, Turn
from tertulia.storage.sqlite.checkpoints import open_checkpoints

# --- rounds ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def meeting() -> tuple[Context, list[Turn]]:
    """A meeting in which some speak, some are not heard, and all are silent now and then."""
    return asyncio.run(held(max_turns=16, willingness_threshold=0.75))


def test_every_round_is_one_turn_by_somebody_who_is_there_or_a_silence(meeting: tuple[Context, list[Turn]]) -> None:
    context, turns = meeting
    assert [turn.turn for turn in turns] == [turn.round for turn in turns] == list(range(1, 17))
    spoken = [turn for turn in turns if turn.speaker is not None]
    silences = [turn for turn in turns if turn.speaker is None]
    assert spoken
    assert silences
    assert {turn.speaker for turn in spoken} <= set(context.meeting.names)
    assert all(turn.text for turn in spoken)
    assert not any(turn.text or turn.ended for turn in silences)


def test_the_clock_counts_thinking_speaking_and_silence(meeting: tuple[Context, list[Turn]]) -> None:
    context, turns = meeting
    floors = context.store.steps("k3f9", "floor", Floor)
    now = 0.0
    for turn in turns:
        waited = floors[turn.round, ""].waited_s
        if turn.speaker is None:
            assert waited is None
            assert turn.sim_time_s == pytest.approx(now)
            now += 10
        else:
            assert waited is not None
            assert turn.sim_time_s == pytest.approx(now + waited)
            now += waited + len(turn.text.split()) / 150 * 60


def test_the_winner_is_the_fastest_of_the_willing_in_every_round(meeting: tuple[Context, list[Turn]]) -> None:
    context, turns = meeting
    bids = context.store.steps("k3f9", "bid", Bid)
    for turn in turns:
        in_round = {agent: bid for (round, agent), bid in bids.items() if round == turn.round}
        drawn = {agent: bid.latency_s for agent, bid in in_round.items() if bid.latency_s is not None}
        assert {agent for agent, bid in in_round.items() if bid.willing} == set(drawn)
        assert [agent for agent, bid in in_round.items() if bid.won] == ([turn.speaker] if turn.speaker else [])
        if turn.speaker:
            assert drawn[turn.speaker] <= min(drawn.values()) + 0.1


async def test_who_was_willing_and_not_heard_is_faster_next_time() -> None:
    context, _ = await held(a_quay(mechanisms=()), max_turns=6)
    bids = context.store.steps("k3f9", "bid", Bid)
    factors = set()
    for (round, agent), bid in bids.items():
        before = bids.get((round - 1, agent))
        unheard = before is not None and before.willing and not before.won
        assert bid.persistence == pytest.approx(0.7 if unheard else 1.0)
        factors.add(bid.persistence)
    assert factors == {0.7, 1.0}


# --- who comes and goes ---------------------------------------------------------------------------------------------


async def test_who_leaves_is_not_heard_again_and_who_comes_late_not_before() -> None:
    meeting = with_people(
        an_attendee("Ana", **eager(leaves=at(0.25))),
        an_attendee("Bo", **eager()),
        an_attendee("Cy", **eager(joins=at(0.35))),
        an_attendee("Dee", **eager()),
        mechanisms=(),
    )
    for order in ORDERS:
        context, turns = await held(meeting, order=order, max_turns=20, max_minutes=1)
        thought = {(round, agent) for round, agent in context.store.steps("k3f9", "assess", Assessment)}
        begins = [0.0, *(t.sim_time_s + len(t.text.split()) / 2.5 + (10 if t.speaker is None else 0) for t in turns)]
        for turn, begin in zip(turns, begins, strict=False):
            there = {agent for round, agent in thought if round == turn.round}
            assert ("Ana" in there) == (begin < 15), order
            assert ("Cy" in there) == (begin >= 21), order
            assert turn.speaker is None or turn.speaker in there
        assert {turn.speaker for turn in turns} >= {"Bo", "Cy"}


async def test_a_meeting_ends_when_fewer_than_two_are_left() -> None:
    meeting = with_people(an_attendee("Ana", leaves=at(1)), an_attendee("Bo"), an_attendee("Cy", leaves=at(2)))
    _, turns = await held(meeting.model_copy(update={"mechanisms": ()}), max_turns=100)
    assert 90 <= turns[-1].sim_time_s <= 150
    assert len(turns) < 100


async def test_the_clock_moves_on_to_when_there_are_two() -> None:
    meeting = with_people(an_attendee("Ana"), an_attendee("Bo", joins=at(5)), an_attendee("Cy", joins=at(5)))
    _, turns = await held(meeting, max_turns=2)
    assert 300 <= turns[0].sim_time_s < 311


@pytest.mark.parametrize(
    ("limits", "longest_s"), [({"max_minutes": 1.0}, 60), ({"max_minutes": 20}, 120)], ids=["minutes", "schedule"]
)
async def test_the_clock_ends_a_meeting(limits: dict[str, Any], longest_s: float) -> None:
    _, turns = await held(a_quay(ends=at(2), mechanisms=()), max_turns=100, **limits)
    assert longest_s - 40 < turns[-1].sim_time_s < longest_s + 10  # the last round begins before the end


# --- sizes and silences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 25])
async def test_few_and_many_can_meet(count: int) -> None:
    context, turns = await held(a_meeting_of(count, mechanisms=()), max_turns=2)
    assert len(turns) == 2
    assert len(context.store.steps("k3f9", "bid", Bid)) == 2 * count


async def test_where_all_are_silent_the_clock_ends_it() -> None:
    people = [an_attendee(name, propensity=0.0, silence_discomfort=0.0) for name in ("Ana", "Bo", "Cy")]
    _, turns = await held(with_people(*people, mechanisms=()), willingness_threshold=1, max_turns=100, max_minutes=2)
    assert [(turn.speaker, turn.sim_time_s) for turn in turns] == [(None, 10.0 * round) for round in range(12)]


# --- orders ---------------------------------------------------------------------------------------------------------


async def test_by_rule_everybody_speaks_in_turn() -> None:
    _, turns = await held(order="rule_based", max_turns=6)
    assert [turn.speaker for turn in turns] == ["Bo", "Cy", "Dee", "Ana", "Bo", "Cy"]  # Ana opened


@pytest.mark.parametrize(("order", "rounds"), [("random", 24), ("centralised", 12), ("designated", 12)])
async def test_nobody_follows_themselves_and_all_are_drawn(order: str, rounds: int) -> None:
    _, turns = await held(a_quay(mechanisms=()), order=order, max_turns=rounds, max_minutes=200)
    speakers = [turn.speaker for turn in turns]
    assert speakers[0] != "Ana"
    assert all(speaker != follower for speaker, follower in pairwise(speakers))
    assert len(set(speakers)) == 4
    if order == "random":
        assert all(count >= 3 for count in Counter(speakers).values()), "they are drawn evenly"


class Naming(ScriptedModel):
    """A model that names the next speaker as a test says."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = list(names)

    def _value(self, field: Any, prompt: RenderedPrompt, generator: random.Random, several: bool) -> Any:
        if field.name == "next" and field.kind == "choice":
            return self.names.pop(0) if self.names else field.choices[0]
        return super()._value(field, prompt, generator, several)


@pytest.mark.parametrize("order", ["centralised", "designated"])
async def test_who_is_named_speaks_and_a_name_of_nobody_is_asked_for_once_more(order: str) -> None:
    context, turns = await held(model=Naming("Cy", "Zoe", "dee ", "Zoe", "Ana or Bo"), order=order, max_turns=3)
    assert [turn.speaker for turn in turns[:2]] == ["Cy", "Dee"]
    assert turns[2].speaker in ("Ana", "Bo", "Cy")  # drawn
    floor = context.store.step("k3f9", 3, "", "floor", Floor)
    assert floor is not None
    asked = "Dee" if order == "designated" else "the moderator"
    assert (floor.reason, floor.drawn) == (f"{asked} named nobody who is there", True)
    made = [call.attempt for call in context.store.calls("k3f9", 2) if call.node == order]
    assert made == [0, 1]


async def test_the_first_one_and_who_follows_somebody_that_has_left_is_drawn() -> None:
    meeting = with_people(an_attendee("Ana", leaves=at(0.1)), an_attendee("Bo"), an_attendee("Cy"))
    context, _ = await held(meeting, order="designated", max_turns=4)
    floor = context.store.step("k3f9", 1, "", "floor", Floor)
    assert floor is not None
    assert (floor.reason, floor.drawn) == ("nobody was there to name the next", True)


async def test_the_moderators_reason_is_kept_where_its_choice_has_to_leave() -> None:
    """Bo is named, and gone a second after the meeting begins."""
    people = (an_attendee("Ana", latency=(2.0, 0.0)), an_attendee("Bo", latency=(2.0, 0.0), leaves=at(1 / 60)))
    context, turns = await held(with_people(*people), model=Naming("Bo"), order="centralised", max_turns=1)
    floor = context.store.step("k3f9", 1, "", "floor", Floor)
    assert floor is not None
    (call,) = (call for call in context.store.calls("k3f9", 1) if call.node == "centralised")
    assert (turns[0].speaker, floor.gone, floor.drawn) == ("Ana", ("Bo",), False)
    assert floor.reason == call.replies[0].fields["reason"]


# --- before the meeting ---------------------------------------------------------------------------------------------


async def test_poles_are_drawn_only_for_people_of_whom_nothing_of_character_is_said() -> None:
    gruff = Persona(name="Cy", character="gruff, silent")
    meeting = with_people(
        an_attendee("Ana", big_five=("introverted",), descriptions=()),
        an_attendee("Bo", big_five=(), descriptions=()),
        an_attendee("Cy", big_five=(), descriptions=(), persona=gruff),
        mechanisms=(),
    )
    drawn = []
    for seed in range(5):
        context, _ = await held(meeting, seed=seed, max_turns=1)
        characters = context.store.steps("k3f9", "prepare", Character)
        assert characters[0, "Ana"].big_five == ("introverted",), "given: nothing beside it"
        poles = characters[0, "Bo"].big_five
        assert all(pole in both for pole, both in zip(poles, BIG_FIVE.values(), strict=True))
        drawn.append(poles)
        assert characters[0, "Cy"].big_five == (), "a rehearsal can't read the words"
    assert len(set(drawn)) > 2


async def test_what_the_scenario_does_not_say_the_model_writes() -> None:
    ana = an_attendee("Ana", descriptions=(), goals=a_quay().participants[0].goals[:1])
    bo = an_attendee("Bo", goals=(ana.goals[0].model_copy(update={"sub_goals": ()}),))
    context, _ = await held(with_people(ana, bo), max_turns=1)
    characters = context.store.steps("k3f9", "prepare", Character)
    assert len(characters[0, "Ana"].descriptions) == 10
    assert [step.text for step in characters[0, "Ana"].plan] == ["find the money", "agree on a day"]
    assert len(characters[0, "Bo"].plan) == 3
    assert sum(step.share for step in characters[0, "Bo"].plan) == pytest.approx(1)
    called = {(call.agent, call.node) for call in context.store.calls("k3f9", 0)}
    assert called == {("Ana", "personality"), ("Bo", "plan")}


async def test_a_participant_with_a_model_of_their_own_thinks_and_speaks_with_it() -> None:
    model = ScriptedModel(endings=repeat(False))
    model.id = "own"
    meeting = with_people(an_attendee("Ana", **eager()), an_attendee("Bo", **eager()))
    context = a_context(ScriptedModel(), start=meeting, max_turns=6, judge="off")
    context = replace(context, participant_models={"Bo": (model, suited_to(model.traits, context.parameters))})
    async with open_checkpoints(":memory:") as checkpointer:
        await drive(context, checkpointer)
    models = {(call.agent, call.model) for call in context.store.calls("k3f9")}
    assert models == {("Ana", "scripted"), ("Bo", "own")}
    for turn in context.store.turns("k3f9"):
        if turn.speaker:
            scored_by = context.store.turn_record("k3f9", turn.turn).scored_by
            assert scored_by == {"Ana": "scripted", "Bo": "own"}[turn.speaker]
