"""A thought is checked as a line behind its own call: which is read, which units, and how it is kept and told."""

from pathlib import Path
from typing import Any

import pytest
from support.checked_runs import a_run_of_a_model, alter, checked, read, reading_by

import tertulia as tt
from tertulia.prompts.render import render
from tertulia.state.cognition import Assessment
from tertulia.state.errors import UsageError
from tertulia.state.language_model import RenderedPrompt
from tertulia.storage.store import SqlStore
from tertulia.views.reading.leaning import reasons
from tertulia.views.reading.why import why_turn

ROUNDS = 6


@pytest.fixture
def meeting(tmp_path: Path) -> tt.Run:
    run = a_run_of_a_model(tmp_path, "team_building", rounds=ROUNDS, removal_factor=0)
    alter(tmp_path / "checked.db", "calls", model="scripted")
    return run


def spoken(run: tt.Run) -> tuple[int, str]:
    """A turn in which somebody spoke, and who that was."""
    return next((turn.turn, turn.speaker) for turn in run.turns if turn.speaker is not None)


def silent(run: tt.Run) -> int | None:
    return next((turn.turn for turn in run.turns if turn.speaker is None), None)


def prompts_of_thoughts(model: Any) -> list[RenderedPrompt]:
    """The prompts of thoughts that a model has read a reply behind: those of utterances have an environment."""
    return [prompt for prompt in model.asked("log_likelihood") if "environment" not in prompt.unit_blocks.values()]


async def test_the_speakers_thought_is_read_with_the_line_behind_the_prompt_of_its_own_call(meeting: tt.Run) -> None:
    turn, speaker = spoken(meeting)
    assert read(meeting, turn).thoughts == {}
    assert ", which leaned on" not in why_turn(read(meeting, turn)), "nobody has read the thought"
    told, model = list[str](), reading_by({"moment.1": 1.0, "self.2": 0.5})
    details = await checked(meeting, model, turn, tell=told.append)
    thought = details.thoughts[speaker]
    with SqlStore.open(meeting.store.path) as store:
        call = next(call for call in store.calls(meeting.id, turn) if (call.agent, call.node) == (speaker, "assess"))
        assessment = store.step(meeting.id, turn, speaker, "assess", Assessment)
        prompt = store.prompt(call.prompt)
    assert assessment is not None
    assert (thought.record.prompt, thought.record.turn.text) == (call.prompt, assessment.thought)
    items = [unit.id for unit in prompt.units if unit.kind == "item"]
    assert list(thought.record.line_scores or {}) == items, "what informs, and no instruction or example"
    assert set(thought.measured) == set(items)
    whole, *others = [prompt.input_ids for prompt in prompts_of_thoughts(model)]
    assert whole == render(prompt, model.tokenizer).input_ids, "no reply is begun behind it"
    assert len(others) == len(thought.measured)
    found = reasons(thought)
    assert found is not None
    assert {reason.unit.id for reason in found if reason.measured} == {"moment.1", "self.2"} & set(thought.measured)
    assert f"turn {turn} (the thought of {speaker}): scripted scores the line by its attention" in told
    assert "”, which leaned on " in why_turn(details)


async def test_what_was_read_of_a_thought_is_kept(meeting: tt.Run) -> None:
    turn, speaker = spoken(meeting)
    first = (await checked(meeting, reading_by({}), turn)).thoughts[speaker]

    def never_opened(name: str) -> Any:
        raise AssertionError(f"{name} was opened")

    again = (await checked(meeting, never_opened, turn)).thoughts[speaker]
    assert (again.measured, again.record.line_scores) == (first.measured, first.record.line_scores)
    assert reasons(again) == []
    assert ", which leaned on nothing in particular, as measured" in why_turn(read(meeting, turn))
    assert read(meeting, turn).record.line_scores != first.record.line_scores, "the line keeps its own"


async def test_any_agent_can_be_asked_about_and_the_line_is_left_alone(meeting: tt.Run) -> None:
    turn, speaker = spoken(meeting)
    agents = read(meeting, turn).round
    assert agents is not None
    other = next(agent.agent for agent in agents.agents if agent.agent != speaker)
    model = reading_by({})
    details = await checked(meeting, model, turn, agent=other)
    assert set(details.thoughts) == {other}
    assert details.measured == {}
    assert len(prompts_of_thoughts(model)) == len(model.asked("log_likelihood"))
    document = meeting.turn(turn).document()
    assert {agent: thought["leaned_on"] for agent, thought in document["thoughts"].items()} == {other: []}
    moved = meeting.turn(turn).moved
    assert moved[speaker].leaned_on is None
    assert moved[other].leaned_on is not None
    assert not list(moved[other].leaned_on or ())
    bid = moved[speaker].bid
    assert bid is not None
    by_agent = {mind["agent"]: mind for mind in document["cognition"]}
    assert sum(part.weighted for part in bid.parts) == pytest.approx(by_agent[speaker]["willingness"])


async def test_where_nobody_spoke_an_agent_is_to_be_named(meeting: tt.Run, tmp_path: Path) -> None:
    turn, _ = spoken(meeting)
    alter(tmp_path / "checked.db", "runs", rehearsed=1, model="rehearsal")
    with pytest.raises(UsageError, match="is rehearsed: a stand-in has no likelihoods"):
        meeting.turn(turn).check(agent="Alice")
    alter(tmp_path / "checked.db", "runs", rehearsed=0, model="scripted")
    if (quiet := silent(meeting)) is not None:
        with pytest.raises(UsageError, match=r"nobody spoke in turn .* or name whose thought is meant with --agent"):
            await checked(meeting, reading_by({}), quiet)
        assert set((await checked(meeting, reading_by({}), quiet, agent="Alice")).thoughts) == {"Alice"}
