"""`nodes list`, `nodes check` and `graph`, and runs with nodes and mechanisms of one's own."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

from tertulia.nodes.machinery.extensions import load_extensions
from tertulia.nodes.machinery.places import PLACES
from tertulia.runs.driving import node_checks
from tertulia.runs.driving.node_checks import check_all

HEAD = '''"""Nodes of a test."""

import asyncio
import random
import time

import numpy as np
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.machinery.node import Node
from tertulia.state.cognition import Finding
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Record


class Settings(Record):
    window: int = 3


def scored(state, runtime, score):
    units = runtime.context.store.prompt(state["prompt"]).units
    return {"scores": {unit.id: score(unit) for unit in units}, "scored_by": "mine"}


def scorer(run, **more):
    return Node("mine", "score", "scores as a test says", run, ("prompt",), ("scores", "scored_by"), **more)


def mechanism(run, **more):
    return Mechanism("gossip", "Gossip", "think of what is said", (True, "I heard."), run, **more)

'''

GOOD = """
async def run(state, runtime):
    settings = runtime.context.settings("mine", Settings)
    return scored(state, runtime, lambda unit: float(len(unit.text) % settings.window))

async def recall(view):
    return Finding(lines=(f"{view.name} heard.",), data={"round": view.round})

NODES = (scorer(run, parameters=Settings, timeout_s=5.0),)
MECHANISMS = (mechanism(recall, condition=lambda view: "always"),)
"""


@pytest.fixture
def two_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is checked is rehearsed for two rounds instead of four."""
    monkeypatch.setattr(node_checks, "_ROUNDS", 2)
    monkeypatch.setattr(node_checks, "_SETTINGS", node_checks._SETTINGS | {"max_turns": 2})


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(body: str, name: str = "mine.py") -> str:
        (tmp_path / name).write_text(HEAD + body, encoding="utf-8")
        return name

    return write


# --- list -----------------------------------------------------------------------------------------------------------


def test_the_list_has_every_place_and_where_nodes_are_from(cli: Cli, write: Any) -> None:
    shown = cli("nodes", "list", "--extension", write(GOOD), "--json").json
    places = {place["place"]: place for place in shown["places"]}
    assert list(places) == list(PLACES)
    assert places["after_assess"]["nodes"] == []
    scorers = {node["name"]: node for node in places["score"]["nodes"]}
    assert list(scorers) == ["attention", "embedding_similarity", "leave_one_out", "length", "random", "mine"]
    assert [name for name, node in scorers.items() if node["default"]] == ["attention"]
    assert scorers["length"]["source"] == "shipped"
    assert scorers["mine"]["source"].endswith("mine.py")
    assert (scorers["mine"]["parameters"], scorers["mine"]["timeout_s"]) == ({"window": 3}, 5.0)
    assert [mechanism["name"] for mechanism in shown["mechanisms"]][-1] == "gossip"
    table = cli("nodes", "list", "--extension", "mine.py")
    assert table.code == 0
    for words in ("attention (default)", "scores as a test says", "after_perceive", "empty", "gossip"):
        assert words in table.out


# --- check ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("two_rounds")
def test_a_good_extension_passes(cli: Cli, write: Any, tmp_path: Path, monkeypatch: Any) -> None:
    shown = cli("nodes", "check", write(GOOD, "harbour_to_import.py"), "--json").json
    assert shown["ok"] is True
    assert {check["problem"] for check in shown["checks"]} == {None}
    assert {check["name"] for check in shown["checks"]} == {"mine", "gossip"}
    assert len(shown["checks"]) == 19
    monkeypatch.syspath_prepend(str(tmp_path))
    result = cli("nodes", "check", "harbour_to_import")
    assert result.code == 0
    assert result.out.count("ok") == 19


SCORED = "return scored(state, runtime, lambda unit: "
ONE = f"{SCORED}1.0)"
BAD_NODES = [
    (f"{SCORED}random.random())", "is the same again", "keyed_generator"),
    (f"{SCORED}np.float32(1))", "returns what it declares", "numpy.float32"),
    ("return {'scores': {}, 'scored_by': 'mine'}", "returns what it declares", "scores has none for"),
    (f"{ONE} | {{'removed': []}}", "returns what it declares", "returned 'removed'"),
    ("state['present'].append('Nobody'); return scored(state, runtime, len)", "comes to its end", "TypeError"),
    (f"state['turn'] += 1; {ONE}", "leaves the state as it was", "return what is new instead"),
    (f"{SCORED}1 / 0)", "comes to its end", "ZeroDivisionError: division by zero (line "),
    ("return state['chosen']", "comes to its end", "add it to its reads=['chosen']"),
    ("await asyncio.sleep(9)", "keeps its time limit", "belongs in a thread"),
    (f"time.sleep(0.2); {ONE}", "keeps its time limit", "belongs in a thread"),
]
BAD_MECHANISMS = [
    ("return 'heard'", "returns a finding", "it returns a str"),
    ("raise ValueError('no')", "comes to its end", "ValueError: no (line "),
    ("await asyncio.sleep(9)", "keeps its time limit", "takes longer"),
    ("return Finding(data={'at': time.time()})", "is the same again", "no clock but the simulated one"),
    ("return Finding(data={'to': (1, 2)})", "comes to its end", "lists for tuples"),
]


