"""The broker: calls of agents that think at the same time meet in one batch, and are made once."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from support.dialogue_case import a_context
from support.meeting_case import a_quay
from support.scripted import ScriptedModel

from tertulia.models.batching import BatchingBroker
from tertulia.state.context import Context
from tertulia.state.errors import ModelError
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField
from tertulia.state.records import Prompt, Reply, Unit
from tertulia.storage.store import SqlStore


def a_prompt(text: str) -> Prompt:
    return Prompt(units=(Unit(id="q", block="task", kind="text", text=text),), speaker="Ana", layout="single_message")


def a_request(agent: str) -> GenerationRequest:
    rendered = RenderedPrompt((1, 2, 3), {"q": (0, 3)}, {"q": "task"}, source=a_prompt(agent))
    return GenerationRequest(rendered, (ReplyField("thought", "text"),), (random.Random(agent),), 0.8, 0.9)


class Bench:
    """A broker, and agents that make a number of calls in a round, each after a number of turns of the event loop."""

    def __init__(self, model: ScriptedModel | None = None, store: SqlStore | None = None) -> None:
        self.context: Context = a_context(model or ScriptedModel(), store, a_quay())
        self.model = self.context.model
        self.broker = BatchingBroker("k3f9", self.context.store)

    async def call(self, agent: str, node: str = "assess", part: str = "") -> list[Reply]:
        asked = self.broker.asked_by(self.model, agent, 1, node, part)
        return await asked.generate(a_request(f"{agent} {node}"))

    async def think(self, agent: str, calls: int, idle: int = 0) -> list[list[Reply]]:
        replies = []
        for call in range(calls):
            for _ in range(idle * (call + 1)):
                await asyncio.sleep(0)
            replies.append(await self.call(agent, f"step {call}"))
        self.broker.leave(agent)
        return replies

    @property
    def batches(self) -> list[int]:
        """How many requests each batch held."""
        return [len(requests) for requests in self.model.asked("generate_batch")]


@pytest.mark.parametrize("idle", [(0, 0, 0), (0, 3, 9), (9, 0, 3)])
async def test_batches_do_not_depend_on_who_is_faster(idle: Sequence[int]) -> None:
    bench = Bench()
    bench.broker.seat(1, ("Ana", "Bo", "Cy"))
    calls = {"Ana": 3, "Bo": 1, "Cy": 2}
    await asyncio.gather(*(bench.think(name, calls[name], idle[at]) for at, name in enumerate(calls)))
    assert bench.batches == [3, 2, 1]
    agents = [[request.generators[0] for request in batch] for batch in bench.model.asked("generate_batch")]
    assert [len(batch) for batch in agents] == [3, 2, 1]
    stored = bench.context.store.calls("k3f9", 1)
    assert [(call.agent, call.node) for call in stored] == [
        ("Ana", "step 0"),
        ("Bo", "step 0"),
        ("Cy", "step 0"),
        ("Ana", "step 1"),
        ("Cy", "step 1"),
        ("Ana", "step 2"),
    ]


async def test_parts_of_an_agent_call_side_by_side() -> None:
    bench = Bench()
    bench.broker.seat(1, ("Ana", "Bo"))

    async def ana() -> None:
        async def part(name: str, calls: bool) -> None:
            if calls:
                await bench.call("Ana", name, name)
            bench.broker.leave("Ana", name)

        with bench.broker.split("Ana", ("memory", "clock", "topic")):
            await asyncio.gather(part("memory", True), part("clock", False), part("topic", True))
        await bench.call("Ana")
        bench.broker.leave("Ana")

    await asyncio.gather(ana(), bench.think("Bo", 2))
    assert bench.batches == [3, 2]


async def test_between_its_steps_an_agent_is_waited_for() -> None:
    """Ana's parts make no calls: Bo's call must not run alone while she is on her way to the next step."""
    bench = Bench()
    bench.broker.seat(1, ("Ana", "Bo"))

    async def ana() -> None:
        async def part(name: str) -> None:
            await asyncio.sleep(0)
            bench.broker.leave("Ana", name)

        with bench.broker.split("Ana", ("clock",)):
            await asyncio.gather(part("clock"))
            for _ in range(5):
                await asyncio.sleep(0)
        await bench.call("Ana")
        bench.broker.leave("Ana")

    await asyncio.gather(ana(), bench.think("Bo", 1))
    assert bench.batches == [2]


async def test_a_stored_call_is_not_made_again() -> None:
    store = SqlStore.open(":memory:")
    first = Bench(store=store)
    first.broker.seat(1, ("Ana",))
    made = await first.think("Ana", 2)
    again = BatchingBroker("k3f9", store)
    again.seat(1, ("Ana",))
    first.broker, first.model.calls = again, []
    assert await first.think("Ana", 2) == made
    assert first.batches == []


async def test_half_a_round_that_was_stored_leaves_the_other_batches_as_they_were() -> None:
    """After a crash behind the first batch, the second one holds who it would have held."""
    store = SqlStore.open(":memory:")
    bench = Bench(ScriptedModel(fails_at=4), store)  # one call for the batch, one for each of its two requests
    bench.broker.seat(1, ("Ana", "Bo"))
    results = await asyncio.gather(bench.think("Ana", 2), bench.think("Bo", 2), return_exceptions=True)
    assert [type(result) for result in results] == [ModelError, ModelError]
    assert len(store.calls("k3f9")) == 2
    bench.model = ScriptedModel()
    bench.broker = BatchingBroker("k3f9", store)
    bench.broker.seat(1, ("Ana", "Bo"))
    await asyncio.gather(bench.think("Ana", 2), bench.think("Bo", 2))
    assert bench.batches == [2]
    assert len(store.calls("k3f9")) == 4


async def test_a_failure_reaches_every_waiting_seat() -> None:
    bench = Bench(ScriptedModel(fails_at=1))
    bench.broker.seat(1, ("Ana", "Bo"))
    results = await asyncio.gather(bench.call("Ana"), bench.call("Bo"), return_exceptions=True)
    assert [type(result) for result in results] == [ModelError, ModelError]
    assert bench.context.store.calls("k3f9") == []


async def test_each_model_has_its_own_batch() -> None:
    bench, second_model = Bench(), ScriptedModel()
    bench.broker.seat(1, ("Ana", "Bo", "Cy"))

    async def with_second_model(agent: str) -> list[Reply]:
        return await bench.broker.asked_by(second_model, agent, 1, "assess").generate(a_request(agent))

    await asyncio.gather(bench.call("Ana"), with_second_model("Bo"), bench.call("Cy"))
    assert bench.batches == [2]
    assert [len(requests) for requests in second_model.asked("generate_batch")] == [1]
