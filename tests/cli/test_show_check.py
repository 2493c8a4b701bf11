"""`tertulia show RUN --turn N --check`: a line is read by its server again, within a budget that is told before."""

import json
from typing import Any

import pytest
from support.commands import Cli
from support.protocol_server import Served

import tertulia as tt


@pytest.fixture
def run(cli: Cli, served: Served, without_weights: None) -> str:
    """A run of a served model, which tells no likelihoods while it runs."""
    command = ("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", "--json")
    run = str(cli(*command).json["run"])
    served.requests.clear()
    return run


def tells(served: Served, way: Any = "echo") -> None:
    """Let a server tell how likely words are: a line is likelier where its prompt has the words of one unit."""
    served.tells = way

    def read(request: dict[str, Any]) -> list[tuple[str, float | None]]:
        prompt = str(request.get("prompt") or [message["content"] for message in request["messages"]])
        each = -1.0 if "plays the piano" in prompt else -3.0
        return [(word, each if place else None) for place, word in enumerate(prompt.split())]

    served.read = read


def asked(served: Served) -> list[dict[str, Any]]:
    """The requests that had the prompt of the run, and not the words with which a server is tried."""
    return [request for request in served.requests if "Say hello." not in json.dumps(request)]


@pytest.mark.parametrize("way", ["echo", "chat"])
def test_every_unit_is_left_out_where_the_budget_has_a_call_for_each(
    cli: Cli, run: str, served: Served, way: str
) -> None:
    tells(served, way)
    shown = cli("show", run, "--turn", "2", "--check", "--json")
    assert shown.code == 0, shown.err
    units = [unit for unit in shown.json["units"] if unit["kind"] == "item"]
    assert f"turn 2: {len(units) + 1} calls of {served.address} will be made, and one that counts" in shown.err
    assert len(asked(served)) == len(units) + 2
    assert all(isinstance(unit["measured_loss"], float) for unit in units)
    named = [unit["text"] for unit in shown.json["leaned_on"]]
    assert len(named) == sum("plays the piano" in unit["text"] for unit in units) == 1
    assert shown.json["measured_by"] == served.model
    assert ", as measured" in shown.json["why"]
    assert "reads it" not in shown.json["why"]
    served.requests.clear()
    again = cli("show", run, "--turn", "2", "--check")
    assert "as measured" in again.out
    assert (again.err, served.requests) == ("", [])
    assert tt.open_store("tertulia.db").run(run).turn(2).why == shown.json["why"]


def test_a_server_that_does_not_tell_needs_a_reader(cli: Cli, run: str) -> None:
    cli("show", run, "--turn", "2", "--check").complains(1, "does not tell how likely a line is; name a model")
    cli("show", run, "--turn", "2", "--check", "--reader", "rehearsal").complains(2, "rehearsal is a stand-in")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--check",), "name its turn with --turn N, from 1"),
        (("--check", "--turn", "0"), "name its turn with --turn N, from 1"),
        (("--check", "--turn", "1", "--cost"), "leave out --node and --cost"),
        (("--turn", "1", "--reader", "smollm2"), "give --check with them"),
        (("--turn", "1", "--check"), "is rehearsed: a stand-in has no likelihoods"),
    ],
)
def test_what_can_not_be_checked_is_refused_in_a_line(cli: Cli, options: tuple[str, ...], words: str) -> None:
    run = tt.run("tidewell", rounds=1, rehearse=True)
    cli("show", run.id, *options).complains(2, words)
