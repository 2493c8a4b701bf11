"""`langgraph.json`: every graph that it names can be had, run, and looked into, with the rehearsal and no server."""

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel
from support.commands import Cli

from tertulia.langgraph.served import PeopleSettings
from tertulia.models.rehearsal import RehearsalModel
from tertulia.runs.driving import studio
from tertulia.state.errors import ModelError, NotFoundError, UsageError

ROOT = Path(__file__).parents[1]
NAMED = {
    name: spec["path"] for name, spec in json.loads((ROOT / "langgraph.json").read_text("utf-8"))["graphs"].items()
}
CONFIG = {"configurable": {"rounds": 3, "thread_id": "t"}}


def build(name: str, config: Mapping[str, Any]) -> Any:
    module, _, factory = NAMED[name].partition(":")
    return getattr(importlib.import_module(module), factory)(config)


@pytest.mark.parametrize("name", NAMED)
def test_every_named_graph_is_built_and_shows_the_nodes_of_its_conversation(name: str) -> None:
    graph = build(name, {})
    assert isinstance(graph, Pregel)
    assert graph.name == name
    drawn = graph.get_graph(xray=True).nodes
    shown, settings = {
        "dialogue": ({"hold:take_turn", "hold:utterance:generate"}, studio.Settings),
        "group_chat": ({"hold:cognition:perceive", "hold:utterance:generate"}, studio.Settings),
        "album_chat": ({"hold:exchange:plan:generate"}, studio.Settings),
        "utterance": ({"speak:score", "speak:prune", "speak:generate"}, PeopleSettings),
        "exchange": ({"meet:plan:generate", "meet:answer:prune"}, PeopleSettings),
        "town": ({"hold:converse", "hold:reflect"}, studio.TownSettings),
    }[name]
    assert shown <= set(drawn)
    assert set(graph.get_context_jsonschema()["properties"]) == set(settings.model_fields)


def test_the_module_that_it_names_loads_neither_langgraph_nor_torch() -> None:
    code = "import sys, tertulia.cli.studio; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not {"langgraph", "langchain_core", "torch", "transformers"} & set(loaded.split())


@pytest.mark.parametrize(
    ("name", "scenario"), [("dialogue", "tidewell"), ("group_chat", "team_building"), ("album_chat", "villagers")]
)
def test_it_holds_the_conversation_that_the_command_line_holds(cli: Cli, name: str, scenario: str) -> None:
    config = {"configurable": {"rounds": 2, "thread_id": "t"}}
    held = asyncio.run(build(name, config).ainvoke({}, config))
    run = cli("run", scenario, "--rehearse", "--rounds", "2", "--json").json["run"]
    assert cli("diff", held["run"], run, "--exit-code").code == 0
    told = cli("show", held["run"], "--json").json
    assert told["status"] == "finished"
    assert held["turns"] == [{"speaker": turn["speaker"], "text": turn["text"]} for turn in told["turns"]]


@pytest.mark.parametrize("name", ["utterance", "exchange"])
def test_a_thread_goes_on_with_every_run(cli: Cli, name: str) -> None:
    config = {"configurable": {"removal_factor": 0.5, "thread_id": "t", "people": None}}
    graph = build(name, config)
    graph.checkpointer = InMemorySaver()
    first = asyncio.run(graph.ainvoke({"messages": []}, config))
    second = asyncio.run(graph.ainvoke({"messages": []}, config))
    lines = {"utterance": 1, "exchange": 2}[name]
    assert (len(first["messages"]), len(second["messages"])) == (lines, 2 * lines)
    (run,) = cli("runs", "--json").json["runs"]
    assert second[name]["run"] == run["run"]
    assert {message.name for message in second["messages"]} == {"Ana", "Bo"}


@pytest.mark.full
def test_days_of_a_town_are_those_of_the_command_line(cli: Cli) -> None:
    config = {"configurable": {"encounters_per_day": 1, "thread_id": "t"}}
    graph = build("town", config)
    graph.checkpointer = InMemorySaver()
    passed = asyncio.run(graph.ainvoke({}, config))
    (met,) = passed["encounters"]
    assert met["turns"] == [
        {"speaker": turn["speaker"], "text": turn["text"]} for turn in cli("show", met["run"], "--json").json["turns"]
    ]
    cli("simulate", "tidewell", "--encounters-per-day", "1", "--rehearse")
    own, command = (run["run"] for run in cli("runs", "--json").json["runs"])
    assert cli("diff", own, command, "--exit-code").code == 0
    (before,) = (state for state in graph.get_state_history(config) if state.next == ("hold",))
    assert asyncio.run(graph.ainvoke(None, before.config)) == passed


def test_every_inner_step_is_in_the_history_of_the_thread(cli: Cli) -> None:
    graph = build("group_chat", CONFIG)
    graph.checkpointer = InMemorySaver()
    asyncio.run(graph.ainvoke({}, CONFIG))
    (hold,) = (task for snapshot in graph.get_state_history(CONFIG) for task in snapshot.tasks if task.name == "hold")
    rounds = [
        snapshot.values["turn"] for snapshot in graph.get_state_history(hold.state) if snapshot.next == ("open_round",)
    ]
    assert rounds == [2, 1, 0]


def test_holding_a_run_again_makes_no_call_and_no_other_run(cli: Cli) -> None:
    graph = build("dialogue", CONFIG)
    graph.checkpointer = InMemorySaver()
    held = asyncio.run(graph.ainvoke({}, CONFIG))
    (before,) = (snapshot for snapshot in graph.get_state_history(CONFIG) if snapshot.next == ("hold",))
    cost = cli("show", held["run"], "--cost", "--json").json
    assert asyncio.run(graph.ainvoke(None, before.config)) == held
    assert cli("show", held["run"], "--cost", "--json").json == cost
    assert [run["run"] for run in cli("runs", "--json").json["runs"]] == [held["run"]]


def test_what_stops_it_leaves_a_run_that_can_be_resumed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, asked = RehearsalModel.generate_scored, []

    async def third_fails(self: RehearsalModel, *arguments: Any) -> Any:
        asked.append(arguments)
        if len(asked) == 3:
            raise OSError("gone")
        return await whole(self, *arguments)

    with monkeypatch.context() as failing:
        failing.setattr(RehearsalModel, "generate_scored", third_fails)
        with pytest.raises(ModelError, match="OSError: gone"):
            asyncio.run(build("dialogue", CONFIG).ainvoke({}, CONFIG))
    (run,) = cli("runs", "--json").json["runs"]
    assert (run["status"], run["turns"]) == ("failed", 2)
    assert cli("resume", run["run"], "--json").json["turns"] == 3
    again = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--json").json["run"]
    assert cli("diff", run["run"], again, "--exit-code").code == 0


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"rounds": "many"}, UsageError, r"^rounds=many: "),
        ({"rounds": 0}, UsageError, r"max_turns=0: "),
        ({"removal_factor": 2}, UsageError, r"removal_factor=2.0: "),
        ({"scenario": "team_building"}, UsageError, r"^scenario=team_building is for another graph, group_chat$"),
        ({"scenario": "nowhere"}, NotFoundError, r"^unknown scenario 'nowhere'"),
    ],
)
def test_a_setting_that_is_not_acceptable_is_told(settings: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        build("dialogue", {"configurable": settings})
