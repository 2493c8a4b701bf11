"""One model on several servers: how requests are spread, what happens when one is gone, and whose key is sent where."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chat_case import KEY, a_request
from support.commands import Cli
from support.protocol_server import Served, serving, values_for

from tertulia.models.served.chat import ChatModel, open_chat_model
from tertulia.models.served.chat_names import is_same_served, keys_of_servers, places_of, split_addresses
from tertulia.models.served.servers import Server, ServerPool
from tertulia.state.errors import ModelError, UsageError
from tertulia.state.parameters import Parameters

DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Served]]:
    monkeypatch.setattr("tertulia.models.served.chat_errors.FIRST_WAIT_S", 0.01)
    with ExitStack() as stack:
        yield [stack.enter_context(serving()) for _ in range(3)]


def name_of(*servers: Served | str) -> str:
    addresses = [server if isinstance(server, str) else server.address for server in servers]
    return f"{','.join(addresses)}#parrot"


def a_model(*servers: Served | str, key: str | None = None, **limits: Any) -> ChatModel:
    return open_chat_model(name_of(*servers), Parameters(**{"max_retries": 3, **limits}), key)


async def test_requests_are_spread_and_each_server_has_its_limit(three: list[Served]) -> None:
    for server in three:
        server.latency_s = 0.1
    await a_model(*three, max_concurrency=2).generate(a_request(rows=12))
    assert [server.most_at_once for server in three] == [2, 2, 2]
    assert min(len(server.requests) for server in three) >= 2


async def test_a_slow_server_gets_less(three: list[Served]) -> None:
    three[0].latency_s = 0.5
    await a_model(*three, max_concurrency=1).generate(a_request(rows=15))
    assert len(three[0].requests) < 4 <= min(len(server.requests) for server in three[1:])


async def test_one_of_three_that_is_dead_costs_no_wait_and_is_left_alone(three: list[Served]) -> None:
    model = a_model(DEAD, *three[:2], max_retries=2)
    for _ in range(3):
        assert len(await model.generate(a_request(rows=10))) == 10
    assert sum(len(server.requests) for server in three) == 30


async def test_what_one_server_fails_at_is_asked_of_another(three: list[Served]) -> None:
    for server in three:
        server.failures = ["500", "429", "cut"] * 2
    assert len(await a_model(*three, max_retries=12).generate(a_request(rows=20))) == 20
    answered = [key for server in three for key in server.answered]
    assert len(answered) == len(set(answered)) == 20


async def test_all_are_dead_and_the_line_names_one_server() -> None:
    with pytest.raises(ModelError, match=r"^http://127.0.0.1:\d/v1#parrot can't be reached.*\(2 times\)"):
        await a_model(DEAD, "http://127.0.0.1:7/v1", max_retries=1).generate(a_request())


async def test_a_server_with_another_model_is_named(three: list[Served]) -> None:
    three[1].models = ("owl",)
    with pytest.raises(ModelError, match=f"{three[1].address}#parrot: nobody serves a model of that name"):
        await a_model(*three[:2]).generate(a_request(rows=2))


async def test_a_key_with_an_origin_goes_to_no_other_server(three: list[Served]) -> None:
    keys = [f"{KEY}-{number}" for number in range(2)]
    pairs = " ".join(f"{server.address.removesuffix('/v1')}={key}" for server, key in zip(three, keys, strict=False))
    three[0].key, three[1].key = keys
    model = a_model(*three, key=pairs)
    await model.generate(a_request(rows=9))
    sent = [{headers.get("authorization") for headers in server.headers} for server in three]
    assert sent == [{f"Bearer {keys[0]}"}, {f"Bearer {keys[1]}"}, {None}]
    three[0].key = "another"
    with pytest.raises(ModelError) as raised:
        await model.generate(a_request(rows=3))
    assert not [key for key in keys if key in f"{raised.value} {model!r} {vars(model)} {vars(model._requests)}"]


async def test_a_queue_that_is_cancelled_keeps_no_place() -> None:
    pool = ServerPool([Server("a"), Server("b")], at_once=1)
    taken = [await pool.take() for _ in range(2)]
    waiting = [asyncio.create_task(pool.take()) for _ in range(4)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    pool.give_back(taken[0])
    waiting[1].cancel()  # it has just been given its place
    await asyncio.sleep(0)
    assert await waiting[2] is taken[0]
    pool.give_back(taken[1])
    assert await waiting[3] is taken[1]


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=60), st.integers(1, 4))
def test_no_server_ever_has_more_than_it_may(steps: list[tuple[int, bool]], at_once: int) -> None:
    async def play() -> None:
        pool = ServerPool([Server(name) for name in "abc"], at_once)
        asked = [asyncio.ensure_future(pool.take()) for _ in range(20)]
        for number, fails in steps:
            await asyncio.sleep(0)
            done = [task for task in asked if task.done()]
            assert all(server.in_flight <= at_once for server in pool.servers)
            if done:
                asked.remove(task := done[number % len(done)])
                (pool.note_failure if fails else pool.note_success)(task.result())
                pool.give_back(task.result())
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(play())


def test_names_of_several_servers() -> None:
    name = "http://one:8000/v1,https://two/v1/#m"
    assert split_addresses(name) == (["http://one:8000/v1", "https://two/v1"], "m")
    assert places_of(name) == ["http://one:8000", "https://two:443"]
    assert is_same_served(name, "http://three/v1#m")
    assert not is_same_served(name, "http://one:8000/v1#n")
    assert keys_of_servers(["http://one/v1"], KEY) == {"http://one/v1": KEY}
    for wrong, words in (
        ("http://one/v1,two/v1#m", "is not one"),
        ("http://one/v1,http://one/v1#m", "named twice"),
        ("http://one/v1,http://me:secret@two/v1#m", "holds no key"),
        ("http://one/v1,http://two/v1", "#NAME"),
        ("http://one/v1,#m", "is not one"),
    ):
        with pytest.raises(UsageError, match=words):
            split_addresses(wrong)


@pytest.mark.usefixtures("without_weights")
def test_a_run_goes_on_at_other_servers(cli: Cli, three: list[Served]) -> None:
    here, there, stranger = three
    here.answer = lambda request: json.dumps(values_for(request)) if len(here.requests) < 3 else "no"
    settings = ("--rounds", "4", "--lambda", "0", "--set", "ending=off")
    command = ("run", "tidewell", *settings, "--json", "--model", name_of(here))
    cli(*command).complains(1, "no reply that can be read")
    cli("resume", "@last", "--model", f"{there.address}#owl").complains(2, "to change the model, fork")
    assert cli("resume", "@last", "--model", name_of(there, stranger), "--json").json["turns"] == 4
    run = cli("show", "@last", "--json").json
    assert run["model"] == name_of(here)
    assert sum(sum(server.answered.values()) for server in (there, stranger)) == 2
