"""Remote models: against a small server that speaks OpenAI's protocol and fails as the test wants."""

import asyncio
import contextlib
import json
import logging
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.commands import Cli
from support.dialogue_case import a_context
from support.meeting_case import a_quay
from support.protocol_server import Served, serving

from models.chat import ChatModel, open_chat_model
from models.chat_names import is_chat_name
from models.rehearsal import RehearsalEmbedder, RehearsalTokenizer
from models.repair import UnusableReplyError, read_answer
from prompts.render import render
from state.errors import AttentionUnavailableError, ModelError, TertuliaError, UsageError
from state.language_model import Activity, GenerationRequest, ReplyField, ScoringOptions
from state.parameters import Parameters
from state.records import Prompt, Reply, Unit
from storage.store import SqliteStore
from tertulia.conversation import drive

pytest.importorskip("langchain_openai")

SPEECH = (ReplyField("Ana", "speech"),)
FIELDS = (*SPEECH, ReplyField("over?", "boolean"))
KEY = "sk-a-secret-of-mine-1234567890"


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.chat_errors.FIRST_WAIT_S", 0.01)


def a_model(served: Served, key: str | None = None, **limits: Any) -> ChatModel:
    return open_chat_model(served.model, Parameters(**{"max_retries": 3, **limits}), key)


def a_request(
    *texts: str, fields: tuple[ReplyField, ...] = FIELDS, rows: int = 1, layout: str = "single_message"
) -> GenerationRequest:
    units = [Unit(id=f"task.{i}", block="task", kind="text", text=text) for i, text in enumerate(texts or ("Speak.",))]
    prompt = Prompt(units=tuple(units), speaker="Ana", layout=layout)
    generators = tuple(random.Random(row) for row in range(rows))
    return GenerationRequest(render(prompt, RehearsalTokenizer()), fields, generators, 0.8, 0.9)


def read(written: str, *fields: ReplyField) -> dict[str, Any]:
    return read_answer(written, fields or FIELDS, RehearsalTokenizer()).fields


# --- what is read -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        '{"Ana": "Good morning, Bo.", "over?": false}',
        '```json\n{"Ana": "Good morning, Bo.", "over?": false}\n```',
        'Here you are: {"Ana": "Good morning, Bo.", "over?": false} I hope that helps.',
        "{'Ana': 'Good morning, Bo.', 'over?': False,}",
        '{"Ana": "Good morning, Bo.", "over?": "No, it goes on."}',
        '{"ana": "Good morning, Bo.", "Over": 0}',
        '{"Ana": "Ana: Good *morning*,\\n Bo.", "over?": "false"}',
        '<think>{"Ana": "no"} maybe</think>{"Ana": "Good morning, Bo.", "over?": false}',
        'I use {braces}. [{"Ana": "Good morning, Bo.", "over?": false}]',
        '{"over?": false, "Ana": "Good morning, Bo. And th',
        '{"Ana": "Good morning, Bo.", // a greeting\n "over?": no}',
        "{Ana: Good morning, Bo., over?: false}",
        "{“Ana”: “Good morning, Bo.”; “over?”: “no”}",
        "{'reply': {'over?': False, 'Ana': 'Good morning, Bo.',}} That's {all}.",
        '{"anna": "Good morning, Bo.",\n "over?": no}',
        'So it is over. </think> {"Ana": "Good morning,\nBo.", "over?": false}',
    ],
)
def test_what_is_meant_is_read(written: str) -> None:
    assert read(written) == {"Ana": "Good morning, Bo.", "over?": False}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("I would rather not.", "no JSON object"),
        ('{"over?": false}', "'Ana' is missing"),
        ('{"Ana": "Hello there.", "over?": "perhaps"}', "neither true nor false"),
        ('{"Ana": "** --", "over?": true}', "nothing is said"),
        ('{"Ana": {"a": 1}, "over?": true}', "no text"),
        ('{"Ana": null, "over?": true}', "missing"),
        ("{" * 5000, "no JSON"),
        ('{"Ana": "Hello there.", "over?": tr', "breaks off"),
        ('{"over?": true, "Ana": "Hello the', "breaks off"),
    ],
)
def test_what_is_missing_is_named(written: str, problem: str) -> None:
    with pytest.raises(UnusableReplyError, match=problem):
        read(written)


