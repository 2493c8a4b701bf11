"""Choices read from calibrated probabilities, examples drawn from a set, and thoughts that go on."""

import json
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import count

import pytest
from support.commands import Cli
from support.meeting_case import a_quay, an_attendee, held
from support.scripted import ScriptedModel

from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.nodes.mechanisms.speech_frequency import count_speech
from tertulia.nodes.meeting.choices import feeling_of, feeling_options, log_ratios_of, normalised, switches_of
from tertulia.prompts.cognition import examples_of
from tertulia.prompts.examples import draw_switch, examples
from tertulia.state.cognition import Assessment, Call, InformationNeed
from tertulia.state.context import Context
from tertulia.state.language_model import RenderedPrompt
from tertulia.state.meeting import EMOTIONS
from tertulia.worlds.catalog import resolve


class WeighingModel(ScriptedModel):
    """Finds one kind of continuation likelier where it reads `crane`, and dislikes it everywhere else."""

    favourite = "very afraid"

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        self._note("probabilities", prompt)
        assert prompt.source is not None
        is_heard = any("crane has to" in unit.text for unit in prompt.source.units)
        weights = [(2.0 if is_heard else 0.01) if self.favourite in option else 1.0 for option in options]
        weights[0] *= 50  # a word that it likes whatever was said
        return [weight / sum(weights) for weight in weights]


def calls_of(context: Context, node: str) -> list[Call]:
    return [call for call in context.store.calls("k3f9") if call.node == node]


# --- probabilities --------------------------------------------------------------------------------------------------


def test_what_is_likely_anyway_counts_for_nothing() -> None:
    (usual, rare) = log_ratios_of([0.9, 0.1], [[0.9, 0.1], [0.9, 0.1]])
    assert usual == pytest.approx(rare) == pytest.approx(0)
    usual, rare = log_ratios_of([0.8, 0.2], [[0.9, 0.1]])
    assert rare == pytest.approx(math.log(2))
    assert normalised([usual, rare])[1] > 0.5


def test_a_feeling_follows_its_ratios_and_is_even_without_any() -> None:
    options = feeling_options()
    generator = random.Random(1)
    even = Counter(feeling_of([0.0] * len(options), generator)[0] for _ in range(3000))
    assert set(even) == set(EMOTIONS)
    assert max(even.values()) < 2 * min(even.values())
    afraid = [4.0 if option == " very afraid" else 0.0 for option in options]
    drawn = Counter(feeling_of(afraid, generator) for _ in range(200))
    ((feeling, strength), count) = drawn.most_common(1)[0]
    assert feeling == "afraid"
    assert strength >= 8
    assert count > 190


def test_a_switch_is_on_where_it_gains_and_none_where_nothing_does() -> None:
    assert [choice.active for choice in switches_of([1.0, -1.0, 0.0])] == [True, False]
    assert [choice.active for choice in switches_of([0.0, 0.0, 2.0])] == [False, False]
    assert [choice.active for choice in switches_of([1.0, 0.0])] == [
        True
    ]  # a single mechanism competes with needing none


async def test_feelings_and_switches_come_from_probabilities_where_the_run_says_so() -> None:
    model = WeighingModel(layout="chat_turns")
    context, _ = await held(a_quay(mechanisms=("time_analysis", "speech_frequency")), model, max_turns=1,
                            choices="probabilities", perception_threshold=0)  # fmt: skip
    felt = context.store.steps("k3f9", "assess", Assessment)
    assert {(assessment.emotion, assessment.emotion_strength) for assessment in felt.values()} == {("afraid", 0.9)}
    for call in calls_of(context, "assess"):
        assert call.replies[0].fields["feeling"] == "afraid"
    # Nothing of this depends on what the reply would have said by itself.
    assert {call.agent for call in calls_of(context, "weigh_feeling")} == set(context.meeting.names)


async def test_a_switch_that_is_weighed_says_by_how_much_and_the_reply_explains_what_was_chosen() -> None:
    model = WeighingModel()
    model.favourite = "count who has spoken"
    context, _ = await held(a_quay(mechanisms=("time_analysis", "speech_frequency")), model, max_turns=1,
                            choices="probabilities", perception_threshold=0)  # fmt: skip
    for need in context.store.steps("k3f9", "choose_mechanisms", InformationNeed).values():
        assert {name: choice.active for name, choice in need.mechanisms.items()} == {
            "time_analysis": False,
            "speech_frequency": True,
        }
        assert need.mechanisms["speech_frequency"].reason.endswith("it is on above 0.33")
        assert need.decision_reason
    for call in calls_of(context, "choose_mechanisms"):
        shown = "\n".join(unit.text for unit in context.store.prompt(call.prompt).units)
        assert "What you choose to do now: count who has spoken" in shown
        assert set(call.replies[0].fields) == {"key_information", "character_analysis", "decision_reason"}


async def test_nothing_is_weighed_where_replies_decide() -> None:
    model = ScriptedModel()
    await held(model=model, max_turns=1)
    assert model.asked("probabilities") == []


