"""Servers as they are: each refuses, fails, cuts and streams in words of its own; a run goes on, and records it."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.chat_case import a_request
from support.commands import Cli
from support.protocol_server import Served, values_for

from tertulia.models.served import chat_errors
from tertulia.models.served.chat import ChatModel, open_chat_model
from tertulia.models.served.server_answers import cut_note, read_chat_answer
from tertulia.models.served.servers import Server
from tertulia.state.errors import ContextWindowError, ModelError
from tertulia.state.language_model import Activity, GenerationRequest
from tertulia.state.parameters import Parameters

Told = list[str]
SAMPLING = {"temperature": 0.8, "top_p": 0.9, "min_p": 0.0, "top_k": -1, "repeat_penalty": 1, "repetition_penalty": 1}


def a_model(served: Served) -> tuple[ChatModel, Told]:
    """Return the model of a server, and the notes that it tells."""
    told: Told = []

    def report(activity: Activity) -> None:
        if activity.is_note:
            told.append(activity.text.removeprefix(f"{served.model} "))

    return open_chat_model(served.model, Parameters(max_retries=2), None, report), told


def an_answer(request: dict[str, Any], **message: Any) -> dict[str, Any]:
    """Return a whole answer."""
    said = {"role": "assistant", "content": json.dumps(values_for(request))} | message
    return {"choices": [{"message": said, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}


def in_turns() -> GenerationRequest:
    """Return a request with a message of the system."""
    return a_request("You are Ana.", layout="chat_turns")


# --- sampling ---------------------------------------------------------------------------------------------------------


async def test_all_that_is_recorded_is_sent_and_the_rest_is_off(served: Served) -> None:
    model, told = a_model(served)
    (reply,) = await model.generate(replace(a_request(), temperature=1.0, top_p=1.0, min_p=0.1))
    (sent,) = served.requests
    assert {name: sent[name] for name in SAMPLING} == SAMPLING | {"temperature": 1, "top_p": 1, "min_p": 0.1}
    assert sent["samplers"] == ["top_k", "temperature", "top_p", "min_p"]
    assert (reply.unsent, told) == ((), [])


def forbidden(*names: str) -> dict[str, Any]:
    details = [
        {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"} for name in names
    ]
    return {"object": "error", "message": {"detail": details}, "code": None}


REFUSALS: dict[str, tuple[int, Callable[[list[str]], Any]]] = {
    "by place": (422, lambda names: forbidden(*names)),
    "FastAPI's": (422, lambda names: {"detail": forbidden(*names)["message"]["detail"]}),
    "in words": (422, lambda names: {"detail": f"Unknown fields: {set(names)}"}),
    "by parameter": (400, lambda names: {"error": {"message": "No.", "param": names[0], "code": "unsupported"}}),
    "with status 200": (200, lambda names: {"error": f"unknown parameter {names[0]}"}),
}


@pytest.mark.parametrize("way", REFUSALS)
@pytest.mark.parametrize("names", [["seed"], ["min_p", "top_k", "samplers"], ["temperature"], ["repeat_penalty"]])
async def test_a_refused_parameter_is_left_out_told_once_and_unknown(
    served: Served, way: str, names: list[str]
) -> None:
    status, body = REFUSALS[way]

    def refuse(request: dict[str, Any]) -> tuple[int, Any] | None:
        found = [name for name in names if name in request]
        return (status, body(found)) if found else None

    served.instead = refuse
    model, told = a_model(served)
    replies = [reply for _ in range(2) for reply in await model.generate(a_request(rows=2))]
    assert [reply.unsent for reply in replies] == [tuple(sorted(names))] * 4
    assert not {*names} & served.requests[-1].keys()
    assert {*SAMPLING, "seed", "samplers"} - {*names} <= served.requests[-1].keys()
    assert sorted(note.split(" ")[1] for note in told) == sorted(names)
    assert served.requests[-1]["response_format"]


async def test_top_k_is_off_at_0_for_a_server_that_refuses_less(served: Served) -> None:
    served.instead = lambda request: (400, {"error": "top_k must be at least 0"}) if request["top_k"] < 0 else None
    model, told = a_model(served)
    (reply,) = await model.generate(a_request())
    assert (served.requests[-1]["top_k"], reply.unsent, told) == (0, (), [])


async def test_a_server_of_transformers_is_sent_a_generation_config(served: Served) -> None:
    unknown = {"min_p", "top_k", "samplers", "repeat_penalty", "repetition_penalty"}

    def refuse(request: dict[str, Any]) -> tuple[int, Any] | None:
        found = unknown & request.keys()
        return (422, {"detail": f"Unexpected fields in the request: {found}"}) if found else None

    served.instead = refuse
    model, told = a_model(served)
    (reply,) = await model.generate(replace(a_request(), min_p=0.1))
    config = {"do_sample": True, "temperature": 0.8, "top_p": 0.9, "min_p": 0.1, "top_k": 0, "repetition_penalty": 1}
    assert json.loads(served.requests[-1]["generation_config"]) == config
    assert (reply.unsent, len(told)) == ((), 1)


@pytest.mark.parametrize("words", ["temperature must be between 0 and 1", "top_p must be in (0, 1], got 0.9"])
async def test_a_value_out_of_range_is_the_user_s_to_set(served: Served, words: str) -> None:
    served.instead = lambda request: (400, {"error": {"message": words, "param": words.split()[0]}})
    with pytest.raises(ModelError, match="refuses the request"):
        await a_model(served)[0].generate(a_request())


async def test_of_two_that_exclude_each_other_temperature_stays(served: Served) -> None:
    words = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    served.instead = lambda request: (400, {"error": {"message": words}}) if "top_p" in request else None
    (reply,) = await a_model(served)[0].generate(a_request())
    assert (reply.unsent, served.requests[-1]["temperature"]) == (("top_p",), 0.8)


@pytest.mark.parametrize("refused", ["max_tokens", "max_completion_tokens"])
async def test_a_limit_has_the_name_that_a_server_takes(served: Served, refused: str) -> None:
    (other,) = {"max_tokens", "max_completion_tokens"} - {refused}
    error = {"message": f"Unsupported parameter: '{refused}' is not supported. Use '{other}' instead."}
    served.instead = lambda request: (400, {"error": error}) if refused in request else None
    await open_chat_model(served.model, Parameters(max_reply_tokens=64), None).generate(a_request())
    assert (served.requests[-1].get(refused), served.requests[-1][other]) == (None, 64)


def test_a_run_records_what_was_not_taken_as_unknown_and_resumed_says_so_again(cli: Cli, served: Served) -> None:
    names = ("seed", "top_p")

    def refuse(request: dict[str, Any]) -> tuple[int, Any] | None:
        return (422, forbidden(*names)) if "seed" in request else None

    served.instead = refuse
    run = cli("run", "tidewell", "--rounds", "1", "--model", served.model, "--lambda", "0", "--json").json["run"]
    for _ in range(2):
        shown = cli("show", run, "--json").json
        assert (shown["parameters"]["top_p"], shown["parameters"]["temperature"]) == (None, 0.8)
        assert shown["unsent"] == {served.model: ["seed", "top_p"]}
        assert f"unknown, as {served.model} was not sent them: seed, top_p" in re.sub(r"\s+", " ", cli("show", run).out)
        first = json.loads(cli("export", run, "--format", "jsonl").out.splitlines()[0])
        assert first["unsent"] == shown["unsent"]
        cli("fork", run, "--at", "2", "--rounds", "2")
        run = "@last"


# --- the form of a request --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "System role not supported"),
        (500, "Jinja Exception: System role not supported"),
        (400, "Developer instruction is not enabled for models/gemma-3-1b-it"),
        (400, "Only user and assistant roles are supported!"),
        (400, "This model does not support system messages"),
    ],
)
async def test_a_system_message_that_is_refused_begins_the_user_s_first(
    served: Served, status: int, words: str
) -> None:
    served.instead = lambda request: (
        (status, {"error": {"code": status, "message": words}}) if request["messages"][0]["role"] == "system" else None
    )
    model, told = a_model(served)
    await model.generate(in_turns())
    (message,) = served.requests[-1]["messages"]
    assert message["role"] == "user"
    assert message["content"].startswith("You are Ana.\n")
    assert ["refuses system messages" in note for note in told] == [True]


async def test_roles_alternate_for_a_server_that_wants_them_to(served: Served) -> None:
    def refuse(request: dict[str, Any]) -> tuple[int, Any] | None:
        roles = [message["role"] for message in request["messages"]]
        is_taken = roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
        return None if is_taken else (400, {"message": "Conversation roles must alternate user/assistant/…"})

    served.instead = refuse
    served.failures = ["wrong_json"]
    model, told = a_model(served)
    await model.generate(in_turns())
    assert [message["role"] for message in served.requests[-1]["messages"]] == ["user", "assistant", "user"]
    assert len(told) == 1


@pytest.mark.parametrize(
    "words",
    [
        "response_format is not supported",
        "structured outputs need xgrammar",
        "Failed to parse grammar",
        "JSON mode is off",
    ],
)
async def test_a_schema_that_is_refused_is_told_in_words_alone_and_noted(served: Served, words: str) -> None:
    served.instead = lambda request: (400, {"error": {"message": words}}) if "response_format" in request else None
    model, told = a_model(served)
    await model.generate(a_request(rows=3))
    assert "response_format" not in served.requests[-1]
    assert told == [f"refuses JSON Schema ({words}); the form of replies is asked for in words alone from now on"]


# --- answers ----------------------------------------------------------------------------------------------------------


def events(request: dict[str, Any], ends: bool = True) -> bytes:
    """Return an answer as a stream, a letter of the answer an event, after some reasoning."""
    deltas = [{"reasoning_content": "Think. "}, {"reasoning_content": "Speak.", "content": None}]
    deltas += [{"content": letter} for letter in json.dumps(values_for(request))]
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.insert(0, {"choices": [{"index": 1, "delta": {"content": "another"}}]})
    if ends:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks.append({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}})
    lines = [": a comment", *(f"data: {json.dumps(chunk)}" for chunk in chunks), *["data: [DONE]"] * ends]
    return "\r\n\r\n".join([*lines, ""]).encode()


async def test_a_stream_is_read_whatever_was_asked(served: Served) -> None:
    served.instead = lambda request: (200, events(request))
    (reply,) = await a_model(served)[0].generate(a_request())
    assert reply.fields == values_for(served.requests[0])
    assert reply.usage == (11, 7)
    assert served.requests[0]["stream"] is False


async def test_a_server_of_streams_alone_is_asked_for_them(served: Served) -> None:
    words = "This model only support stream mode, please enable the stream parameter to access the model."

    def answer(request: dict[str, Any]) -> tuple[int, Any]:
        return (200, events(request)) if request["stream"] else (400, {"error": {"message": words}})

    served.instead = answer
    model, told = a_model(served)
    await model.generate(a_request())
    await model.generate(a_request())
    assert [request["stream"] for request in served.requests] == [False, True, True]
    assert ["streams only" in note for note in told] == [True]


async def test_a_stream_that_breaks_off_is_asked_for_again(served: Served) -> None:
    served.instead = lambda request: (200, events(request, ends=len(served.requests) > 1))
    assert len(await a_model(served)[0].generate(a_request())) == 1
    assert len(served.requests) == 2


@pytest.mark.parametrize("is_stream", [False, True])
async def test_an_error_in_an_answer_is_one_in_the_server_s_words(served: Served, is_stream: bool) -> None:
    told: dict[str, Any] = {"error": {"message": "upstream is out of memory", "code": 502}}
    body: Any = b"data: " + json.dumps(told).encode() + b"\n\n" if is_stream else told
    served.instead = lambda request: (200, body) if len(served.requests) < 3 else None
    assert len(await a_model(served)[0].generate(a_request())) == 1
    served.instead = lambda request: (200, {"error": "no credits"})
    with pytest.raises(ModelError, match=r"answers with an error \(no credits\)"):
        await a_model(served)[0].generate(a_request())


async def test_the_arguments_of_a_tool_are_an_answer(served: Served) -> None:
    def answer(request: dict[str, Any]) -> tuple[int, Any]:
        call = {
            "id": "1",
            "type": "function",
            "function": {"name": "json", "arguments": json.dumps(values_for(request))},
        }
        return 200, an_answer(request, content=None, tool_calls=[call])

    served.instead = answer
    (reply,) = await a_model(served)[0].generate(a_request())
    assert reply.fields == values_for(served.requests[0])


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": "I think."},
        {"reasoning": "I think.", "reasoning_content": None},
        {"reasoning_details": [{"type": "reasoning.text", "text": "I think."}]},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "I think."}]},
                {"type": "text", "text": "Hi"},
            ]
        },
        {"content": [{"type": "reasoning", "reasoning": "I think."}, "Hi"]},
    ],
)
def test_reasoning_is_a_thought_and_no_text(message: dict[str, Any]) -> None:
    answer = read_chat_answer({"choices": [{"message": {"content": "Hi", **message}, "finish_reason": "length"}]})
    assert (answer.text, answer.thought, answer.finish) == ("Hi", "I think.", "length")


@pytest.mark.parametrize("nonsense", [7, [7], {"a": 1}, [[[[[[[["deep"]]]]]]]], None, True])
def test_reasoning_and_calls_of_any_shape_are_data(nonsense: Any) -> None:
    message = {"content": "Hi", "reasoning": nonsense, "reasoning_details": nonsense, "tool_calls": nonsense}
    answer = read_chat_answer({"choices": [{"message": message, "finish_reason": nonsense}]})
    assert (answer.text, answer.thought, answer.finish) == ("Hi", "", "")
    assert read_chat_answer({"choices": [{"message": message | {"content": None}}]}).thought == ""


@pytest.mark.parametrize(
    ("characters", "tokens", "is_cut"),
    [(4995, 512, True), (4995, 1200, False), (4995, 4000, False), (900, 10, False), (4995, 0, False)],
)
def test_a_prompt_that_was_cut_without_a_word_is_noted(characters: int, tokens: int, is_cut: bool) -> None:
    assert bool(cut_note(characters, tokens)) == is_cut


# --- errors -----------------------------------------------------------------------------------------------------------

OVERFLOWS = {
    "llama.cpp": {
        "code": 400,
        "message": "the request exceeds the available context size. try increasing the context size",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 5012,
        "n_ctx": 4096,
    },
    "OpenAI": {"message": "Too long.", "code": "context_length_exceeded"},
    "vLLM": {"message": "The decoder prompt (length 5012) is longer than the maximum model length of 4096."},
    "vLLM, older": {
        "message": "This model's maximum context length is 4096 tokens. However, you requested 5012 tokens"
    },
    "SGLang": {"message": "The input (5012 tokens) is longer than the model's context length (4096 tokens)."},
    "LM Studio": {
        "message": "Trying to keep the first 5012 tokens when context the overflows. However, the model is loaded with "
        "context length of only 4096 tokens, which is not enough."
    },
    "TGI": {"message": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5012"},
    "Anthropic": {"message": "prompt is too long: 5012 tokens > 4096 maximum"},
    "Mistral": {"message": "Prompt contains 5012 tokens, too large for model with 4096 maximum context length"},
    "llama-cpp-python": {"message": "Requested tokens (5012) exceed context window of 4096"},
    "Google": {"message": "The input token count (5012) exceeds the maximum number of tokens allowed (4096)."},
}


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("server", OVERFLOWS)
async def test_a_prompt_that_does_not_fit_leads_to_a_shorter_one(served: Served, server: str, status: int) -> None:
    served.instead = lambda request: (status, {"error": OVERFLOWS[server]})
    with pytest.raises(ContextWindowError, match="set memory_items_max or dialogue_window lower") as raised:
        await a_model(served)[0].generate(a_request())
    assert len(served.requests) == 1
    if server == "llama.cpp":
        assert "5012 tokens of the prompt, 4096 of the window" in str(raised.value)


@pytest.mark.parametrize(
    "words", ["Request too large: tokens per minute limit 6000", "no context was given", "bad prompt"]
)
async def test_other_refusals_are_no_overflow(served: Served, words: str) -> None:
    served.instead = lambda request: (400, {"error": {"message": words}})
    with pytest.raises(ModelError, match="refuses the request") as raised:
        await a_model(served)[0].generate(a_request())
    assert not isinstance(raised.value, ContextWindowError)


async def test_a_model_that_is_being_loaded_is_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_errors, "LOADING_WAIT_S", 0.01)
    loading = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    served.instead = lambda request: (503, loading) if len(served.requests) < 9 else None
    told: Told = []
    model = open_chat_model(served.model, Parameters(max_retries=0), None, lambda activity: told.append(activity.text))
    assert len(await model.generate(a_request())) == 1
    assert told[0] == f"the server of {served.model} loads it; asked again in 0.0 s"


@pytest.mark.parametrize(
    "body", [[], "x", 7, None, {"error": 7}, {"error": {"message": {"a": []}}}, {"detail": [7]}, {}]
)
@pytest.mark.parametrize("status", [400, 418, 422])
async def test_an_error_of_any_shape_is_one_line(served: Served, status: int, body: Any) -> None:
    served.instead = lambda request: (status, body)
    with pytest.raises(ModelError) as raised:
        await a_model(served)[0].generate(a_request())
    assert len(str(raised.value).splitlines()) == 1


# --- providers --------------------------------------------------------------------------------------------------------


async def test_a_provider_that_refuses_temperature_is_not_sent_it(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", served.address)
    error = {
        "message": "Unsupported value: 'temperature' does not support 0.8 with this model.",
        "param": "temperature",
        "code": "unsupported_value",
    }
    served.instead = lambda request: (400, {"error": error}) if "temperature" in request else None
    model = open_chat_model("openai:parrot", Parameters(), "a-key")
    replies = [*await model.generate(a_request()), *await model.generate(a_request())]
    assert [reply.unsent for reply in replies] == [("temperature",)] * 2
    assert ["temperature" in request for request in served.requests] == [True, False, False]
    assert served.requests[-1]["top_p"] == 0.9
    served.instead = lambda request: None
    model = open_chat_model("openai:parrot", Parameters(), "a-key")
    await model.generate(replace(a_request(), temperature=1.0, top_p=1.0))
    assert (served.requests[-1]["temperature"], served.requests[-1]["top_p"]) == (1, 1)


async def test_why_a_provider_s_answer_ends_and_its_reasoning_are_read(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tertulia.models.served.langchain_client import LangChainClient

    monkeypatch.setenv("OPENAI_BASE_URL", served.address)
    client = LangChainClient("openai", "parrot", Parameters(), "a-key")
    told = {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "length", "index": 0}
    served.instead = lambda request: (200, {"id": "1", "choices": [told], "usage": None, "model": "parrot"})
    answer = await client.answer(Server(), [("user", "Hello.")], None, {})
    assert (answer.text, answer.finish, answer.thought) == ("Hi", "length", "")
