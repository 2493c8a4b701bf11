"""`doctor --server`: a server that honours everything, one that honours nothing, and one that refuses by name."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from support.commands import Cli
from support.protocol_server import Served

SAMPLING = ("seed", "temperature", "top_p", "top_k", "min_p")


def honouring(request: dict[str, Any]) -> tuple[int, Any]:
    """Answer as a server that does all that it is asked."""
    is_certain = (
        request.get("temperature", 1) < 0.1
        or request.get("top_p", 1) < 0.1
        or request.get("top_k", -1) == 1
        or request.get("min_p", 0) == 1
    )
    text = "seal" if is_certain else str(random.Random(request.get("seed")).random())
    if (form := request.get("response_format")) is not None:
        (name, described), *_ = form["json_schema"]["schema"]["properties"].items()
        text = json.dumps({name: described["enum"][0]})
    message = {"content": text, "reasoning": "Seals swim."}
    choice: dict[str, Any] = {"message": message, "finish_reason": "stop"}
    if request.get("logprobs"):
        choice["logprobs"] = {"content": [{"token": "seal", "logprob": -0.1}]}
    if request.get("stream"):
        chunk = {"choices": [{"delta": message, "finish_reason": "stop"}]}
        return 200, b"data: " + json.dumps(chunk).encode() + b"\n\n"
    return 200, {"choices": [choice], "usage": {"prompt_tokens": 40, "completion_tokens": 9}}


def deaf(request: dict[str, Any]) -> tuple[int, Any]:
    """Answer as a server that always says the same."""
    return 200, {"choices": [{"message": {"content": "seal"}}]}


def refusing(request: dict[str, Any]) -> tuple[int, Any]:
    """Answer as a server that refuses by name."""
    for name in ("seed", "min_p", "top_k", "response_format"):
        if name in request:
            return 400, {"error": {"message": f"{name} is not supported", "param": name}}
    if len(request["messages"]) > 1:
        is_system = request["messages"][0]["role"] == "system"
        return 400, {"error": "System role not supported" if is_system else "roles must alternate"}
    return 200, {"choices": [{"message": {"content": str(random.random())}}]}


EXPECTED: list[tuple[Callable[[dict[str, Any]], tuple[int, Any]], dict[str, bool | None]]] = [
    (
        honouring,
        {**dict.fromkeys((*SAMPLING, "JSON Schema", "streaming", "reasoning apart", "counts of tokens"), True)},
    ),
    (
        deaf,
        {"seed": None, "temperature": False, "top_p": None, "min_p": None, "JSON Schema": False, "streaming": False},
    ),
    (
        refusing,
        dict.fromkeys(("seed", "min_p", "top_k", "JSON Schema", "system messages", "a role twice on end"), False),
    ),
]


@pytest.mark.parametrize(("answer", "expected"), EXPECTED, ids=["honouring", "deaf", "refusing"])
def test_a_table_says_what_is_honoured(
    cli: Cli, served: Served, answer: Callable[[dict[str, Any]], tuple[int, Any]], expected: dict[str, bool | None]
) -> None:
    served.instead = answer
    table = cli("doctor", "--server", served.model, "--json").json
    found = {finding["feature"]: finding["honoured"] for finding in table["findings"]}
    assert {name: found[name] for name in expected} == expected
    assert (table["server"], table["requests"] <= 40) == (served.model, True)
    assert "seed" in cli("doctor", "--server", served.model).out


def test_a_server_that_is_away_or_answers_nonsense_is_one_line(cli: Cli, served: Served) -> None:
    cli("doctor", "--server", "http://127.0.0.1:9/v1#x").complains(1, "can't be reached")
    cli("doctor", "--server", "openai:x").complains(2, "is no server")
    cli("doctor", "--run", "@last").complains(2, "--server")
    for body in ([], {"choices": 7}, {"choices": [{"message": {"content": 7}}]}, b"data: 7\n\n"):
        served.instead = lambda request, body=body: (200, body)  # type: ignore[misc]
        cli("doctor", "--server", served.model).complains(1, served.model)


@pytest.mark.usefixtures("without_weights")
def test_a_run_of_the_server_keeps_the_table(cli: Cli, served: Served) -> None:
    run = cli("run", "tidewell", "--rounds", "1", "--model", served.model, "--lambda", "0", "--json").json["run"]
    assert cli("show", run, "--json").json["server"] is None
    served.instead = deaf
    table = cli("doctor", "--server", served.model, "--run", run, "--json").json
    kept = cli("show", run, "--json").json["server"]
    assert kept["findings"] == table["findings"]
    assert "lacks temperature" in " ".join(cli("show", run).out.split())
    cli("doctor", "--server", "http://127.0.0.1:9/v1#other", "--run", run).complains(2, "and not one of")
    assert cli("export", run, "--format", "jsonl").code == 0
