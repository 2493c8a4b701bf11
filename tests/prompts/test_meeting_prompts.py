"""The prompt for an utterance in a meeting: what drives speech is in it, and what λ may never remove stays."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dialogue_case import a_memory
from support.meeting_case import a_quay, an_attendee, at

from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.nodes.utterance.prune import prune_units
from tertulia.nodes.utterance.walks.retain_one import all_but_one
from tertulia.prompts.assemble import InnerLife, UtteranceMaterial, assemble_prompt
from tertulia.prompts.cognition import AgentSituation, Question, ask_agent, clock
from tertulia.prompts.remove import remove_units
from tertulia.prompts.units import FIXED_UNITS
from tertulia.prompts.vary import with_lengths
from tertulia.state.cognition import Assessment, Character, SubGoal
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Layout, Parameters
from tertulia.state.person import Goal
from tertulia.state.records import Prompt, Turn
from tertulia.worlds.catalog import MEETINGS, resolve

LAYOUTS: tuple[Layout, ...] = ("single_message", "chat_turns")


def a_prompt(meeting: Meeting, speaker: str, layout: Layout = "single_message", removable: str = "bhmpegr") -> Prompt:
    """The prompt of a speaker at ten past three, whose plan's first step is done."""
    attendee = meeting.participant(speaker)
    steps = [(index, text) for index, goal in enumerate(attendee.goals) for text in goal.sub_goals]
    plan = tuple(SubGoal(goal=index, text=text, share=1 / len(steps)) for index, text in steps)
    done = tuple(at == 0 for at in range(len(plan)))
    inner_life = InnerLife(
        character=Character(big_five=attendee.big_five, descriptions=attendee.descriptions, plan=plan),
        done=done,
        findings=[("time_analysis", "It is late.")],
        assessment=Assessment(
            situation="We stand still.", thought="Now or never.", emotion="worried", emotion_strength=0.62, done=done
        ),
        clock=clock(at(10)),
    )
    material = UtteranceMaterial(
        start=meeting,
        speaker=speaker,
        listeners=[name for name in meeting.names if name != speaker],
        memories=[a_memory(1, speaker)],
        turns=[Turn(turn=1, round=1, speaker=meeting.names[1], text="Well.", sim_time_s=8.0, ended=False)],
        asks_ending=False,
        inner_life=inner_life,
    )
    return assemble_prompt(material, layout, "bmpegrsc", removable)


def texts(prompt: Prompt, block: str) -> list[str]:
    return [unit.text for unit in prompt.units if unit.block == block]


def the_quay(**changes: Any) -> Meeting:
    """The quay with an end, and an Ana who has to leave before it and wants two things."""
    ana = an_attendee(
        "Ana",
        goals=(
            Goal(text="get the crane mended", sub_goals=("find the money", "agree on a day")),
            Goal(text="be home early", sub_goals=("keep it short",)),
        ),
        interests=("the crane", "the summer fair"),
        relations=(("Bo", "owes her a favour"),),
        leaves=at(20),
        leaves_for="her ferry goes",
    )
    return a_quay(**{"participants": (ana, *a_quay().participants[1:]), "ends": at(30), **changes})


# --- golden texts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_drives_speech_is_in_the_prompt(layout: Layout) -> None:
    prompt = a_prompt(the_quay(), "Ana", layout)
    assert texts(prompt, "basic_info") == [
        "This is Ana.",
        "Name: Ana",
        "Character: extroverted, agreeable, conscientious, emotionally stable, open",
        "Background: Ana keeps a boat at the quay.",
        "Personality: extroverted, agreeable, conscientious, emotionally stable, open",
        "Cares about: the crane, the summer fair",
        "- Ana speaks of boats before anything else.",
        "About Bo: owes her a favour",
    ]
    assert texts(prompt, "environment") == [
        "Where they are: the harbour office.",
        "The quay. Four boat owners talk about the broken crane at the quay.",
        "Here with Ana: Bo, Cy and Dee.",
        "It is 15:10 now.",
        "The meeting ends at 15:30, as everybody knows.",
        "Ana has to leave at 15:20: her ferry goes",
    ]
    assert texts(prompt, "goals") == [
        "This is what Ana wants of this conversation.",
        "Goal: get the crane mended",
        "- done: find the money",
        "- still to do: agree on a day",
        "Goal: be home early",
        "- still to do: keep it short",
    ]
    assert texts(prompt, "situation") == [
        "How things stand, as Ana sees it: We stand still.",
        "Ana feels worried (6 of 10).",
        "Ana thinks: Now or never.",
    ]
    ids = {unit.id for unit in prompt.units}
    assert ids >= {"environment.meeting", "environment.clock", "goals.item_1", "goals.item_3", "goals.goal_2"}
    assert len(ids) == len(prompt.units)


