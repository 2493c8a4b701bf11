"""Remote models: against a small server that speaks OpenAI's protocol and fails as the test wants."""

import asyncio
import contextvars
import gc
import json
import logging
import random
import re
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.chat_case import KEY, SPEECH, a_chat_model, a_request
from support.protocol_server import Served

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.chat import open_chat_model
from tertulia.models.served.chat_names import is_chat_name
from tertulia.models.served.remote_requests import event_loop
from tertulia.prompts.render import render
from tertulia.prompts.shape import schema_of
from tertulia.state.errors import AttentionUnavailableError, ModelError, TertuliaError, UsageError
from tertulia.state.language_model import Activity, GenerationRequest, ReplyField, ScoringOptions
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, Reply, Unit

# --- what is asked ----------------------------------------------------------------------------------------------------


async def test_units_become_messages(served: Served) -> None:
    lines = [Unit(id=f"c.{n}", block="c", kind="item", text=f"{n} speaks.", speaker=n) for n in ("Bo", "Ana", "Bo")]
    task = [Unit(id=f"t.{i}", block="t", kind="text", text=f"Task {i}.") for i in (1, 2)]
    for layout, roles in (("chat_turns", ["system", "user", "assistant", "user"]), ("single_message", ["user"])):
        units = tuple(unit.model_copy(update={"id": f"{i}"}) for i, unit in enumerate((*task, *lines)))
        prompt = render(Prompt(units=units, speaker="Ana", layout=layout), RehearsalTokenizer())
        await a_chat_model(served).generate(GenerationRequest(prompt, SPEECH, (random.Random(1),), 1.0, 0.9))
        sent = served.requests[-1]
        assert [message["role"] for message in sent["messages"]] == roles
        assert sent["messages"][0]["content"].startswith("Task 1.\nTask 2.")
        assert sent["messages"][-1]["content"].splitlines()[-2] == "Bo speaks."
        assert sent["top_p"] == 0.9
        assert sent["temperature"] == 1
        assert sent["response_format"]["json_schema"]["schema"]["required"] == ["Ana"]


async def test_a_server_of_the_user_s_is_asked_as_langchain_asks(served: Served) -> None:
    from langchain_openai import ChatOpenAI

    fields = (
        ReplyField("Ana", "speech"),
        ReplyField("n", "integer", minimum=1, maximum=7),
        ReplyField("why", "choice", choices=("tea", "rain")),
    )
    request = replace(a_request("Hello.", fields=fields, rows=1), temperature=0.5, top_p=0.9)
    (reply,) = await a_chat_model(served).generate(request)
    (asked,) = served.requests
    client = ChatOpenAI(
        model=served.models[0],
        base_url=served.address,
        api_key="none",
        temperature=0.5,
        top_p=0.9,
        seed=asked["seed"],
        disable_streaming=True,
    )
    shaped = client.with_structured_output(schema_of(fields), method="json_schema", include_raw=True)
    answer = shaped.invoke([(message["role"], message["content"]) for message in asked["messages"]])["raw"]
    off = {"min_p": 0, "top_k": -1, "repeat_penalty": 1, "repetition_penalty": 1}
    off["samplers"] = ["top_k", "temperature", "top_p", "min_p"]
    assert served.requests[1] | off == asked
    assert json.loads(answer.text) == reply.fields


async def test_rows_have_seeds_of_their_own_and_come_back_in_order(served: Served) -> None:
    served.answer = lambda request: json.dumps({"Ana": f"My number is {request['seed']}."})
    served.latency_s = 0.3
    requests = [a_request("One.", fields=SPEECH, rows=3), a_request("Two.", fields=SPEECH, rows=1)]
    replies = await a_chat_model(served).generate_batch(requests)
    seeds = [random.Random(row).getrandbits(31) for row in range(3)]
    assert [[reply.fields["Ana"] for reply in rows] for rows in replies] == [
        [f"My number is {seed}." for seed in seeds],
        [f"My number is {seeds[0]}."],
    ]
    assert replies[0][0].usage == (100, 20)
    assert served.most_at_once == 4


