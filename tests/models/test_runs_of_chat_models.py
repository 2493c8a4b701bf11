"""Runs with remote models: they go on through failures, pay for nothing twice, and keep keys out of the store."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.chat_case import KEY, a_chat_model, a_request
from support.commands import Cli
from support.dialogue_case import a_context
from support.meeting_case import a_quay
from support.protocol_server import Served

from tertulia.models.served.chat import ChatModel
from tertulia.runs.driving.conversation import drive
from tertulia.state.errors import ModelError
from tertulia.storage.store import SqlStore


async def hold_meeting(model: ChatModel, store: SqlStore, **settings: Any) -> None:
    chosen = {"max_turns": 3, "removal_factor": 0, "ending": "off", **settings}
    await drive(a_context(model, store, a_quay(), **chosen), InMemorySaver())  # type: ignore[arg-type]


async def test_a_meeting_goes_on_through_failures(served: Served) -> None:
    served.failure_rate, served.latency_s = 0.3, 0.05
    with SqlStore.open(":memory:", create=True) as store:
        await hold_meeting(a_chat_model(served, max_retries=20), store)
        assert [turn.turn for turn in store.turns("k3f9")] == [1, 2, 3]
        calls = store.calls("k3f9")
        assert {len(call.replies) for call in calls} == {1}
        assert len(calls) == sum(served.answered.values())
        assert all(call.prompt_tokens and call.prompt_tokens % 100 == 0 for call in calls)
        assert served.most_at_once >= 3


async def test_no_call_is_paid_twice_after_a_kill(served: Served) -> None:
    with SqlStore.open(":memory:", create=True) as store:
        for held_from in (5, 17, None):
            served.hold_from = held_from
            run = asyncio.create_task(hold_meeting(a_chat_model(served), store))
            checks = 0
            while held_from is not None and checks < 25:  # and not once: a request may have been sent and not arrived
                assert not run.done()
                checks = checks + 1 if served.is_held(len(store.calls("k3f9"))) else 0
                await asyncio.sleep(0.01)
            if held_from is not None:
                run.cancel()
            await asyncio.gather(run, return_exceptions=held_from is not None)
        assert len(store.turns("k3f9")) == 3
        assert served.paid_twice == 0
        assert sum(served.answered.values()) == len(store.calls("k3f9"))


async def test_one_reply_that_fails_does_not_lose_the_others(served: Served) -> None:
    context = a_context(a_chat_model(served, max_retries=0), None, a_quay())  # type: ignore[arg-type]
    model = context.asked_by("Ana", 1, "judge")
    served.failures = ["500"]
    with pytest.raises(ModelError, match="500"):
        await model.generate(a_request(rows=3))
    assert len(context.store.calls(context.run)) == 2
    context.broker.clear()
    assert len(await context.asked_by("Ana", 1, "judge").generate(a_request(rows=3))) == 3
    assert len(served.requests) == 4


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
    cli(*command, "--lambda", "0.5").complains(2, "surrogate=smollm2", "--lambda 0")
    cli(*command, "--lambda", "0.5", "--dry-run").complains(2, "surrogate=smollm2")
    for name, word in (("openai:", "openai:NAME"), ("http://me:secret@localhost#parrot", "holds no key")):
        cli("run", "tidewell", "--model", name, "--lambda", "0", "--dry-run").complains(2, word)
    cli(*command, "--lambda", "0", "--set", "judge=likelihood").complains(2, "judge=rating")
    weighing = ("--set", "judge=likelihood", "--set", "inconsistency_threshold=1")
    cli(*command, "--lambda", "0.5", "--set", f"surrogate={served.model}").complains(2, "surrogate=smollm2")
    parting = ("--set", "ending=continuation", "--set", "ending_threshold=0.5")
    cli(*command, "--lambda", "0", *parting).complains(2, "ending=reply")
    cli("run", "tidewell", "--model", "openai:gpt", "--lambda", "0").complains(1, "OPENAI_API_KEY")
    assert served.requests == []
    cli(*command, "--lambda", "0", *weighing).complains(2, "judge=rating", "judge_model=smollm2")
    assert served.requests  # it was asked whether it tells how likely a text is
    assert not any("response_format" in request for request in served.requests)
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