def test_quotation_marks_and_signs_in_speech_do_no_harm() -> None:
    assert read('{"Ana": "He said "so", and: "no".", "over?": no}')["Ana"] == 'He said "so", and: "no".'
    assert read("{'Ana': 'It\\'s Bo\\u2019s, isn't it?', 'over?': False}")["Ana"] == "It's Bo’s, isn't it?"
    names = (ReplyField("Ana O'Neil", "speech"), ReplyField("Dr. (B) [c]*", "text"))
    assert read("""{"Ana O'Neil": "Hello.", 'Dr. (B) [c]*': 'x',}""", *names) == {
        "Ana O'Neil": "Hello.",
        "Dr. (B) [c]*": "x",
    }


@pytest.mark.parametrize("beginning", ["", '{"Ana": "', "{'over?': no, 'Ana': '", "<think>", "{ Ana: ("])
@pytest.mark.parametrize(
    "part",
    [
        "{",
        "[",
        '"',
        "'",
        "\\",
        '\\"',
        '[{"a":',
        '","',
        "': '",
        "\n",
        ", ",
        "<think>",
        '"Ana"\t”',
        "}{```json,",
        "'#",
        "a.",
    ],
)
def test_no_answer_takes_long_to_read(beginning: str, part: str) -> None:
    started_s = time.process_time()
    with contextlib.suppress(UnusableReplyError):
        read(beginning + part * (100_000 // len(part)))
    assert time.process_time() - started_s < 1  # a tenth of it, as a rule


@pytest.mark.parametrize(
    ("value", "number"),
    [("7", 7), ("7.0", 7), ('"7"', 7), ('"seven"', 7), ('"7/10"', 7), ('"Rating: 7, mostly."', 7), ('"about ten"', 10)],
)
def test_numbers_in_whatever_form(value: str, number: int) -> None:
    assert read(f'{{"rating": {value}}}', ReplyField("rating", "integer", minimum=1)) == {"rating": number}


@pytest.mark.parametrize("value", ["11", "0", "-7", "7.5", '"7.5"', "true", '"high"', "1e400", "9" * 5000])
def test_numbers_that_were_not_asked_for(value: str) -> None:
    with pytest.raises(UnusableReplyError):
        read(f'{{"rating": {value}}}', ReplyField("rating", "integer", minimum=1))


def test_choices_by_nearest_spelling() -> None:
    field = ReplyField("next", "choice", choices=("Bo Berg", "Cy"))
    assert [read(json.dumps({"next": text}), field)["next"] for text in ("Bo Berg", "bo berg.", "Bo  Burg", "CY")] == [
        *["Bo Berg"] * 3,
        "Cy",
    ]
    with pytest.raises(UnusableReplyError, match="none of Bo Berg, Cy"):
        read('{"next": "Dee"}', field)
    items = [ReplyField(f"item_{i}", "integer") for i in (1, 2, 12)]
    with pytest.raises(UnusableReplyError, match="item_1"):  # not taken for another item's
        read('{"item_2": 3, "item_12": 4, "item_11": 5}', *items)


def test_text_is_one_line_within_its_limit() -> None:
    field = ReplyField("thought", "text", max_tokens=8)
    assert read('{"thought": "One\\u0000 two.\\u2028Three \\ud800four five six seven eight nine ten."}', field) == {
        "thought": "One two."
    }
    assert read('{"thought": "one two three four five six seven eight nine ten"}', field)["thought"].endswith("…")


def test_the_text_of_a_reply_is_clean_json_that_begins_as_prompts_begin_it() -> None:
    reply = read_answer('{"Ana": "He said \\"so\\".", "over?": true}', FIELDS, RehearsalTokenizer())
    assert reply.text.startswith('{"Ana": "')
    assert json.loads(reply.text) == reply.fields == {"Ana": 'He said "so".', "over?": True}
    assert (reply.tokens, reply.text_tokens) == ((), (0, 0))


# --- what is asked ----------------------------------------------------------------------------------------------------


async def test_units_become_messages(served: Served) -> None:
    lines = [Unit(id=f"c.{n}", block="c", kind="item", text=f"{n} speaks.", speaker=n) for n in ("Bo", "Ana", "Bo")]
    task = [Unit(id=f"t.{i}", block="t", kind="text", text=f"Task {i}.") for i in (1, 2)]
    for layout, roles in (("chat_turns", ["system", "user", "assistant", "user"]), ("single_message", ["user"])):
        units = tuple(unit.model_copy(update={"id": f"{i}"}) for i, unit in enumerate((*task, *lines)))
        prompt = render(Prompt(units=units, speaker="Ana", layout=layout), RehearsalTokenizer())
        await a_model(served).generate(GenerationRequest(prompt, SPEECH, (random.Random(1),), 1.0, 0.9))
        sent = served.requests[-1]
        assert [message["role"] for message in sent["messages"]] == roles
        assert sent["messages"][0]["content"].startswith("Task 1.\nTask 2.")
        assert sent["messages"][-1]["content"].splitlines()[-2] == "Bo speaks."
        assert sent["top_p"] == 0.9
        assert "temperature" not in sent  # 1 is left to the model
        assert sent["response_format"]["json_schema"]["schema"]["required"] == ["Ana"]


async def test_rows_have_seeds_of_their_own_and_come_back_in_order(served: Served) -> None:
    served.answer = lambda request: json.dumps({"Ana": f"My number is {request['seed']}."})
    served.latency_s = 0.3
    requests = [a_request("One.", fields=SPEECH, rows=3), a_request("Two.", fields=SPEECH, rows=1)]
    replies = await a_model(served).generate_batch(requests)
    seeds = [random.Random(row).getrandbits(31) for row in range(3)]
    assert [[reply.fields["Ana"] for reply in rows] for rows in replies] == [
        [f"My number is {seed}." for seed in seeds],
        [f"My number is {seeds[0]}."],
    ]
    assert replies[0][0].usage == (100, 20)
    assert served.most_at_once == 4


async def test_no_more_at_once_than_is_allowed_and_no_more_a_minute(served: Served) -> None:
    served.latency_s = 0.02
    await a_model(served, max_concurrency=2).generate(a_request(rows=6))
    assert served.most_at_once == 2
    started = time.monotonic()
    await a_model(served, requests_per_minute=600).generate(a_request(rows=4))
    assert time.monotonic() - started >= 0.3


def test_one_model_serves_in_several_event_loops(served: Served) -> None:
    model = a_model(served, max_concurrency=1)
    replies = [asyncio.run(model.generate(a_request(rows=2)))[0].fields for _ in range(3)]
    assert replies[0] == replies[1] == replies[2]


async def test_a_server_without_schemas_is_asked_in_words(served: Served) -> None:
    served.knows_schemas = False
    model = a_model(served)
    assert len(await model.generate(a_request())) == 1
    await model.generate(a_request())
    assert ["response_format" in request for request in served.requests] == [True, False, False]


async def test_what_can_t_be_read_is_asked_for_again_and_all_of_it_is_counted(served: Served) -> None:
    served.failures = ["wrong_json", "half_json"]
    (reply,) = await a_model(served).generate(a_request())
    assert reply.usage == (300, 60)
    third = served.requests[-1]["messages"]
    assert [message["role"] for message in third] == ["user", "assistant", "user", "assistant", "user"]
    assert third[1]["content"] == "I'd rather not answer in that form."
    assert "there is no JSON object in it" in third[2]["content"]
    served.failures = ["wrong_json"] * 5
    with pytest.raises(ModelError, match=r"can be read, 5 times \(there is no JSON"):
        await a_model(served).generate(a_request())


# --- what fails -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", ["429", "500", "cut"])
async def test_what_fails_for_a_while_is_tried_again(served: Served, failure: str) -> None:
    served.failures = [failure] * 3
    assert len(await a_model(served, max_retries=3).generate(a_request())) == 1
    assert len(served.requests) == 4
    served.failures = [failure] * 4
    with pytest.raises(ModelError, match=r"4 times.*resume"):
        await a_model(served, max_retries=3).generate(a_request())


async def test_a_server_that_says_when_is_asked_then(served: Served) -> None:
    served.failures = ["429"]  # in 0.05 s
    started = time.monotonic()
    await a_model(served).generate(a_request())
    assert time.monotonic() - started >= 0.05


@pytest.mark.parametrize("retry_after", ["nan", "inf", "-inf", "-5", "0", "1e999", "soon", "", "Mon, 99 Foo 2026"])
async def test_a_retry_after_that_is_no_time_to_wait_leaves_the_back_off(served: Served, retry_after: str) -> None:
    served.failures, served.retry_after = ["429"] * 2, retry_after
    started = time.monotonic()
    await a_model(served).generate(a_request())
    assert time.monotonic() - started >= 0.015  # half of 0.01 s and half of 0.02 s
    assert len(served.requests) == 3


async def test_a_server_that_asks_for_too_much_patience_stops_the_run(served: Served) -> None:
    served.failures, served.retry_after = ["429"], "301"
    with pytest.raises(ModelError, match="over its limit"):
        await a_model(served).generate(a_request())
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


async def test_pacing_is_reported_and_waits_side_by_side_end_with_an_empty_text(served: Served) -> None:
    reported: list[Activity] = []
    model = open_chat_model(served.model, Parameters(requests_per_minute=300), None, reported.append)
    await model.generate(a_request(rows=3))
    texts = [activity.text for activity in reported]
    assert texts == [
        "waiting 0.2 s: at most 300 requests a minute",
        "waiting 0.4 s: at most 300 requests a minute",
        "waiting 0.4 s: at most 300 requests a minute",  # the shorter wait is over
        "",
    ]


@pytest.mark.parametrize(
    ("failure", "words"), [("quota", "over its limit"), ("400", "refuses the request .400: Unsupported value")]
)
async def test_what_fails_for_good_is_asked_once(served: Served, failure: str, words: str) -> None:
    served.failures = [failure]
    with pytest.raises(ModelError, match=words):
        await a_model(served).generate(a_request())
    assert len(served.requests) == 1


async def test_a_server_that_is_too_slow(served: Served) -> None:
    served.latency_s = 1.0
    with pytest.raises(ModelError, match=r"within 0.05 s \(2 times\); resume, or set request_timeout_s"):
        await a_model(served, request_timeout_s=0.05, max_retries=1).generate(a_request())


async def test_nobody_is_there(served: Served) -> None:
    model = open_chat_model(f"{served.address}#nobody", Parameters(), None)
    with pytest.raises(ModelError, match="nobody serves a model of that name"):
        await model.generate(a_request())
    model = open_chat_model("http://127.0.0.1:9/v1#x", Parameters(max_retries=1), None)
    with pytest.raises(ModelError, match=r"can't be reached.* \(2 times\)"):
        await model.generate(a_request())


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("openai:gpt", "set OPENAI_API_KEY"),
        ("openai:", "write openai:NAME"),
        ("opanai:gpt", "did you mean 'openai'"),
        ("groq:x", "pip install langchain-groq"),
        ("http://localhost:8000/v1", "#NAME"),
        ("http://me:secret@localhost/v1#x", "holds no key"),
        ("http://localhost/v1?key=secret#x", "holds no key"),
        ("http://#x", "http://HOST:PORT"),
        ("http://localhost:notaport/v1#x", "http://HOST:PORT"),
    ],
)
def test_names_that_lead_nowhere(name: str, problem: str) -> None:
    assert is_chat_name(name)
    with pytest.raises((UsageError, ModelError), match=problem) as raised:
        open_chat_model(name, Parameters(), KEY if name.startswith("groq") else None)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", ["smollm2", "rehearsal", "owner/name", "./folder", "/a/folder"])