async def test_no_more_at_once_than_is_allowed_and_no_more_a_minute(served: Served) -> None:
    served.latency_s = 0.02
    await a_chat_model(served, max_concurrency=2).generate(a_request(rows=6))
    assert served.most_at_once == 2
    started = time.monotonic()
    await a_chat_model(served, requests_per_minute=600).generate(a_request(rows=4))
    assert time.monotonic() - started >= 0.3


def test_one_model_serves_in_several_event_loops(served: Served) -> None:
    model = a_chat_model(served, max_concurrency=1)
    replies = [asyncio.run(model.generate(a_request(rows=2)))[0].fields for _ in range(3)]
    assert replies[0] == replies[1] == replies[2]


def test_the_loop_of_remote_requests_does_not_keep_what_its_first_caller_had() -> None:
    class Callers:
        pass

    held = contextvars.ContextVar[Callers]("held")
    context, callers = contextvars.Context(), Callers()
    context.run(held.set, callers)
    gone, loop = weakref.ref(callers), context.run(event_loop.__wrapped__)
    del callers, context
    gc.collect()
    loop.call_soon_threadsafe(loop.stop)
    assert gone() is None


async def test_a_server_without_schemas_is_asked_in_words(served: Served) -> None:
    served.knows_schemas = False
    model = a_chat_model(served)
    assert len(await model.generate(a_request())) == 1
    await model.generate(a_request())
    assert ["response_format" in request for request in served.requests] == [True, False, False]


async def test_what_can_t_be_read_is_asked_for_again_and_all_of_it_is_counted(served: Served) -> None:
    served.failures = ["wrong_json", "half_json"]
    (reply,) = await a_chat_model(served).generate(a_request())
    assert reply.usage == (300, 60)
    third = served.requests[-1]["messages"]
    assert [message["role"] for message in third] == ["user", "assistant", "user", "assistant", "user"]
    assert third[1]["content"] == "I'd rather not answer in that form."
    assert "there is no JSON object in it" in third[2]["content"]
    served.failures = ["wrong_json"] * 5
    with pytest.raises(ModelError, match=r"can be read, 5 times \(there is no JSON"):
        await a_chat_model(served).generate(a_request())


# --- what fails -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", ["429", "500", "cut"])
async def test_what_fails_for_a_while_is_tried_again(served: Served, failure: str) -> None:
    served.failures = [failure] * 3
    assert len(await a_chat_model(served, max_retries=3).generate(a_request())) == 1
    assert len(served.requests) == 4
    served.failures = [failure] * 4
    with pytest.raises(ModelError, match=r"4 times.*resume"):
        await a_chat_model(served, max_retries=3).generate(a_request())


async def test_a_server_that_says_when_is_asked_then(served: Served) -> None:
    served.failures = ["429"]  # in 0.05 s
    started = time.monotonic()
    await a_chat_model(served).generate(a_request())
    assert time.monotonic() - started >= 0.05


@pytest.mark.parametrize("retry_after", ["nan", "inf", "-inf", "-5", "0", "1e999", "soon", "", "Mon, 99 Foo 2026"])
async def test_a_retry_after_that_is_no_time_to_wait_leaves_the_back_off(served: Served, retry_after: str) -> None:
    served.failures, served.retry_after = ["429"] * 2, retry_after
    started = time.monotonic()
    await a_chat_model(served).generate(a_request())
    assert time.monotonic() - started >= 0.015  # half of 0.01 s and half of 0.02 s
    assert len(served.requests) == 3


async def test_a_server_that_asks_for_too_much_patience_stops_the_run(served: Served) -> None:
    served.failures, served.retry_after = ["429"], "301"
    with pytest.raises(ModelError, match="over its limit"):
        await a_chat_model(served).generate(a_request())
    assert len(served.requests) == 1