@pytest.mark.usefixtures("two_rounds")
@pytest.mark.parametrize(
    ("given", "made", "body", "check", "words"),
    [
        *(("state, runtime", "NODES = (scorer(run{limit}),)", *told) for told in BAD_NODES),
        *(("view", "MECHANISMS = (mechanism(run{limit}),)", *told) for told in BAD_MECHANISMS),
    ],
)
def test_what_has_to_be_mended_is_told(
    cli: Cli, write: Any, given: str, made: str, body: str, check: str, words: str
) -> None:
    made = made.format(limit=", timeout_s=0.1" if "sleep" in body else "")
    result = cli("nodes", "check", write(f"async def run({given}):\n    {body}\n\n{made}"))
    assert result.code == 1
    assert "Traceback" not in result.err
    failed = [line for line in result.out.splitlines() if line.startswith("FAIL")]
    assert all(check in line for line in failed), failed
    assert words in failed[0]
    assert given != "view" or len(failed) == 1


NEVER_ENDS = "async def run(state, runtime):\n    while True:\n        pass\n\nNODES = (scorer(run),)"


@pytest.mark.usefixtures("two_rounds")
def test_what_never_ends_is_told(write: Any, tmp_path: Path) -> None:
    name = write(NEVER_ENDS)
    checks = list(check_all(load_extensions([str(tmp_path / name)]), patience_s=0.8))
    (stuck, _) = [check for check in checks if check.problem is not None]
    assert stuck.check == "keeps its time limit in tidewell"
    assert "does not come to an end" in str(stuck.problem)


def test_what_can_not_be_loaded_is_told(cli: Cli, write: Any) -> None:
    result = cli("nodes", "check", write("NODES = (Node('mine', 'scor', 'x', None),)"))
    assert result.code == 1
    assert "did you mean 'score'" in result.out
    assert cli("nodes", "check", "mine.py", "--json").code == 1
    cli("nodes", "check", "nowhere.py").complains(3, "nowhere.py")
    cli("nodes", "check", "nowhere").complains(3, "nowhere")


@pytest.mark.usefixtures("two_rounds")
def test_what_a_file_says_is_no_markup(cli: Cli, write: Any) -> None:
    text = "\x1b[31mred [bold]x[/bold] \u202egnirts"
    body = f"async def run(state, runtime):\n    raise ValueError({text!r})\n\nNODES = (scorer(run),)"
    result = cli("nodes", "check", write(body))
    assert "\x1b" not in result.out
    assert "\u202e" not in result.out
    assert "[bold]x[/bold]" in result.out


# --- graph ----------------------------------------------------------------------------------------------------------


def test_a_graph_shows_what_stands_in_it(cli: Cli, write: Any) -> None:
    assert "score(score)" in cli("graph", "utterance").out
    chosen = cli("graph", "utterance", "--extension", write(GOOD), "--set", "nodes.score=mine")
    assert "score(score<br/>mine)" in chosen.out
    shown = cli("graph", "utterance", "--extension", "mine.py", "--set", "nodes.score=mine", "--json").json
    assert shown["mermaid"] == chosen.out
    (node,) = shown["nodes"]
    assert (node["place"], node["name"], Path(node["source"]).name) == ("score", "mine", "mine.py")
    assert "designated(designated)" in cli("graph", "group_chat", "--set", "order=designated").out


def test_graphs_that_are_not_there_are_told(cli: Cli) -> None:
    cli("graph", "utterence").complains(2, "did you mean 'utterance'")
    cli("graph", "utterance", "--scenario", "tidewell", "--set", "nodes.race=race").complains(2, "a dialogue of two")


# --- runs -----------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_with_the_extension_that_it_began_with_or_a_changed_one_that_is_accepted(
    cli: Cli, write: Any, tmp_path: Path
) -> None:
    body = GOOD.replace("settings =", 'if state["turn"] == 3:\n        raise ValueError("no")\n    settings =', 1)
    arguments = ("run", "tidewell", "--rehearse", "--rounds", "4", "--set", "nodes.score=mine", "--set", "ending=off")
    failed = cli(*arguments, "--extension", write(body))
    assert failed.code == 1
    assert "round 3: the node 'mine', in the place score, failed: ValueError: no (line" in failed.err
    write(GOOD)
    cli("resume", "@last").complains(2, "changed since the run began", "--extension")
    cli("fork", "@last", "--at", "2").complains(2, "changed since")
    assert cli("resume", "@last", "--extension", "mine.py", "--json").json["turns"] == 4
    assert cli("fork", "@last", "--at", "2", "--json").json["turns"] == 4  # it was accepted
    (tmp_path / "mine.py").unlink()
    assert len(cli("show", "@last", "--json").json["turns"]) == 4