def test_nothing_is_said_of_what_is_not_known() -> None:
    prompt = a_prompt(a_quay(place=None), "Bo")
    assert texts(prompt, "environment")[-1] == "It is 15:10 now."
    assert not texts(prompt, "goals")
    without_reason = the_quay(participants=(an_attendee("Ana", leaves=at(20)), an_attendee("Bo")))
    assert texts(a_prompt(without_reason, "Ana"), "environment")[-1] == "Ana has to leave at 15:20."
    assert not any("has to leave" in text for text in texts(a_prompt(the_quay(), "Bo"), "environment"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_who_thinks_knows_when_the_meeting_ends(layout: Layout) -> None:
    def moment(meeting: Meeting) -> list[str]:
        situation = AgentSituation(
            meeting=meeting,
            agent=meeting.participant("Ana"),
            character=Character(big_five=(), descriptions=(), plan=()),
            now=at(10),
            present=meeting.names,
            emotion="calm",
            emotion_strength=0.3,
            lines=(),
            missed=False,
        )
        question = Question("recall", form={"to_remember": "a few words"}, example={"to_remember": "a number"})
        return texts(ask_agent(situation, question, layout), "moment")

    assert moment(the_quay())[:3] == [
        "It is 15:10.",
        "The meeting ends at 15:30.",
        "You have to leave at 15:20: her ferry goes",
    ]
    assert not any("ends at" in text for text in moment(a_quay()))


# --- what λ may never remove ----------------------------------------------------------------------------------------

starts = {meeting: resolve(meeting, tuple(MECHANISMS)) for meeting in MEETINGS}
shipped = [(meeting, name) for meeting, start in starts.items() for name in start.names]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(shipped), st.floats(0, 1), st.randoms(use_true_random=False), st.sampled_from(LAYOUTS))
def test_no_lambda_takes_who_is_there_what_it_is_about_and_the_time(
    who: tuple[str, str], factor: float, generator: random.Random, layout: Layout
) -> None:
    start = starts[who[0]]
    assert isinstance(start, Meeting)
    prompt = a_prompt(start, who[1], layout)
    scores = {unit.id: 1 + generator.random() for unit in prompt.units}
    removed = prune_units(prompt.units, scores, factor, generator.choice(["descending", "ascending"]))
    for chosen in (removed, all_but_one(prompt.units, scores, "memory", "lowest")):
        kept = {unit.id: unit.text for unit in remove_units(prompt, chosen).units}
        attendee = start.participant(who[1])
        assert start.description in kept["environment.meeting"]
        assert start.title in kept["environment.meeting"]
        assert all(name in kept["environment.people"] for name in start.names)
        assert "15:10" in kept["environment.clock"]
        assert start.ends is None or clock(start.ends) in kept["environment.end"]
        assert attendee.leaves is None or clock(attendee.leaves) in kept["environment.departure"]
        assert {"situation.feeling", "situation.thought", "situation.seen"} <= kept.keys()
    gone = {unit.id for unit in prompt.units} - {unit.id for unit in remove_units(prompt, removed).units}
    assert factor < 1 or gone == {
        unit.id for unit in prompt.units if unit.removable or (unit.block in "basic_info memory goals mechanisms")
    }


@given(st.integers(1, 40), st.booleans(), st.integers(0, 9))
def test_a_length_neither_drops_nor_copies_what_always_stands(count: int, words: bool, seed: int) -> None:
    prompt = a_prompt(the_quay(), "Ana")
    lengths = Parameters().with_settings({"block_lengths": f"e~{count}w" if words else f"e={count}"}).lengths
    if not words and count < len(FIXED_UNITS):
        with pytest.raises(UsageError, match=f"make {len(FIXED_UNITS)} items in this prompt; set e={len(FIXED_UNITS)}"):
            with_lengths(prompt, lengths, random.Random(seed))
        return
    made = [unit.id for unit in with_lengths(prompt, lengths, random.Random(seed)).units if unit.block == "environment"]
    assert [id for id in made if id.partition(".copy")[0] != "environment.place"] == [
        unit.id for unit in prompt.units if unit.id in FIXED_UNITS
    ]
    assert words or len(made) == count