async def test_retries_are_reported_until_they_go_on(served: Served) -> None:
    reported: list[Activity] = []
    model = open_chat_model(served.model, Parameters(max_retries=3), None, reported.append)
    served.failures = ["429", "500", "cut"]
    await model.generate(a_request())
    assert [activity.text for activity in reported[1::2]] == [""] * 3
    assert [re.sub(r"[\d.]+ s$", "N s", activity.text) for activity in reported[::2]] == [
        f"{served.model} refused the request (429); retry 1 of 3 in N s",
        f"{served.model} failed (500); retry 2 of 3 in N s",
        f"{served.model} can't be reached, or its answer breaks off; retry 3 of 3 in N s",
    ]


async def test_what_fails_for_good_is_asked_once(served: Served) -> None:
    served.failures = ["quota"]
    with pytest.raises(ModelError, match="over its limit"):
        await a_chat_model(served).generate(a_request())
    assert len(served.requests) == 1


async def test_a_refusal_that_names_nothing_is_a_slip_once_and_changes_nothing(served: Served) -> None:
    served.failures = ["400"]
    await a_chat_model(served).generate(a_request())
    assert served.requests[0] == served.requests[1]
    served.failures = ["400"] * 2
    with pytest.raises(ModelError, match=r"refuses the request .400: Contact your admin for more"):
        await a_chat_model(served).generate(a_request())
    assert len(served.requests) == 4


async def test_a_server_that_is_too_slow(served: Served) -> None:
    served.latency_s = 1.0
    with pytest.raises(ModelError, match=r"within 0.05 s \(2 times\); resume, or set request_timeout_s"):
        await a_chat_model(served, request_timeout_s=0.05, max_retries=1).generate(a_request())


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("openai:gpt", "set OPENAI_API_KEY"),
        ("opanai:gpt", "did you mean 'openai'"),
        ("groq:x", "pip install langchain-groq"),
        ("http://localhost:8000/v1", "#NAME"),
        ("http://me:secret@localhost/v1#x", "holds no key"),
        ("http://#x", "http://HOST:PORT"),
    ],
)
def test_names_that_lead_nowhere(name: str, problem: str) -> None:
    assert is_chat_name(name)
    with pytest.raises((UsageError, ModelError), match=problem) as raised:
        open_chat_model(name, Parameters(), KEY if name.startswith("groq") else None)
    assert "secret" not in str(raised.value)


async def test_only_text_can_be_had(served: Served) -> None:
    model, prompt = a_chat_model(served), a_request().prompt
    reply = Reply(text="", tokens=(), text_tokens=(0, 0), fields={})
    asked: list[tuple[Callable[[], Any], type[TertuliaError], str]] = [
        (lambda: model.generate_scored(a_request(), ScoringOptions()), AttentionUnavailableError, "surrogate="),
        (lambda: model.score(prompt, [[1]], ScoringOptions()), AttentionUnavailableError, "surrogate="),
        (lambda: model.log_likelihood(prompt, reply), ModelError, "judge=rating"),
        (lambda: model.probabilities(prompt, ["a"]), ModelError, "ending=reply"),
    ]
    for ask, error, advice in asked:
        with pytest.raises(error, match=advice):
            await ask()


# --- keys -------------------------------------------------------------------------------------------------------------


async def test_the_key_is_sent_and_nowhere_else(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    served.key = KEY
    model = a_chat_model(served, KEY)
    await model.generate(a_request())
    served.key = "another"
    with pytest.raises(ModelError, match="the key in TERTULIA_SERVER_KEY") as raised:
        await model.generate(a_request())
    served.failures = ["400"]
    shown = [str(raised.value), repr(model), repr(vars(model)), caplog.text]
    assert not [text for text in shown if KEY in text]
    assert served.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_no_key_of_a_provider_goes_to_the_user_s_server(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    await a_chat_model(served).generate(a_request())
    assert KEY not in json.dumps(served.headers)