def test_names_of_local_models_are_no_remote_ones(name: str) -> None:
    assert not is_chat_name(name)


async def test_only_text_can_be_had(served: Served) -> None:
    model, prompt = a_model(served), a_request().prompt
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
    model = a_model(served, KEY)
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
    await a_model(served).generate(a_request())
    assert KEY not in json.dumps(served.headers)


# --- runs -------------------------------------------------------------------------------------------------------------


async def a_meeting(model: ChatModel, store: SqliteStore, **settings: Any) -> None:
    chosen = {"max_turns": 3, "removal_factor": 0, "ending": "off", **settings}
    await drive(a_context(model, store, a_quay(), **chosen), InMemorySaver())  # type: ignore[arg-type]


async def test_a_meeting_goes_on_through_failures(served: Served) -> None:
    served.failure_rate, served.latency_s = 0.3, 0.05
    with SqliteStore.open(":memory:", create=True) as store:
        await a_meeting(a_model(served, max_retries=20), store)
        assert [turn.turn for turn in store.turns("k3f9")] == [1, 2, 3]
        calls = store.calls("k3f9")
        assert {len(call.replies) for call in calls} == {1}
        assert len(calls) == sum(served.answered.values())
        assert all(call.prompt_tokens and call.prompt_tokens % 100 == 0 for call in calls)
        assert served.most_at_once >= 3


