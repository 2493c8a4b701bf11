"""Meetings in which a mechanism fails or a model says anything at all: they go on, and what was said is data."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from support.meeting_case import a_quay, an_attendee, eager, held, with_people
from support.scripted import ScriptedModel

from tertulia.nodes.mechanisms import registry
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Assessment, Finding
from tertulia.state.language_model import GenerationRequest
from tertulia.state.records import Persona, Reply

# --- mechanisms that fail -------------------------------------------------------------------------------------------


def swapped(monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    broken = replace(registry.MECHANISMS["speech_frequency"], run=run, condition=lambda view: "always")
    monkeypatch.setitem(registry.MECHANISMS, "speech_frequency", broken)


async def raises(view: View) -> Finding:
    raise KeyError("\x1b[31mno such\nfloor")


async def hangs(view: View) -> Finding:
    await asyncio.Event().wait()
    return Finding()


async def hangs_after_asking(view: View) -> Finding:
    await registry.MECHANISMS["memory_retrieval"].run(view)
    await asyncio.Event().wait()
    return Finding()


@pytest.mark.parametrize(
    ("run", "problem"), [(raises, "failed: KeyError"), (hangs, "longer than"), (hangs_after_asking, "longer than")]
)
async def test_an_agent_goes_on_without_a_mechanism_that_fails(
    monkeypatch: pytest.MonkeyPatch, run: Any, problem: str
) -> None:
    swapped(monkeypatch, run)
    monkeypatch.setattr("tertulia.nodes.meeting.run_mechanisms.TIMEOUT_S", 0.05)
    context, turns = await held(max_turns=2)
    assert len(turns) == 2
    for round in (1, 2):
        for name in context.meeting.names:
            finding = context.store.step("k3f9", round, name, "speech_frequency", Finding)
            assert finding is not None
            assert problem in (finding.problem or "")
            assert context.store.step("k3f9", round, name, "assess", Assessment) is not None


# --- replies of every kind ------------------------------------------------------------------------------------------


class Odd(ScriptedModel):
    """A model whose thoughts are what a test says, whatever it was asked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        replies = await super().generate(request)
        texts = {field.name for field in request.fields if field.kind == "text"}
        return [
            reply.model_copy(
                update={"fields": {name: self.text if name in texts else v for name, v in reply.fields.items()}}
            )
            for reply in replies
        ]


@pytest.mark.parametrize(
    "text", ["", "   ", "また明日。" * 200, "\x1b[2Jgone\x00", '"}; DROP TABLE turns;--', "<|im_end|>"]
)
async def test_thoughts_of_any_kind_are_data(text: str) -> None:
    context, turns = await held(a_quay(mechanisms=("memory_retrieval",)), Odd(text), max_turns=2)
    assert len(turns) == 2
    assessment = context.store.step("k3f9", 2, "Ana", "assess", Assessment)
    assert assessment is not None
    assert assessment.thought == " ".join(text.split())


@pytest.mark.parametrize(
    ("order", "rounds"), [("rule_based", 7), ("self_driven", 2), ("designated", 2), ("centralised", 2)]
)
async def test_names_of_any_kind_are_data(order: str, rounds: int) -> None:
    names = ('Ana "the Net" Vos', "Ana 🦆", "{Ana}", "$speaker", "Ana, Bo", "<|im_end|>", "Ana\\")
    people = [an_attendee(name, **eager(persona=Persona(name=name))) for name in names]
    _, turns = await held(with_people(*people), max_turns=rounds, order=order, removal_factor=0.5)
    speakers = {turn.speaker for turn in turns}
    assert speakers == set(names) if order == "rule_based" else speakers <= set(names)
