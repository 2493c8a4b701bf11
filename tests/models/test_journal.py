"""The journal: every kind of call is stored whole, and a question that was asked before is not asked again."""

from dataclasses import replace
from typing import Any

import pytest
from support.dialogue_case import a_context
from support.scripted import ScriptedModel

from tertulia.models.batching import BatchingBroker
from tertulia.prompts.render import render
from tertulia.state.context import Context
from tertulia.state.errors import ModelError
from tertulia.state.language_model import GenerationRequest, LanguageModel, ReplyField, ScoringOptions
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, Reply, Unit

PROMPT = Prompt(
    units=tuple(Unit(id=f"u{i}", block="memory", kind="item", text=f"Thing {i}.") for i in range(3)),
    speaker="Mara",
    layout="single_message",
)
REPLY = Reply(text='{"Mara": "Yes."}', tokens=(1, 2, 3), text_tokens=(1, 2), fields={"Mara": "Yes."})


def a_request(model: LanguageModel, *fields: ReplyField, temperature: float = 0.8) -> GenerationRequest:
    return GenerationRequest(
        prompt=render(PROMPT, model.tokenizer),
        fields=fields or (ReplyField("Mara", "speech"), ReplyField("sure", "boolean")),
        generators=tuple(keyed_generator(1, node="test", row=row) for row in range(2)),
        temperature=temperature,
        top_p=0.9,
    )


async def ask_everything(context: Context, temperature: float = 0.8) -> list[Any]:
    model = context.asked_by("Mara", 1, "test")
    request, rendered = a_request(model, temperature=temperature), render(PROMPT, model.tokenizer)
    return [
        await model.generate(request),
        await model.generate_batch([request, request]),
        await model.generate_scored(request, ScoringOptions()),
        await model.score(rendered, [[5, 6], [7]], ScoringOptions()),
        await model.log_likelihood(rendered, REPLY),
        await model.probabilities(rendered, ["yes", "no"]),
    ]


def again(context: Context, model: ScriptedModel) -> Context:
    """The run as another process takes it up."""
    return replace(context, model=model, broker=BatchingBroker(context.run, context.store))


async def test_what_was_asked_is_not_asked_again() -> None:
    context, silent = a_context(), ScriptedModel(fails_at=1)
    first = await ask_everything(context)
    assert await ask_everything(again(context, silent)) == first
    assert silent.calls == []


async def test_every_call_is_numbered_and_accounted_for() -> None:
    context = a_context()
    replies, *_ = await ask_everything(context)
    calls = context.store.calls(context.run)
    assert [call.attempt for call in calls] == list(range(7))
    assert [call.kind for call in calls] == [
        *["generate"] * 3, "generate_scored", "score", "log_likelihood", "probabilities",
    ]  # fmt: skip
    assert calls[0].replies == tuple(replies)
    assert calls[0].prompt_tokens == len(render(PROMPT, context.model.tokenizer).input_ids)
    assert calls[0].reply_tokens == sum(len(reply.tokens) for reply in replies)
    for call in calls:
        assert (call.round, call.agent, call.node, call.model) == (1, "Mara", "test", "scripted")
        assert context.store.prompt(call.prompt) == PROMPT
        assert call.seconds is not None
        assert call.seconds >= 0
        assert call.reply_tokens is not None
    speech, sure = calls[0].parameters["fields"]
    assert (speech["name"], speech["kind"], sure["name"], sure["kind"]) == ("Mara", "speech", "sure", "boolean")
    assert (calls[0].parameters["replies"], calls[0].parameters["temperature"]) == (2, 0.8)
    assert calls[6].parameters == {"options": ["yes", "no"]}


async def test_another_question_under_the_key_is_asked_and_takes_its_place() -> None:
    context, other = a_context(), ScriptedModel()
    await ask_everything(context)
    await ask_everything(again(context, other), temperature=0.2)
    assert len(other.asked("generate")) >= 1
    assert other.asked("log_likelihood") == []
    calls = context.store.calls(context.run)
    assert len(calls) == 7
    assert {call.parameters["temperature"] for call in calls if "temperature" in call.parameters} == {0.2}


async def test_a_call_that_fails_leaves_nothing() -> None:
    context = a_context(ScriptedModel(fails_at=1))
    with pytest.raises(ModelError):
        await ask_everything(context)
    assert context.store.calls(context.run) == []


@pytest.mark.parametrize("speech", ["", " \n "])
async def test_silence_is_no_reply(speech: str) -> None:
    context = a_context(ScriptedModel(speech=[speech]))
    model = context.asked_by("Mara", 1, "generate")
    with pytest.raises(ModelError, match="empty reply for Mara"):
        await model.generate(a_request(model))
    assert context.store.calls(context.run) == []
    thought = a_request(model, ReplyField("thought", "text"))
    quiet = a_context(ScriptedModel(comments=["", ""])).asked_by("Mara", 1, "assess")
    assert [reply.fields["thought"] for reply in await quiet.generate(thought)] == ["", ""]
