"""Poles that a model reads from words of character, by answers or by probabilities."""

from collections.abc import Sequence
from typing import Any

import pytest
from support.meeting_case import an_attendee, with_people
from support.scene import Scene
from support.scripted import ScriptedModel

from tertulia.nodes.meeting.personality import poles_of
from tertulia.nodes.meeting.willingness import discomfort_of, propensity_of, reach_of
from tertulia.state.language_model import RenderedPrompt
from tertulia.state.meeting import Attendee
from tertulia.state.parameters import GROUP_CHAT, Parameters
from tertulia.state.records import Persona


class Compares(ScriptedModel):
    """Holds the words of some poles for likelier of people with character, by a factor."""

    def __init__(self, likelier: dict[str, float], **traits: Any) -> None:
        super().__init__(rehearsed=False, **traits)
        self.likelier = likelier

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        assert prompt.source is not None
        assert options, "nothing is compared"
        is_of_a_person = "gruff" in prompt.source.units[0].text
        return [0.01 * (self.likelier.get(option.strip(), 1.0) if is_of_a_person else 1.0) for option in options]


def gruff(**changes: Any) -> Attendee:
    persona = Persona(name="Ana", character="gruff, silent, hates bards")
    return an_attendee("Ana", **{"persona": persona, "big_five": (), "descriptions": (), **changes})


async def read_by(model: ScriptedModel, ana: Attendee, **settings: Any) -> tuple[str, ...]:
    meeting = with_people(ana, an_attendee("Bo"), mechanisms=())
    return await poles_of(await Scene(meeting, model, **settings).view())


async def test_a_small_model_claims_a_pole_only_where_its_words_are_clearly_likelier() -> None:
    model = Compares({"quiet": 2.0, "hostile": 1.3, "anxious": 9.0})
    assert await read_by(model, gruff(), choices="probabilities") == ("introverted", "neurotic")
    given = gruff(big_five=("extroverted", "open"))
    assert await read_by(model, given, choices="probabilities") == ("extroverted", "neurotic", "open")


async def test_where_only_dimensions_are_open_that_a_small_model_can_t_tell_none_is_asked_for() -> None:
    given = gruff(big_five=("introverted", "antagonistic", "neurotic"))
    model = Compares({"quiet": 2.0})
    assert await read_by(model, given, choices="probabilities") == ("introverted", "antagonistic", "neurotic")


async def test_a_model_that_can_t_read_the_words_claims_nothing() -> None:
    assert await read_by(ScriptedModel(), gruff(), choices="probabilities") == ()
    german = Compares({"quiet": 2.0}, languages=frozenset({"de"}))
    assert await read_by(german, gruff(), choices="probabilities") == ()


async def test_a_model_that_answers_is_asked_with_neither_among_the_answers() -> None:
    model = ScriptedModel(rehearsed=False)
    poles = await read_by(model, gruff(), choices="reply")
    (prompt, *_) = [call for call in map(str, model.asked("generate")) if "gruff, silent, hates bards" in call]
    assert "neither" in prompt
    assert len(poles) <= 5


def test_without_extraversion_the_middle_counts_and_what_is_yet_to_be_read_counts_as_low() -> None:
    assert propensity_of(gruff(), ()) == pytest.approx(0.55)
    assert discomfort_of(gruff(), ("open",)) == pytest.approx(0.3)
    parameters = Parameters().with_settings({**GROUP_CHAT, "willingness_threshold": 0.15})
    people = with_people(gruff(), an_attendee("Bo", big_five=("open",), descriptions=()), mechanisms=())
    ana, bo = reach_of(people, parameters)
    assert (ana.rounds or 0) > (bo.rounds or 0) == 0
