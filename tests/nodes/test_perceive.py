"""What an agent notices of a meeting, and why."""

import pytest
from support.meeting_case import a_quay, an_attendee
from support.scene import Scene

from tertulia.nodes.meeting.choose_mechanisms import choose_mechanisms
from tertulia.nodes.meeting.perceive import perceive
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.names_in_text import is_named
from tertulia.prompts.cognition import Question, ask_agent
from tertulia.state.cognition import Assessment, InformationNeed, Perception


async def test_what_is_relevant_enters_working_memory_and_the_rest_does_not() -> None:
    scene = Scene(perception_threshold=0.3).says(("Bo", "Ana keeps a boat at the quay."))
    state = await scene.after(perceive, name="Cy")
    near: Perception = scene.step("perceive", Perception, "Cy")
    assert near.noticed
    assert near.relevance == max(near.similarities.values()) >= 0.3
    assert state["mind"]["noticed"] == [1]
    scene = Scene(perception_threshold=0.3).says(("Bo", "Quantum llamas yodel."))
    state = await scene.after(perceive, name="Cy", noticed=[0])
    far: Perception = scene.step("perceive", Perception, "Cy")
    assert not far.noticed
    assert state["mind"]["noticed"] == [0]
    assert set(far.similarities) == {"profile", "background", "emotion", "subject", "lines"}


async def test_being_named_always_gets_through_and_counts() -> None:
    plain, named = Scene(perception_threshold=1).says(("Bo", "Llamas, Dee.")), Scene(perception_threshold=1)
    named.says(("Bo", "Llamas, Cy."))
    for scene in (plain, named):
        await scene.after(perceive, name="Cy")
    before, after = (scene.step("perceive", Perception, "Cy") for scene in (plain, named))
    assert (before.noticed, before.named) == (False, False)
    assert (after.noticed, after.named) == (True, True)
    assert after.importance >= min(10, 10 * after.relevance + 3) - 1e-9


@pytest.mark.parametrize(("line", "named"), [("You, Ana Holm?", False), ("You, Ana?", True)])
async def test_the_full_name_of_a_namesake_names_nobody_else(line: str, named: bool) -> None:
    people = tuple(an_attendee(name) for name in ("Bo", "Ana Berg", "Ana Holm"))
    scene = Scene(a_quay(participants=people, opening=None)).says(("Bo", line))
    await scene.after(perceive, choose_mechanisms, name="Ana Berg")
    assert scene.step("perceive", Perception, "Ana Berg").named is named
    need: InformationNeed = scene.step("choose_mechanisms", InformationNeed, "Ana Berg")
    assert need.mechanisms["mention_response"].active is named


async def test_names_are_in_no_text_that_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene().says(("Bo", "The crane creaks, says Dee."))
    seen: list[str] = []
    embed = scene.context.embedder.embed
    monkeypatch.setattr(scene.context.embedder, "embed", lambda texts: seen.extend(texts) or embed(texts))
    await scene.after(perceive, name="Cy", noticed=[0])
    assert "The crane creaks, says." in seen
    assert "keeps a boat at the quay." in seen
    assert not [text for text in seen for name in scene.meeting.names if is_named(name, text)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (None, "silence"),
        (("Cy", "Llamas."), "own words"),
        (("Bo", "Llamas, Cy."), "named"),
        (("Bo", "Llamas?"), "question to all"),
        (("Bo", "Llamas, Dee?"), None),
        (("Bo", "Llamas."), None),
    ],
)
async def test_what_anybody_would_turn_their_head_for_passes(line: tuple[str, str] | None, reason: str | None) -> None:
    scene = Scene(perception_threshold=1).says(line)
    state = await scene.after(perceive, name="Cy", noticed=[0])
    found: Perception = scene.step("perceive", Perception, "Cy")
    assert (found.reason, found.noticed) == (reason, reason is not None)
    view = View.of(state, scene.context)
    prompt = ask_agent(view.situation(), Question("recall", {}, {}), "single_message")
    assert any("passed you by" in unit.text for unit in prompt.units) is (reason is None)


async def test_a_line_is_noticed_for_what_it_answers_and_for_the_last_thought() -> None:
    scene = Scene(perception_threshold=0.9).says(("Bo", "Purple llamas yodel."), ("Dee", "Purple llamas yodel."))
    await scene.after(perceive, name="Cy", noticed=[0, 1])
    answers: Perception = scene.step("perceive", Perception, "Cy")
    assert answers.noticed
    assert answers.relevance == answers.similarities["lines"]
    scene = Scene(perception_threshold=0.9).says(("Bo", "Purple llamas yodel."), ("Dee", "Purple llamas yodel."))
    await scene.after(perceive, name="Cy", noticed=[0])
    assert not scene.step("perceive", Perception, "Cy").noticed
    scene = Scene(perception_threshold=0.9).says(("Bo", "Nothing."), ("Dee", "Purple llamas yodel."))
    thought = Assessment(situation="", thought="Purple llamas yodel.", emotion="calm", emotion_strength=0, done=())
    scene.context.store.save_step("k3f9", 2, "Cy", "assess", thought)
    await scene.after(perceive, name="Cy", noticed=[0])
    assert scene.step("perceive", Perception, "Cy").similarities["thought"] > 0.99


async def test_own_words_are_noticed_and_working_memory_is_a_window() -> None:
    scene = Scene(perception_threshold=1, working_memory=2).says(("Cy", "Llamas."))
    state = await scene.after(perceive, name="Cy", noticed=[0, 0])
    assert state["mind"]["noticed"] == [0, 1]