async def test_no_call_is_paid_twice_after_a_kill(served: Served) -> None:
    with SqliteStore.open(":memory:", create=True) as store:
        for held_from in (5, 17, None):
            served.hold_from = held_from
            run = asyncio.create_task(a_meeting(a_model(served), store))
            while held_from is not None and not served.is_held(len(store.calls("k3f9"))):
                assert not run.done()
                await asyncio.sleep(0.01)
            if held_from is not None:
                run.cancel()
            await asyncio.gather(run, return_exceptions=held_from is not None)
        assert len(store.turns("k3f9")) == 3
        assert served.paid_twice == 0
        assert sum(served.answered.values()) == len(store.calls("k3f9"))


async def test_one_reply_that_fails_does_not_lose_the_others(served: Served) -> None:
    context = a_context(a_model(served, max_retries=0), None, a_quay())  # type: ignore[arg-type]
    model = context.asked_by("Ana", 1, "judge")
    served.failures = ["500"]
    with pytest.raises(ModelError, match="500"):
        await model.generate(a_request(rows=3))
    assert len(context.store.calls(context.run)) == 2
    context.broker.clear()
    assert len(await context.asked_by("Ana", 1, "judge").generate(a_request(rows=3))) == 3
    assert len(served.requests) == 4


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.loading.open_embedder", lambda *_: RehearsalEmbedder())


