"""The steps of an agent's cognition, each by itself: what is perceived, asked, found, assessed and decided."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.runtime import Runtime
from support.dialogue_case import a_memory
from support.meeting_case import a_quay, an_attendee, at
from support.scene import Scene
from support.scripted import ScriptedModel

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.nodes.mechanisms.time_analysis import in_minutes, pace_of
from tertulia.nodes.mechanisms.topic_analysis import with_move
from tertulia.nodes.meeting.assess import assess
from tertulia.nodes.meeting.bid import decide
from tertulia.nodes.meeting.choose_mechanisms import choose_mechanisms
from tertulia.nodes.meeting.perceive import perceive
from tertulia.nodes.meeting.run_mechanisms import run_mechanisms
from tertulia.nodes.meeting.willingness import moved
from tertulia.prompts.cognition import Question, ask_agent, ask_anybody, shared_units
from tertulia.prompts.render import render
from tertulia.state.cognition import Assessment, Finding, InformationNeed, Touch
from tertulia.state.parameters import Layout

LAYOUTS: tuple[Layout, ...] = ("single_message", "chat_turns")


# --- choose ---------------------------------------------------------------------------------------------------------


async def test_every_mechanism_is_decided_on_with_a_reason() -> None:
    model = ScriptedModel(
        endings=[True, False, True, False, True], comments=["The crane.", "I care.", "It helps."] + ["Because."] * 5
    )
    scene = Scene(model=model).says(("Bo", "Ana, who pays?"))
    state = await scene.after(perceive, choose_mechanisms)
    need: InformationNeed = scene.step("choose_mechanisms", InformationNeed)
    assert (need.key_information, need.character_analysis, need.decision_reason) == (
        "The crane.",
        "I care.",
        "It helps.",
    )
    assert [choice.active for choice in need.mechanisms.values()] == [True, False, True, False, True, True]
    assert need.mechanisms["memory_retrieval"].reason == "Because."
    assert need.mechanisms["mention_response"].reason == "Bo named me"
    assert state["active"] == [name for name, choice in need.mechanisms.items() if choice.active]


async def test_the_choice_sees_descriptions_usage_and_the_last_line() -> None:
    scene = Scene(perception_threshold=0).says(("Bo", "Who pays for the crane?"))
    await scene.after(perceive, choose_mechanisms, used={"time_analysis": [1, 3]})
    (call,) = [call for call in scene.context.store.calls("k3f9") if call.node == "choose_mechanisms"]
    shown = "\n".join(unit.text for unit in scene.context.store.prompt(call.prompt).units)
    for mechanism in MECHANISMS.values():
        assert (mechanism.description in shown) == (mechanism.condition is None)
    assert "used 3 times, last in round 1" in shown
    assert "Bo: Who pays for the crane?" in shown
    assert "This is round 2." in shown


async def test_mention_response_follows_its_condition_alone() -> None:
    for line, active in ((("Bo", "Ana?"), True), (("Ana", "I, Ana, say so."), False), (None, False)):
        scene = Scene(a_quay(mechanisms=("mention_response",))).says(line)
        assert (await scene.after(perceive, choose_mechanisms))["active"] == (["mention_response"] if active else [])
        assert scene.context.store.calls("k3f9") == []


# --- mechanisms -----------------------------------------------------------------------------------------------------


async def test_memory_retrieval_recalls_what_the_agent_asks_for() -> None:
    memories = (a_memory(1, "The crane cost nine thousand."), a_memory(2, "Gulls sleep on one leg."))
    ana = an_attendee("Ana", memories=memories)
    scene = Scene(a_quay(participants=(ana, an_attendee("Bo"))), ScriptedModel(comments=["what the crane cost"]))
    finding = await scene.says(("Bo", "Hm.")).find("memory_retrieval")
    assert finding.data["query"] == "what the crane cost"
    assert set(finding.data["memories"]) == {"m1", "m2"}
    assert set(finding.lines) == {memory.text for memory in memories}


async def test_goal_summary_asks_about_all_steps_anew_and_says_what_is_next() -> None:
    scene = Scene(model=ScriptedModel(endings=[True, False, False, True], comments=["ask Bo.", "thank them"]))
    scene.says(("Bo", "I can pay."))
    first = await scene.find("goal_summary")
    assert first.data == {"done": [True, False], "progress": 0.5, "next": "ask Bo."}
    assert first.lines == ("50% of what Ana wants is settled.", "Still to settle: agree on a day.", "Next: ask Bo.")
    scene.context.store.save_step("k3f9", 2, "Ana", "goal_summary", first)
    scene.says(("Cy", "Monday, then, but the money is gone."))
    second = await scene.find("goal_summary", used={"goal_summary": [2, 1]})
    assert second.data == {"done": [False, True], "progress": 0.5, "next": "thank them"}
    (_, asked) = scene.context.model.asked("generate")[-2:]
    assert [field.name for field in asked.fields] == ["1. find the money", "2. agree on a day", "next"]


@pytest.mark.parametrize(
    ("topic", "move", "states"),
    [
        ("the fair", "keep", {"open": ["crane", "the fair"], "discussed": ["money"], "paused": []}),
        ("Crane", "shift", {"open": [], "discussed": ["money", "Crane"], "paused": []}),
        ("money", "pause", {"open": ["crane"], "discussed": [], "paused": ["money"]}),
        ("money", "dance", {"open": ["crane", "money"], "discussed": [], "paused": []}),
    ],
)
def test_topics_stand_in_one_state(topic: str, move: str, states: dict[str, list[str]]) -> None:
    assert with_move({"open": ["crane"], "discussed": ["money"], "paused": []}, topic, move) == states


async def test_topics_begin_with_the_roles_own_interests_and_go_on_from_the_last_time() -> None:
    scene = Scene(model=ScriptedModel(comments=["the crane.", "the fair"])).says(("Bo", "Hm."))
    first = await scene.find("topic_analysis")
    interests = {topic for state in ("open", "discussed", "paused") for topic in first.data[state]}
    assert interests == {"the crane", "the summer fair", "the crane."}
    assert first.lines[0] == "The talk is about the crane."
    scene.context.store.save_step("k3f9", 2, "Ana", "topic_analysis", first)
    scene.says(("Cy", "Hm."))
    second = await scene.find("topic_analysis", used={"topic_analysis": [2, 1]})
    assert {topic for state in ("open", "discussed", "paused") for topic in second.data[state]} == {
        *interests,
        "the fair",
    }


async def test_time_analysis_sets_time_left_against_goals_left() -> None:
    hurried = an_attendee("Ana", leaves=at(1), leaves_for="a ferry", goals=a_quay().participants[0].goals)
    scene = Scene(a_quay(participants=(hurried, an_attendee("Bo")), ends=at(30))).says(*[("Bo", "Hm.")] * 6)
    ana, bo = await scene.find("time_analysis"), await scene.find("time_analysis", "Bo")
    assert ana.data["time_left_s"] == pytest.approx(60 - 56)
    assert (ana.data["pace"], bo.data["pace"]) == ("hurry", "calm")
    assert ana.data["elapsed"] == pytest.approx(56 / 60)
    assert bo.data["open"] is None
    assert "Ana has less than a minute left before they have to go." in ana.lines
    assert "Bo has 29 minutes left before the meeting ends." in bo.lines
    assert (ana.data["until"], bo.data["until"]) == ("departure", "end")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "less than a minute"), (59.9, "less than a minute"), (60, "1 minute"), (89, "1 minute"), (100, "2 minutes"),
     (1500, "25 minutes")],
)  # fmt: skip
def test_time_is_told_in_whole_minutes_and_never_as_none(seconds: float, words: str) -> None:
    assert in_minutes(seconds) == words


@given(st.floats(0, 1), st.none() | st.floats(0, 1), st.none() | st.floats(0, 7200))
def test_nobody_is_calm_near_the_end(elapsed: float, open_share: float | None, left_s: float | None) -> None:
    pace = pace_of(elapsed, open_share, left_s)
    if elapsed > 0.9 or (left_s is not None and left_s < 120):
        assert pace == ("steady" if open_share == 0 else "hurry")


@pytest.mark.parametrize(
    ("elapsed", "open_share", "pace"),
    [(0.1, 1.0, "steady"), (0.1, 0.5, "calm"), (0.5, 1.0, "hurry"), (0.9, 0.5, "hurry"), (0.9, 0.0, "calm"),
     (0.2, None, "calm"), (0.6, None, "steady"), (0.9, None, "hurry"), (0.99, 0.0, "steady"), (1.0, 0.0, "steady")],
)  # fmt: skip
def test_the_pace_follows_time_and_progress(elapsed: float, open_share: float | None, pace: str) -> None:
    assert pace_of(elapsed, open_share) == pace


async def test_speech_is_counted() -> None:
    scene = Scene(a_quay(opening=None)).says(("Bo", "One."), ("Cy", "Two."), ("Bo", "Three."), None)
    finding = await scene.find("speech_frequency")
    assert finding.data["counts"] == {"Ana": 0, "Bo": 2, "Cy": 1, "Dee": 0}
    assert (finding.data["most"], finding.data["silent"]) == (["Bo"], ["Ana", "Dee"])
    assert "Ana has spoken 0 of 3 times." in finding.lines


@pytest.mark.parametrize(
    ("hearing", "counts", "silent"),
    [
        ("noticed", {"Ana": 0, "Bo": 1, "Cy": 0}, ["Ana", "Cy"]),
        ("all", {"Ana": 2, "Bo": 2, "Cy": 0}, ["Cy"]),
    ],
)
async def test_who_comes_late_counts_from_then_on(hearing: str, counts: dict[str, int], silent: list[str]) -> None:
    late = an_attendee("Cy", joins=at(0.3))  # after the second turn
    people = (an_attendee("Ana"), an_attendee("Bo"), late)
    scene = Scene(a_quay(participants=people), hearing=hearing)
    scene.says(("Ana", "One."), ("Bo", "Two."), ("Bo", "Three."), None)
    finding = await scene.find("speech_frequency", "Cy")
    assert (finding.data["counts"], finding.data["silent"]) == (counts, silent)
    again = await scene.says(("Ana", "Four.")).find("speech_frequency", "Cy")
    assert again.data["counts"] == {**counts, "Ana": counts["Ana"] + 1}


async def test_used_mechanisms_are_counted_and_failed_ones_not(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene().says(("Bo", "Hm."))
    state = await scene.after(lambda state, runtime: settled({"active": ["time_analysis", "speech_frequency"]}))
    mind = {**state["mind"], "used": {"time_analysis": [1, 4]}}
    after = await run_mechanisms({**state, "mind": mind}, Runtime(context=scene.context))  # type: ignore[typeddict-item]
    assert after["mind"]["used"] == {"time_analysis": [2, 5], "speech_frequency": [2, 1]}
    assert scene.step("speech_frequency", Finding).problem is None


async def settled(update: dict[str, Any]) -> dict[str, Any]:
    return update


# --- assess and decide ----------------------------------------------------------------------------------------------


async def test_assessing_changes_the_feeling_and_sees_what_was_found() -> None:
    model = ScriptedModel(comments=["They wait.", "I must ask."], ratings=[7])
    scene = Scene(model=model).says(("Bo", "Hm."))
    state = await scene.after(lambda s, r: settled({"active": ["speech_frequency"]}), run_mechanisms, assess)
    found: Assessment = scene.step("assess", Assessment)
    assert (found.situation, found.thought, found.emotion_strength) == ("They wait.", "I must ask.", 0.7)
    assert (state["mind"]["emotion"], state["mind"]["emotion_strength"]) == (found.emotion, 0.7)
    (call,) = scene.context.store.calls("k3f9")
    shown = [unit.text for unit in scene.context.store.prompt(call.prompt).units]
    assert shown[shown.index("- Ana has spoken 1 of 2 times.") - 1] == "What came to your mind"


async def test_deciding_brings_the_four_parts_to_the_race() -> None:
    scene = Scene(model=ScriptedModel(ratings=[4])).says(("Bo", "The crane, the boat, the quay."))
    state = await scene.after(perceive, lambda s, r: settled({"active": []}), assess, decide)
    bid = state["bids"]["Ana"]
    touch = scene.step("hear", Touch)
    assert bid["topic"] == touch.topic > 0
    assert bid["emotion"] == moved(0.4 / 2, touch.emotion)
    assert bid["personality"] == 0.8
    assert moved(0.25 / 4, touch.goal) < bid["goal"] <= moved(0.27 / 4, touch.goal)  # hardly any time is over
    assert (bid["address"], bid["need"]) == (0.0, 0.0)
    assert (bid["similarity"], bid["similarity_max"]) == (0.0, None)
    assert state["minds"]["Ana"] == state["mind"]


# --- prompts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_prompt_of_cognition_holds_its_agent_moment_and_question(layout: Layout) -> None:
    scene = Scene().says(("Bo", "Who pays?"), None)
    situation = (await scene.view("Bo", noticed=[0, 1])).situation()
    question = Question("assess", {"thought": "what you think"}, {"thought": "Hm."}, ["- A finding."])
    prompt = ask_agent(situation, question, layout)
    shown = "\n".join(unit.text for unit in prompt.units)
    for part in ("You are Bo.", "owes her a favour", "The crane has to be mended", "Bo: Who pays?", "- A finding."):
        assert part in shown
    assert "passed you by" in shown  # the silence was not noticed
    assert ("Answer with one JSON object" in shown) == (layout == "single_message")
    assert (json.dumps({"thought": "Hm."}) in shown) == (layout == "chat_turns")


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_stays_the_same_stands_first_and_is_the_shared_prefix(layout: Layout) -> None:
    tokenizer, stems = RehearsalTokenizer(), []
    for lines in ((("Bo", "Who pays?"),), (("Bo", "I don't."), ("Cy", "Nor do I."))):
        view = (
            await Scene().says(*lines).view("Bo", noticed=[0, len(lines)], emotion="glad" if len(lines) > 1 else "sad")
        )
        prompt = ask_agent(view.situation(), Question("assess", {"thought": "t"}, {"thought": "Hm."}), layout)
        rendered = render(prompt, tokenizer, shared_units=shared_units(prompt))
        assert 0 < rendered.shared_prefix < len(rendered.input_ids)
        stems.append(rendered.input_ids[: rendered.shared_prefix])
    assert stems[0] == stems[1]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_question_to_nobody_has_no_stem(layout: Layout) -> None:
    question = Question("plan", {"step_1": "s"}, {"step_1": "x"}, variables={"number": 1})
    assert shared_units(ask_anybody(question, layout)) == 0
