"""How likely a text is to a model on a server: told in both ways, the same as by the model itself, or refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.chat_case import a_chat_model, a_request
from support.commands import Cli
from support.on_use import on_use
from support.protocol_server import Served
from support.tiny import tiny_language_model

from tertulia.prompts.render import render, retokenized
from tertulia.state.errors import ModelError
from tertulia.state.records import Prompt, Reply, Unit

torch = on_use("torch")

PROMPT = Prompt(
    units=tuple(
        Unit(id=f"task.{i}", block="task", kind="text", text=text)
        for i, text in enumerate(("You are Ana.", "Bo says: is there tea?"))
    ),
    speaker="Ana",
    layout="single_message",
)
PREFIX = '{"Ana": "'
REPLY = Reply(
    text='{"Ana": "Tea is ready, Bo.", "over?": false}',
    tokens=(1,),
    text_tokens=(0, 1),
    fields={"Ana": "Tea is ready, Bo.", "over?": False},
)


@pytest.mark.parametrize("way", ["chat", "echo"])
@pytest.mark.parametrize("prefix", ["", PREFIX])
async def test_a_served_model_tells_what_the_same_model_tells_here(
    served: Served, way: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = tiny_language_model()
    tokenizer = local.tokenizer.tokenizer
    if way == "echo":
        monkeypatch.setattr(tokenizer, "chat_template", None)  # messages are lines then

    def read(request: dict[str, Any]) -> list[tuple[str, float | None]]:
        text = request.get("prompt") or tokenizer.apply_chat_template(
            request["messages"], tokenize=False, continue_final_message=True
        )
        tokens = tokenizer(text).input_ids
        with torch.no_grad():
            logs = local.model(torch.tensor([tokens])).logits[0].float().log_softmax(-1)
        told = [float(logs[place, token]) for place, token in enumerate(tokens[1:])]
        return [*zip(map(str, tokens), [None, *told], strict=True)]

    served.tells, served.read = way, read  # type: ignore[assignment]
    reply = retokenized(local.tokenizer, REPLY, prefix)
    expected = await local.log_likelihood(render(PROMPT, local.tokenizer, prefix), reply)
    model = a_chat_model(served)
    assert model.tells_likelihoods()
    assert await model.log_likelihood(render(PROMPT, model.tokenizer, prefix), REPLY) == pytest.approx(expected, 1e-4)


async def test_a_server_that_does_not_tell_is_refused_with_the_remedy(served: Served) -> None:
    model = a_chat_model(served)
    assert not model.tells_likelihoods()
    with pytest.raises(ModelError, match="judge=rating"):
        await model.log_likelihood(a_request().prompt, REPLY)


async def test_a_server_that_fails_for_a_while_is_not_taken_for_one_that_does_not_tell(served: Served) -> None:
    served.tells, served.failures = "chat", ["500", "429"]
    assert await asyncio.to_thread(a_chat_model(served).tells_likelihoods)


@pytest.mark.usefixtures("without_weights")
def test_a_run_is_judged_by_likelihood_where_a_server_tells(cli: Cli, served: Served) -> None:
    served.tells = "chat"
    settings = ("judge=likelihood", "inconsistency_threshold=0.1", "nodes.score=embedding_similarity")
    command = ("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0.5")
    run = cli(*command, *(part for setting in settings for part in ("--set", setting)), "--json").json["run"]
    candidates = cli("show", run, "--turn", "2", "--json").json["candidates"]
    assert any(isinstance(candidate["inconsistency"], float) for candidate in candidates)
    assert [request for request in served.requests if "prompt_logprobs" in request]


@pytest.mark.parametrize("way", ["chat", "echo"])
async def test_a_line_whose_tokens_were_counted_takes_one_request(served: Served, way: str) -> None:
    served.tells = way  # type: ignore[assignment]
    model = a_chat_model(served)
    prompt = render(PROMPT, model.tokenizer, PREFIX)
    logs = await model.text_log_likelihoods(prompt, REPLY)
    asked = len(served.requests)
    assert await model.text_log_likelihoods(prompt, REPLY, len(logs)) == logs
    assert len(served.requests) == asked + 1