def test_a_model_without_probabilities_is_refused(cli: Cli) -> None:
    asked = ("run", "team_building", "--model", "openai:gpt-4o", "--lambda", "0")
    for setting in (("choices=probabilities",), ("choices=probabilities", "thinking_model=openai:gpt-4o-mini")):
        result = cli(*asked, *(part for value in setting for part in ("--set", value)))
        assert result.code == 2
        assert "choices=probabilities" in result.err
        assert "choices=reply" in result.err


# --- examples -------------------------------------------------------------------------------------------------------


def test_every_question_has_six_examples_and_none_rules() -> None:
    known = examples()
    for question, answers in known.items():
        if question not in ("switches", "album"):
            assert len(answers) >= 6, question
            shapes = {
                tuple(answer) if isinstance(answer, dict) and question != "progress" else () for answer in answers
            }
            assert len(shapes) == 1, question
    feelings = Counter(answer["feeling"] for answer in known["assess"])
    assert set(feelings) == set(EMOTIONS)
    assert len(set(feelings.values())) == 1
    assert len({answer["strength"] for answer in known["assess"]}) == len(known["assess"])
    steps = [value for answer in known["progress"] for value in answer.values() if isinstance(value, bool)]
    assert sum(steps) * 2 == len(steps)
    assert len(set(Counter(answer["move"] for answer in known["topics"]).values())) == 1
    assert {len(answer) for answer in known["personality"]} == {10}


@pytest.mark.parametrize("scenario", ["team_building", "ferry_timetable", "mothers_house", "tidewell"])
def test_examples_name_nobody_of_a_shipped_scenario(scenario: str) -> None:
    words = set(re.findall(r"[^\W\d_]+", json.dumps(examples())))
    assert not words & {name.split()[0] for name in resolve(scenario, MECHANISMS).names}


def test_switches_of_examples_are_on_as_often_as_off() -> None:
    generator = random.Random(3)
    for name, mechanism in MECHANISMS.items():
        drawn = [draw_switch(name, generator) for _ in range(400)]
        if mechanism.condition is not None:
            assert set(drawn) == {None}
        else:
            assert 150 < sum(active for active, _ in filter(None, drawn)) < 250
            assert len(set(drawn)) >= 6


async def test_a_mechanism_of_an_extension_is_shown_with_its_own_example(monkeypatch: pytest.MonkeyPatch) -> None:
    extension = Mechanism("open_question", "Open question", "look for one", (True, "My very own reason."), count_speech)
    monkeypatch.setattr("tertulia.nodes.mechanisms.registry.MECHANISMS", {**MECHANISMS, "open_question": extension})
    context, _ = await held(a_quay(mechanisms=("open_question",)), ScriptedModel(layout="chat_turns"), max_turns=1)
    for call in calls_of(context, "choose_mechanisms"):
        (example,) = examples_of(context.store.prompt(call.prompt))
        assert json.loads(example)["open_question_reason"] == "My very own reason."


# --- from round to round --------------------------------------------------------------------------------------------


async def test_the_last_situation_and_thought_stand_in_the_next_rounds_prompts() -> None:
    context, _ = await held(a_quay(participants=(an_attendee("Ana"), an_attendee("Bo"))), max_turns=2)
    for node in ("assess", "choose_mechanisms"):
        for call in calls_of(context, node):
            shown = "\n".join(unit.text for unit in context.store.prompt(call.prompt).units)
            last = context.store.step("k3f9", call.round - 1, call.agent, "assess", Assessment)
            assert ("Last time you thought" in shown) == (last is not None) == (call.round > 1)
            assert last is None or (last.thought in shown and last.situation in shown)
    needs = context.store.steps("k3f9", "choose_mechanisms", InformationNeed)
    first, second = needs[1, "Ana"], needs[2, "Ana"]
    before = context.store.step("k3f9", 1, "Ana", "assess", Assessment)
    assert before is not None
    assert (first.situation_summary, second.situation_summary) == ("", before.situation)
    assert first.character_analysis
    assert first.decision_reason


@pytest.mark.parametrize("banned", [0, 5])
async def test_a_model_that_echoes_may_not_say_its_last_thought_again(banned: int) -> None:
    comments = (f"I have counted to {number}." for number in count(1))  # so nobody thinks what another one thinks
    model = ScriptedModel(comments=comments, no_repeat_ngram=banned)
    context, _ = await held(model=model, max_turns=2)
    asked = [request for batch in model.asked("generate_batch") for request in batch]
    last = context.store.step("k3f9", 1, "Ana", "assess", Assessment)
    assert last is not None
    thoughts = [
        request
        for request in asked
        if any(field.name == "thought" for field in request.fields)
        and tuple(model.tokenizer.encode(last.thought)) in request.no_repeat_from
    ]
    assert len(thoughts) == 1
    assert thoughts[0].no_repeat_ngram == min(banned, 3)