@pytest.mark.usefixtures("without_weights")
def test_a_run_by_the_command_line(cli: Cli, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    served.key = KEY
    monkeypatch.setenv("TERTULIA_SERVER_KEY", f" {KEY}\n")
    command = ("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", "--json")
    run = cli(*command).json["run"]
    shown = cli("show", run, "--json").json
    assert (shown["model"], len(shown["turns"])) == (served.model, 2)
    assert {name: shown["parameters"][name] for name in ("layout", "judge", "ending")} == {
        "layout": "single_message",
        "judge": "rating",
        "ending": "reply",
    }
    cost = cli("show", run, "--cost", "--price", f"{served.model}=2,10", "--json").json
    (by_model,) = cost["models"]
    assert by_model["prompt_tokens"] == 100 * by_model["calls"] == cost["total"]["prompt_tokens"]
    assert by_model["price"] == pytest.approx(by_model["calls"] * (100 * 2 + 20 * 10) / 1e6)
    assert served.model in cli("show", run, "--cost", "--price", f"{served.model}=2,10").out
    cli("show", run, "--cost", "--price", "2,10").complains(2, "MODEL=READ,WRITTEN")
    monkeypatch.setenv("TERTULIA_SERVER_KEY", "sk-wrong-and-secret")
    cli(*command).complains(1, "the key in TERTULIA_SERVER_KEY")
    monkeypatch.setenv("TERTULIA_SERVER_KEY", KEY)
    assert cli("resume", "@last", "--json").json["status"] == "finished"
    for file in tmp_path.glob("tertulia.db*"):
        assert b"sk-" not in file.read_bytes()


@pytest.mark.usefixtures("without_weights")
def test_what_needs_attention_is_refused_before_anything_is_paid(cli: Cli, served: Served) -> None:
    command = ("run", "tidewell", "--model", served.model)
    cli(*command, "--lambda", "0.5").complains(2, "surrogate=smollm2", "lambda=0")
    cli(*command, "--lambda", "0.5", "--dry-run").complains(2, "surrogate=smollm2")
    for name, word in (("openai:", "openai:NAME"), ("http://me:secret@localhost#parrot", "holds no key")):
        cli("run", "tidewell", "--model", name, "--lambda", "0", "--dry-run").complains(2, word)
    cli(*command, "--lambda", "0", "--set", "judge=likelihood").complains(2, "judge=rating")
    weighing = ("--set", "judge=likelihood", "--set", "inconsistency_threshold=1")
    cli(*command, "--lambda", "0.5", "--set", f"surrogate={served.model}").complains(2, "surrogate=smollm2")
    cli(*command, "--lambda", "0", *weighing).complains(2, "judge=rating", "judge_model=smollm2")
    parting = ("--set", "ending=continuation", "--set", "ending_threshold=0.5")
    cli(*command, "--lambda", "0", *parting).complains(2, "ending=reply")
    cli("run", "tidewell", "--model", "openai:gpt", "--lambda", "0").complains(1, "OPENAI_API_KEY")
    assert served.requests == []
    assert cli("runs", "--json").json["runs"] == []
    command = ("run", "tidewell", "--rounds", "1", "--model", served.model, "--set", "nodes.score=embedding_similarity")
    run = cli(*command, "--lambda", "0.5", "--json").json["run"]
    assert any(unit["removed"] for unit in cli("show", run, "--turn", "1", "--json").json["units"])


def test_doctor_says_who_can_be_asked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = cli("doctor")
    assert "OPENAI_API_KEY is set" in result.out
    assert KEY not in result.out
    assert cli("doctor", "--json").json["remote_models"]["openai"]["has_key"] is True
