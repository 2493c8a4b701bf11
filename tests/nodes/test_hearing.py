"""What prompts hold of a meeting: what was heard, who came and who left; over drawn schedules, and line by line."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.meeting_case import a_quay, an_attendee, at, eager, held, with_people
from support.scripted import ScriptedModel

from tertulia.graphs.group_chat import ORDERS
from tertulia.nodes.shared.hearing import came_s, changes_seen, turns_heard
from tertulia.prompts.render import as_messages
from tertulia.state.cognition import Perception
from tertulia.state.context import Context
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.parameters import Hearing, Layout
from tertulia.state.records import Prompt, Turn, Utterance

NAMES = ("Ana", "Bo", "Cy", "Dee", "Edo")
OPENING = Utterance(speaker="Ana", text="Pebble number zero lies here.")


def pebbles() -> ScriptedModel:
    """A model whose every line can be told from all others."""
    numbers = itertools.count(1)
    return ScriptedModel(speech=lambda drawn: f"Pebble x{next(numbers)}y lies {'there ' * drawn.randrange(9)}here.")


def prompts_of(context: Context, turns: list[Turn]) -> list[tuple[str, int, Prompt]]:
    """Every prompt that an agent was asked in, with the agent and the round."""
    return [
        (call.agent, call.round, context.store.prompt(call.prompt))
        for turn in turns
        for call in context.store.calls(context.run, turn.round)
        if call.agent
    ]


# --- over drawn schedules -------------------------------------------------------------------------------------------


@st.composite
def schedules(draw: st.DrawFn) -> tuple[Attendee, ...]:
    """Three to five people: two are always there, the others come and leave when they like."""
    people = [an_attendee(name, **eager()) for name in NAMES[:2]]
    for name in NAMES[2 : draw(st.integers(3, 5))]:
        joins = draw(st.none() | st.floats(0.1, 70))
        leaves = draw(st.none() | st.floats(1, 60))
        times = {"joins": None if joins is None else at(joins / 60)}
        if leaves is not None:
            times |= {
                "leaves": at(((joins or 0) + leaves) / 60),
                "leaves_for": draw(st.sampled_from((None, "a train"))),
            }
        people.append(an_attendee(name, **eager(**times)))
    return tuple(people)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    people=schedules(),
    opens=st.booleans(),
    seed=st.integers(0, 99),
    hearing=st.sampled_from(("noticed", "present")),
    layout=st.sampled_from(("single_message", "chat_turns")),
    order=st.sampled_from(list(ORDERS)),
)
async def test_nobody_speaks_or_has_heard_before_they_came(
    people: tuple[Attendee, ...], opens: bool, seed: int, hearing: Hearing, layout: Layout, order: str
) -> None:
    meeting = a_quay(participants=people, opening=OPENING if opens else None)
    chosen: dict[str, Any] = {"hearing": hearing, "layout": layout, "order": order, "seed": seed}
    context, turns = await held(
        meeting, pebbles(), max_turns=8, working_memory=3, perception_threshold=0.3, dialogue_window=5, **chosen
    )
    assert all(turn.speaker is None or turn.speaker in meeting.present(turn.sim_time_s) for turn in turns)
    openings = [meeting.opening_turn] if meeting.opening_turn else []
    lines = [(turn.text, turn.sim_time_s) for turn in [*openings, *turns] if turn.speaker]
    for agent, round, prompt in prompts_of(context, turns):
        came, now_s = came_s(meeting, agent), turns[round - 1].sim_time_s
        for unit in prompt.units:
            unheard = [text for text, said_s in lines if said_s < came and text in unit.text]
            assert not unheard, (agent, round, unit.id)
            for change in meeting.attendance_changes(-1, 1e9):
                coming = f"({'You' if change.agent == agent else change.agent} come"
                marked = coming in unit.text if change.joined else f"({change.agent} leaves" in unit.text
                assert not marked or came <= change.sim_time_s <= now_s, (agent, round, unit.text)


# --- latecomers -----------------------------------------------------------------------------------------------------


def with_latecomer(joins_s: float = 24) -> Meeting:
    return a_quay(
        participants=(
            an_attendee("Ana", **eager()),
            an_attendee("Bo", **eager(leaves=at(0.5), leaves_for="his bus goes.")),
            an_attendee("Cy", **eager(joins=at(joins_s / 60))),
        ),
        opening=OPENING,
    )


async def test_a_latecomer_has_heard_nothing_at_first_and_is_told_so() -> None:
    """They come in just after a line has begun."""
    _, turns = await held(with_latecomer(), pebbles(), max_turns=4)
    context, turns = await held(with_latecomer(turns[3].sim_time_s + 0.1), pebbles(), max_turns=8)
    first = min(round for round, name in context.store.steps(context.run, "perceive", Perception) if name == "Cy")
    assert first == 5
    perceived = context.store.steps(context.run, "perceive", Perception)
    seen = perceived[first, "Cy"]
    assert (seen.turn, seen.noticed, seen.similarities) == (None, False, {})
    moment = [
        unit.text
        for agent, round, prompt in prompts_of(context, turns)
        if (agent, round) == ("Cy", first)
        for unit in prompt.units
        if unit.block == "moment"
    ]
    assert "(You come in.)" in moment
    assert any("heard nothing of it" in text for text in moment)
    assert not any("passed you by" in text or "Nobody has said" in text for text in moment)
    assert perceived[first + 1, "Cy"].turn == first


@pytest.mark.parametrize("layout", ["single_message", "chat_turns"])
async def test_comings_and_goings_are_lines_at_their_place_in_both_kinds_of_prompt(layout: Layout) -> None:
    context, turns = await held(with_latecomer(), pebbles(), layout=layout, max_turns=14)
    record = next(
        record
        for turn in reversed(turns)
        if turn.speaker == "Ana" and (record := context.store.turn_record(context.run, turn.turn)).prompt
    )
    prompt = context.store.prompt(record.prompt or "")
    lines = [unit for unit in prompt.units if unit.block == "current_dialogue"]
    ids = [unit.id.removeprefix("current_dialogue.") for unit in lines]
    assert "came_Bo" not in ids  # there from the start
    texts = {unit.id: unit for unit in lines}
    came, left = texts["current_dialogue.came_Cy"], texts["current_dialogue.left_Bo"]
    assert (came.text, left.text) == ("(Cy comes in.)", "(Bo leaves: his bus goes.)")
    for change, moment_s in ((came, 24), (left, 30)):
        assert (change.removable, change.speaker, change.kind) == (False, None, "text")
        place = lines.index(change)
        numbered = {id: int(id.removeprefix("turn_")) for id in ids if id.startswith("turn_")}
        before = [numbered[id] for id in ids[:place] if numbered.get(id)]
        behind = [numbered[id] for id in ids[place:] if id in numbered]
        assert all(turns[number - 1].sim_time_s < moment_s for number in before)
        assert all(turns[number - 1].sim_time_s >= moment_s for number in behind)
    thoughts = [p for agent, round, p in prompts_of(context, turns) if agent == "Ana" and p.units[0].block == "self"]
    assert any(unit.text == "(Cy comes in.)" for prompt in thoughts for unit in prompt.units)
    if layout == "chat_turns":
        assert_turns_alternate_and_the_others_come_last(context, turns)


def assert_turns_alternate_and_the_others_come_last(context: Context, turns: list[Turn]) -> None:
    prompts = [context.store.turn_record(context.run, turn.turn).prompt for turn in turns]
    for prompt in filter(None, prompts):
        roles = [role for role, _ in as_messages(context.store.prompt(prompt))]
        assert roles[:2] == ["system", "user"]
        assert all(role != follower for role, follower in itertools.pairwise(roles))
        assert roles[-1] == "user"


# --- settings -------------------------------------------------------------------------------------------------------


async def test_who_comes_in_while_the_others_think_hears_the_next_line() -> None:
    _, turns = await held(with_latecomer(), pebbles(), max_turns=4)
    context, again = await held(with_latecomer(turns[3].sim_time_s - 0.01), pebbles(), max_turns=6)
    assert again[3] == turns[3]
    perception = context.store.step(context.run, 5, "Cy", "perceive", Perception)
    assert perception is not None
    assert perception.turn == 4


async def test_settings_differ_in_what_they_hold() -> None:
    context, turns = await held(with_latecomer(), pebbles(), max_turns=8, perception_threshold=1)
    now_s, last = turns[-1].sim_time_s, turns[-1].turn
    spoken = {name: turns_heard(context, name, last, 50, now_s, hearing="noticed").turns for name in ("Ana", "Cy")}
    assert {turn.speaker for turn in spoken["Cy"]} <= {"Cy", None}
    assert [turn.turn for turn in spoken["Ana"] if turn.speaker != "Ana"] == []
    present = turns_heard(context, "Cy", last, 50, now_s, hearing="present").turns
    assert [turn.turn for turn in present] == [turn.turn for turn in turns[:-1] if turn.sim_time_s >= 24]
    whole = turns_heard(context, "Cy", last, 50, now_s, hearing="all").turns
    assert [turn.turn for turn in whole] == list(range(last))


def test_who_leaves_as_one_comes_is_not_seen() -> None:
    meeting = with_people(
        an_attendee("Ana"),
        an_attendee("Bo", leaves=at(1)),
        an_attendee("Cy", joins=at(1)),
        an_attendee("Dee", joins=at(1)),
    )
    assert [change.agent for change in changes_seen(meeting, "Cy", 0.0, 99)] == ["Cy", "Dee"]
    assert [change.agent for change in changes_seen(meeting, "Ana", 0.0, 99)] == ["Bo", "Cy", "Dee"]
    assert changes_seen(meeting, "Ana", 0.0, 59) == ()
