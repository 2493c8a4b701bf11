"""Answers that no model gives: without an end, compressed, redirected; against servers that send them."""

import gc
import gzip
import itertools
import json
import threading
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from support.chat_case import KEY, SPEECH, a_request
from support.hostile_server import Hostile, answering, head

from tertulia.models.served.answer_limits import MOST_BYTES
from tertulia.models.served.chat import ChatModel, open_chat_model
from tertulia.state.errors import ModelError
from tertulia.state.parameters import Parameters

#: What may be on its way in buffers of both ends when a client hangs up.
BUFFERED = 16 * 2**20

#: More than any of these may take, in seconds.
LIMIT_S = 60

ZEROS = b"0" * 2**16
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "parrot",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": '{"Ana": "Yes."}'}}],
}
PLAIN = json.dumps(COMPLETION).encode()


def a_model(hostile: Hostile, key: str | None = None) -> ChatModel:
    return open_chat_model(hostile.model, Parameters(max_retries=2, request_timeout_s=LIMIT_S), key)


def chunked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


def a_bomb(megabytes: int) -> bytes:
    """Return so many megabytes of zeros as gzip: a thousandth of that."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(bytes(2**20)) for _ in range(megabytes)), packer.flush()])


ENDLESS: dict[str, Callable[[], Iterable[bytes]]] = {
    "until it is closed": lambda: [head(), *itertools.repeat(ZEROS, 4096)],
    "longer than announced": lambda: [head(Content_Length=str(2**40)), *itertools.repeat(ZEROS, 4096)],
    "in chunks": lambda: [head(Transfer_Encoding="chunked"), *chunked(itertools.repeat(ZEROS, 4096))],
    "blanks before the object": lambda: [head(), *itertools.repeat(b" " * 2**16, 4096), PLAIN],
    "in events": lambda: [
        head(Content_Type="text/event-stream"),
        *itertools.repeat(b"data: " + b'{"choices": []}\n\n' * 4000, 4096),
    ],
    "an error": lambda: [head("400 Bad Request"), *itertools.repeat(ZEROS, 4096)],
    "an error that may pass": lambda: [head("503 Busy", Retry_After="0"), *itertools.repeat(ZEROS, 4096)],
    "too many requests": lambda: [head("429 Busy"), *itertools.repeat(ZEROS, 4096)],
    "a redirect": lambda: [head("307 Elsewhere", Location="/v1/there"), *itertools.repeat(ZEROS, 4096)],
}


@pytest.mark.parametrize("answer", ENDLESS.values(), ids=ENDLESS)
async def test_an_answer_without_end_is_read_to_the_limit_and_asked_for_once(
    answer: Callable[[], Iterable[bytes]],
) -> None:
    with answering(lambda path: answer()) as hostile:
        with pytest.raises(ModelError) as raised:
            await a_model(hostile).generate(a_request())
        message = str(raised.value)
        assert message.startswith(f"{hostile.model} answered with more than 8 MiB")
        assert f"see what answers at {hostile.address}/v1/chat/completions" in message
        assert len(message.splitlines()) == 1
        assert len(hostile.paths) == 1
        assert MOST_BYTES / 2 < hostile.taken < MOST_BYTES + BUFFERED


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "503 Busy"])
@pytest.mark.parametrize("encoding", ["gzip", "GZIP, identity", "deflate", "br", "zstd", "identity, gzip"])
async def test_a_compressed_body_is_not_asked_for_and_not_unpacked(status: str, encoding: str) -> None:
    bomb = a_bomb(64)
    with answering(lambda path: [head(status, Content_Encoding=encoding), bomb]) as hostile:
        with pytest.raises(ModelError, match=r"parrot answered with a compressed body.*then resume"):
            await a_model(hostile).generate(a_request())
        assert hostile.headers[0]["accept-encoding"] == "identity"
        assert len(hostile.paths) == 1


@pytest.mark.parametrize("encoding", [None, "", "identity", "Identity"])
async def test_what_is_not_compressed_is_read(encoding: str | None) -> None:
    headers = {"Content_Type": "application/json", "Content_Length": str(len(PLAIN))}
    if encoding is not None:
        headers["Content_Encoding"] = encoding
    with answering(lambda path: [head(**headers), PLAIN]) as hostile:
        (reply,) = await a_model(hostile).generate(a_request(fields=SPEECH))
    assert reply.fields["Ana"] == "Yes."


async def test_headers_without_end_are_an_answer_that_breaks_off() -> None:
    def endless(path: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        for n in range(10**6):
            yield b"x-%d: y\r\n" % n

    with answering(endless) as hostile:
        with pytest.raises(ModelError, match=r"its answer breaks off \(3 times\)"):
            await a_model(hostile).generate(a_request())
        assert hostile.taken < BUFFERED


async def test_a_body_that_drips_is_cut_off_by_the_time_limit() -> None:
    gone = threading.Event()

    def drips(path: str) -> Iterator[bytes]:
        yield head()
        while not gone.wait(0.02):
            yield b" "

    with answering(drips) as hostile:
        model = open_chat_model(hostile.model, Parameters(max_retries=1, request_timeout_s=0.3), None)
        with pytest.raises(ModelError, match=r"did not answer within 0.3 s \(2 times\)"):
            await model.generate(a_request())
        gone.set()


# --- redirects --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize("location", ["{there}/v1/x", "//{host}/v1/x", "http://me:secret@{host}/v1/x?key=secret"])
async def test_no_prompt_and_no_key_follows_a_redirect_to_another_address(status: str, location: str) -> None:
    with answering(lambda path: [head("400 No")]) as there:
        target = location.format(there=there.address, host=there.address.removeprefix("http://"))
        with answering(lambda path: [head(status, Location=target, Content_Length="0")]) as here:
            with pytest.raises(ModelError) as raised:
                await a_model(here, KEY).generate(a_request("The secret of the lighthouse."))
            assert str(raised.value) == (
                f"{here.model} was asked at {here.address}/v1/chat/completions, which redirects to "
                f"{there.address}/v1/x; a prompt goes to no address that you did not name: name that one if it is right"
            )
            assert len(here.paths) == 1
        assert there.paths == []


@pytest.mark.parametrize("location", ["https://127.0.0.1:{port}/v1/x", "http://localhost:{port}/v1/x", "http:///x"])
async def test_another_scheme_another_name_or_port_is_another_address(location: str) -> None:
    with answering(lambda path: []) as hostile:
        target = location.format(port=hostile.address.rpartition(":")[2])
        hostile.answer = lambda path: [head("308 Permanent", Location=target, Content_Length="0")]
        with pytest.raises(ModelError, match="which redirects to"):
            await a_model(hostile, KEY).generate(a_request())
        assert len(hostile.paths) == 1


async def test_a_redirect_within_an_address_is_followed() -> None:
    def answer(path: str) -> list[bytes]:
        if path.endswith("/there"):
            return [head(Content_Type="application/json"), PLAIN]
        return [head("307 Temporary", Location="/v1/there", Content_Length="0")]

    with answering(answer) as hostile:
        (reply,) = await a_model(hostile).generate(a_request(fields=SPEECH))
        assert reply.fields["Ana"] == "Yes."
        assert hostile.bodies[0] == hostile.bodies[1] != b""


async def test_what_a_detour_comes_to_is_another_address_too() -> None:
    with answering(lambda path: [head("400 No")]) as there:

        def answer(path: str) -> list[bytes]:
            target = f"{there.address}/x" if path.endswith("/detour") else "/v1/detour"
            return [head("308 Permanent", Location=target, Content_Length="0")]

        with answering(answer) as here:
            with pytest.raises(ModelError, match="chat/completions, which redirects to"):
                await a_model(here).generate(a_request())
            assert len(here.paths) == 2
        assert there.paths == []


# --- cookies ----------------------------------------------------------------------------------------------------------


def baking(path: str) -> Iterator[bytes]:
    """An answer with a cookie of its own, which is to come back with each further request."""
    crumb = f"c{next(CRUMBS)}={'x' * 100}; Path=/; Max-Age=99999"
    yield from (head(Set_Cookie=crumb, Content_Type="application/json", Content_Length=str(len(PLAIN))), PLAIN)


CRUMBS = itertools.count()


async def test_no_cookie_comes_back_so_that_requests_do_not_grow_and_runs_are_not_linked() -> None:
    with answering(baking) as hostile:
        model = a_model(hostile)
        for _ in range(20):
            await model.generate_batch([a_request(fields=SPEECH, rows=100)])
        await a_model(hostile).generate(a_request(fields=SPEECH))
    heads = [sum(len(name) + len(value) for name, value in sent.items()) for sent in hostile.headers]
    assert len(heads) == 2001
    assert not any("cookie" in sent for sent in hostile.headers)
    assert max(heads) - min(heads) <= 2  # the digits of a length


async def test_no_cookie_goes_out_through_the_clients_of_langchain_but_those_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from langchain_openai import ChatOpenAI
    from langchain_openai.chat_models import _client_utils

    with answering(baking) as hostile:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{hostile.address}/v1")
        # LangChain keeps its client for good, with connections of another test's event loop, which is closed.
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            _client_utils._cached_async_httpx_client.cache_clear()
            gc.collect()
        model = open_chat_model("openai:parrot", Parameters(max_retries=0), KEY)
        for _ in range(3):
            await model.generate(a_request(fields=SPEECH))
        assert not any("cookie" in sent for sent in hostile.headers)
        beside: Any = ChatOpenAI(model="parrot", base_url=f"{hostile.address}/v1", api_key="none", max_retries=0)
        for _ in range(2):
            await beside.ainvoke("Hello")
        assert len(hostile.headers[-1]["cookie"]) < 120  # the one of the answer before
        await model.generate(a_request(fields=SPEECH))
        assert "cookie" not in hostile.headers[-1]


# --- beside Tertulia --------------------------------------------------------------------------------------------------


async def test_a_model_that_the_user_opens_beside_is_not_limited() -> None:
    from langchain_openai import ChatOpenAI

    packed = gzip.compress(PLAIN)
    headers = {"Content_Type": "application/json", "Content_Encoding": "gzip", "Content_Length": str(len(packed))}
    with answering(lambda path: [head(**headers), packed]) as hostile:
        a_model(hostile)
        beside: Any = ChatOpenAI(model="parrot", base_url=f"{hostile.address}/v1", api_key="none", max_retries=0)
        assert (await beside.ainvoke("Hello")).text == '{"Ana": "Yes."}'


def test_every_client_of_a_model_is_limited_once() -> None:
    from tertulia.models.served.answer_limits import _hooks, limit_answers
    from tertulia.models.served.langchain_client import LangChainClient

    model: Any = LangChainClient("openai", "parrot", Parameters(), KEY).model
    for _ in range(2):
        limit_answers(model)
    hooks = model.root_async_client._client.event_hooks
    assert {event: [hook for hook in hooks[event] if hook in added] for event, added in _hooks().items()} == _hooks()
