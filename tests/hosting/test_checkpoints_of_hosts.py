"""Checkpoints of hosted threads: the host's types, LangGraph's cache, growth and retention; and how a turn is shown."""

import logging
import sqlite3
import subprocess
import sys
from collections import namedtuple
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import CachePolicy
from pydantic import BaseModel
from support.commands import Cli
from support.hosted import HELLO, PEOPLE, graph_of, speaking, thread

import tertulia as tt
import tertulia.langgraph
from tertulia.langgraph import checkpointer
from tertulia.state.errors import StorageError, UsageError


class Mood(BaseModel):
    joy: float = 0.0


class Phase(StrEnum):
    TALK = "talk"


@dataclass
class Item:
    number: int = 1


Spot = namedtuple("Spot", ["x", "y"])


class Typed(MessagesState, total=False):
    mood: Mood
    phase: Phase
    item: Item
    spots: list[Any]


VALUES: dict[str, Any] = {"mood": Mood(joy=0.5), "phase": Phase.TALK, "item": Item(2), "spots": [Spot(1, 2)]}


def typed_graph(folder: Path, saver: Any) -> Any:
    def feel(state: Typed) -> dict[str, Any]:
        before = state["mood"].joy if "mood" in state else 0.0
        return {**VALUES, "mood": Mood(joy=before + 0.5)}

    speak = tertulia.langgraph.utterance(["Ana", "Bo"], model="rehearsal", store=str(folder / "talk.db"))
    builder = StateGraph(Typed)
    builder.add_node("feel", feel)
    builder.add_node("speak", speak)
    builder.add_edge(START, "feel")
    builder.add_edge("feel", "speak")
    return builder.compile(checkpointer=saver)


ALLOWED = [Mood, Phase, (__name__, "Item"), Spot]


@pytest.mark.parametrize("allowed", [None, ALLOWED], ids=["imported", "allowed"])
def test_the_types_of_a_state_come_back_as_from_langgraphs_own_saver(
    tmp_path: Path, allowed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    read = {}
    for name in ("plain", "ours"):
        path = str(tmp_path / f"{name}.db")
        ours = checkpointer(path, allowed_msgpack_modules=allowed)
        with ours if name == "ours" else SqliteSaver.from_conn_string(path) as saver:
            typed_graph(tmp_path, saver).invoke({"messages": []}, thread())
            caplog.clear()
        again = checkpointer(path, allowed_msgpack_modules=allowed)
        with again if name == "ours" else SqliteSaver.from_conn_string(path) as saver, caplog.at_level(logging.WARNING):
            graph = typed_graph(tmp_path, saver)
            values = graph.get_state(thread()).values
            read[name] = {key: values[key] for key in VALUES}
            assert graph.invoke({"messages": []}, thread())["mood"] == Mood(joy=1.0)
    assert read["ours"] == read["plain"] == VALUES
    assert [type(value) for value in read["ours"].values()] == [type(value) for value in VALUES.values()]
    warned = {record.args[1] for record in caplog.records if "Deserializing unregistered type" in record.message}  # type: ignore[index, call-overload]
    assert warned == (set() if allowed else {"Mood", "Phase", "Item", "Spot"})


def test_a_list_allows_these_types_and_no_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with checkpointer(tmp_path / "a.db", allowed_msgpack_modules=[Mood]) as saver:
        graph = typed_graph(tmp_path, saver)
        graph.invoke({"messages": []}, thread())
        values = graph.get_state(thread()).values
    assert (values["mood"], values["item"], values["phase"]) == (Mood(joy=0.5), {"number": 2}, "talk")
    assert f"[('{__name__}', 'Item')]" in caplog.text


@pytest.mark.parametrize("given", [True, "Mood", [3], [("a",)], 7])
def test_another_thing_than_a_list_of_types_is_told(given: Any) -> None:
    with (
        pytest.raises(UsageError, match=r"^allowed_msgpack_modules=.*such as \[Mood\]"),
        checkpointer(":memory:", allowed_msgpack_modules=given),
    ):
        pass


@pytest.mark.parametrize("code", range(6))
@pytest.mark.parametrize(
    "target",
    [
        ("os", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("antigravity", "fly"),  # is not imported
        ("langchain_core.runnables", "RunnableLambda"),
        ("langchain_core.runnables.configurable", "RunnableConfigurableFields"),
        (__name__, "typed_graph"),
    ],
)
def test_a_strangers_checkpoint_calls_and_imports_nothing(
    tmp_path: Path, code: int, target: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    import ormsgpack

    called = []
    with checkpointer(tmp_path / "a.db") as saver:
        packed = ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb((*target, {"x": "touch here"}, "model_validate"))))
        monkeypatch.setattr(importlib, "import_module", lambda name: called.append(name))
        found = saver.serde.loads_typed(("msgpack", packed))
    assert (found, called) == ({"x": "touch here"}, [])
    assert "antigravity" not in sys.modules


def test_pickle_is_refused(tmp_path: Path) -> None:
    with checkpointer(tmp_path / "a.db") as saver, pytest.raises(StorageError, match="pickle"):
        saver.serde.loads_typed(("pickle", b"cos\nsystem\n(S'true'\ntR."))


def test_langgraphs_strict_mode_allows_the_types_of_the_graphs_state(tmp_path: Path) -> None:
    code = f"""
import sys; sys.path[:0] = {[str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]!r}
from pathlib import Path
from hosting.test_checkpoints_of_hosts import Item, Mood, Phase, checkpointer, thread, typed_graph
with checkpointer("a.db") as saver:
    graph = typed_graph(Path("."), saver)
    for _ in range(2):
        graph.invoke({{"messages": []}}, thread())
    values = graph.get_state(thread()).values
    assert [type(values[key]) for key in ("mood", "phase", "item")] == [Mood, Phase, Item], values
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"LANGGRAPH_STRICT_MSGPACK": "true", "PATH": ""},
        capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr


# --- LangGraph's cache ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"removal_factor": 1.0},
        {"seed": 2},
        {"people": [*PEOPLE[:1], {"name": "Bo", "memories": ["Bo likes sun."]}]},
        {"settings": {"temperature": 0.5}},
        {"place": "the quay"},
        {"store": "other.db"},
        {"additions": tt.Additions(nodes={"score": "length"})},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_shared_cache_keeps_graphs_of_other_settings_apart(tmp_path: Path, other: dict[str, Any]) -> None:
    cache = InMemoryCache()

    def said(**options: Any) -> AIMessage:
        given = {"people": PEOPLE, "model": "rehearsal", "removal_factor": 0.0, "store": str(tmp_path / "talk.db")}
        builder = StateGraph(MessagesState)
        builder.add_node("speak", tertulia.langgraph.utterance(**{**given, **options}), cache_policy=CachePolicy())
        builder.add_edge(START, "speak")
        hello = {"messages": [HumanMessage("Hello?", id="1")]}
        message: AIMessage = builder.compile(cache=cache).invoke(hello)["messages"][-1]
        return message

    first = said()
    assert said() == first  # from the cache
    assert said(**other).id != first.id
    if "additions" in other:  # of functions nothing is known, not even that they are the same
        assert said(**other).id != said(**other).id
    assert said() == first


# --- growth ---------------------------------------------------------------------------------------------------------


def bytes_of(path: Path, where: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        rows = (f"SELECT sum(length({column})) FROM {table} WHERE {where}" for table, column in COLUMNS)
        return sum(connection.execute(row).fetchone()[0] or 0 for row in rows)


COLUMNS = [("checkpoints", "checkpoint"), ("checkpoints", "metadata"), ("writes", "value")]


@pytest.mark.parametrize("node", ["utterance", "group_chat"])
def test_inner_steps_hold_no_messages_and_do_not_grow(tmp_path: Path, node: str) -> None:
    made = getattr(tertulia.langgraph, node)([*PEOPLE, {"name": "Cy"}], model="rehearsal", store=str(tmp_path / "a.db"))
    sizes = []
    with SqliteSaver.from_conn_string(str(tmp_path / "b.db")) as saver:
        graph = graph_of(made, saver)
        for _ in range(12):
            graph.invoke({"messages": [HumanMessage("The zebra said this. " * 50)]}, thread())
            sizes.append(bytes_of(tmp_path / "b.db", "checkpoint_ns != ''"))
        inner = [found for found in saver.list(thread()) if found.config["configurable"]["checkpoint_ns"]]
    held = [found.checkpoint["channel_values"].get("messages", []) for found in inner]
    assert max(map(len, held)) <= 1  # the new line
    turns = [after - before for before, after in pairwise(sizes)]
    assert max(turns[-4:]) < 1.6 * max(turns[:4])


@pytest.mark.full
def test_a_thousand_turns_take_a_fifth_more_than_a_plain_node_with_the_same_messages(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "ours.db")) as saver:
        graph = speaking(tmp_path, saver, state=MessagesState)
        for _ in range(1000):
            messages = graph.invoke({"messages": []}, thread())["messages"]
    with SqliteSaver.from_conn_string(str(tmp_path / "plain.db")) as saver:
        plain = graph_of(lambda state: {"messages": [messages[len(state["messages"])]]}, saver, MessagesState)
        for _ in range(1000):
            plain.invoke({"messages": []}, thread())
    assert bytes_of(tmp_path / "ours.db", "1") <= 1.2 * bytes_of(tmp_path / "plain.db", "1")


@pytest.mark.full
def test_a_long_thread_that_is_trimmed_is_as_fast_as_a_short_one(tmp_path: Path) -> None:
    import time

    took = {}
    graph = speaking(tmp_path)
    for length in (20, 10_000, 20, 10_000):
        lines = [AIMessage(f"Line {number}.", name=("Ana", "Bo")[number % 2]) for number in range(length)]
        config = thread(f"{length} {len(took)}")
        messages = graph.invoke({"messages": lines}, config)["messages"]
        graph.update_state(config, {"messages": [RemoveMessage(id=message.id) for message in messages[:-20]]})
        graph.invoke({"messages": []}, config)
        started = time.process_time()
        for _ in range(20):
            graph.invoke({"messages": []}, config)
        took[length] = min(took.get(length, 1e9), time.process_time() - started)
    assert took[10_000] < 2 * took[20]  # untrimmed it is eight times


def test_gc_removes_the_superseded_checkpoints_of_threads(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    with checkpointer(path) as saver:
        graph = speaking(tmp_path, saver, store=str(path), interrupt_before=["generate"])
        for name in ("over", "paused"):
            graph.invoke(HELLO, thread(name))
            graph.invoke(None, thread(name))
        graph.invoke(HELLO, thread("paused"))
    listed = cli("gc", "--json").json
    assert {row["thread"] for row in listed["threads"]} == {"over", "paused"}
    assert listed["runs"] == []
    before = bytes_of(path, "1")
    assert "would drop the superseded checkpoints of 2 threads of your graphs" in cli("gc").out
    assert cli("gc", "--yes", "--json").json["done"]
    assert bytes_of(path, "1") < before / 4
    assert cli("gc", "--json").json["threads"] == []
    with checkpointer(path) as saver:
        graph = speaking(tmp_path, saver, store=str(path), interrupt_before=["generate"])
        assert graph.get_state(thread("paused"), subgraphs=True).tasks[0].state.next == ("generate",)
        assert [m.name for m in graph.invoke(None, thread("paused"))["messages"]] == ["Ana", "Bo"]
        graph.invoke(HELLO, thread("over"))
        assert [m.name for m in graph.invoke(None, thread("over"))["messages"]] == ["Ana", "Bo"]


@pytest.mark.parametrize("ids", ["12", 12])
def test_a_text_is_no_list_of_threads_to_prune(tmp_path: Path, ids: Any) -> None:
    with checkpointer(tmp_path / "tertulia.db") as saver:
        graph = speaking(tmp_path, saver)
        for name in ("1", "2", "12"):
            graph.invoke(HELLO, thread(name))
        before = [len([*graph.get_state_history(thread(name))]) for name in ("1", "2", "12")]
        for refuses in (saver.prune, saver.delete_for_runs):
            with pytest.raises(UsageError, match=r"a list of ids is expected, such as \['12'\]"):
                refuses(ids)
        assert [len([*graph.get_state_history(thread(name))]) for name in ("1", "2", "12")] == before


def test_a_paused_run_is_told_to_go_on_in_its_graph(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    with checkpointer(path) as saver:
        speaking(tmp_path, saver, store=str(path), interrupt_before=["generate"]).invoke(HELLO, thread())
    way = "to go on: invoke your graph again, with None as its input"
    assert cli("stop", "@last").out.rstrip().endswith(way)
    assert cli("replay", "@last", "--speed", "0").err.rstrip().endswith(way)


# --- how a turn is shown --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [PEOPLE[:1], PEOPLE, [*PEOPLE, {"name": "Cy"}]], ids=len)
def test_show_tells_where_a_users_line_came_from(cli: Cli, tmp_path: Path, people: Any) -> None:
    graph = speaking(tmp_path, people=people, store=str(tmp_path / "tertulia.db"))
    graph.invoke({"messages": [HumanMessage("What about the boat?")]}, thread())
    shown = [cli("show", "@last", "--turn", number).out for number in ("1", "2")]
    assert "User said it in the messages of the graph: no prompt was read" in " ".join(shown[0].split())
    assert not any("interrupted" in text or "written by hand" in text for text in shown)


def test_show_tells_where_the_steps_of_a_hosted_turn_are(cli: Cli, tmp_path: Path) -> None:
    speaking(tmp_path, store=str(tmp_path / "tertulia.db")).invoke(HELLO, thread())
    for name in ("generate", "all"):
        cli("show", "@last", "--node", name).complains(3, "turn 1", "graph.get_state_history", "--turn 1")


def test_show_has_the_thought_that_a_users_node_rewrote_in_a_hosted_meeting(cli: Cli, tmp_path: Path) -> None:
    @tt.node("after_assess", reads=["thought"])
    async def critic(state: Any, runtime: Any) -> Any:
        return {"thought": f"Better: {state['thought']}"}

    talk = tertulia.langgraph.group_chat(
        [*PEOPLE, "Cy"],
        model="rehearsal",
        store=str(tmp_path / "tertulia.db"),
        additions=tt.Additions(nodes={"after_assess": critic}),
    )
    graph_of(talk, InMemorySaver()).invoke(HELLO, thread())
    for name in ("critic", "after_assess"):
        visits = cli("show", "@last", "--turn", "1", "--node", name, "--json").json["visits"]
        assert {visit["agent"] for visit in visits} == {"Ana", "Bo", "Cy"}
        for visit in visits:
            assert visit["update"]["thought"] == f"Better: {visit['before']['thought']}"
    cli("show", "@last", "--turn", "1", "--node", "decide").complains(3, "nothing keeps those of an agent")


def test_a_fork_of_a_hosted_run_at_a_later_turn_names_the_graphs_history(cli: Cli, tmp_path: Path) -> None:
    graph = speaking(tmp_path, store=str(tmp_path / "tertulia.db"))
    for _ in range(2):
        graph.invoke(HELLO, thread())
    forked = cli("fork", "@last", "--at", "2")
    forked.complains(
        3, "was held in a program's LangGraph graph", "goes back to turn 2 (graph.get_state_history)", "turn 1"
    )


def test_show_is_true_of_a_turn_and_of_a_branch_that_says_it_otherwise(cli: Cli, tmp_path: Path) -> None:
    speak = tertulia.langgraph.utterance(
        PEOPLE, model="rehearsal", removal_factor=0.5, store=str(tmp_path / "tertulia.db"), checkpointer=InMemorySaver()
    )
    first = speak.invoke(HELLO, thread())["utterance"]
    earlier = next(state for state in speak.get_state_history(thread()) if state.next == ("generate",))
    second = speak.invoke(None, speak.update_state(earlier.config, {"removed": []}))["utterance"]
    assert first["run"] != second["run"]
    for said in (first, second):
        shown = cli("show", said["run"], "--turn", "1", "--json").json
        assert [unit["text"] for unit in shown["units"] if unit["removed"]] == said["removed"]
        assert shown["text"] == said["text"]
    texts = [" ".join(cli("show", said["run"], "--turn", "1").out.split()) for said in (first, second)]
    assert ["the state was edited before the line was drawn" in text for text in texts] == [False, True]
    assert "nothing fits" not in texts[1]


def test_plain_data_stays_what_langgraphs_serializer_writes() -> None:
    with checkpointer(":memory:") as saver:
        for value in (VALUES, [HumanMessage("Hello", id="1")], {"a": {1, 2}}):
            kind, packed = saver.serde.dumps_typed(value)
            assert JsonPlusSerializer().dumps_typed(value) == (kind, packed)
            assert saver.serde.loads_typed((kind, packed)) == value


def test_an_unknown_thread_has_no_state(tmp_path: Path) -> None:
    assert speaking(tmp_path, InMemorySaver()).get_state(thread("none")).values == {}


def test_a_checkpoint_of_a_later_langgraph_is_told(tmp_path: Path) -> None:
    with checkpointer(tmp_path / "a.db") as saver:
        config = speaking(tmp_path, saver).update_state(thread(), HELLO)
        found = saver.get_tuple(thread())
        assert found is not None
        saver.put(found.config, {**found.checkpoint, "v": 99, "id": found.checkpoint["id"] + "1"}, {}, {})
        with pytest.raises(StorageError, match=r"^a checkpoint in .*a\.db has the format 99, of another LangGraph"):
            speaking(tmp_path, saver).invoke(HELLO, thread())
        assert speaking(tmp_path, saver).get_state(config).values["topic"] == HELLO["topic"]


def test_a_closed_checkpointer_is_told(tmp_path: Path) -> None:
    with checkpointer(tmp_path / "a.db") as saver:
        graph = speaking(tmp_path, saver)
    for use in (lambda: graph.invoke(HELLO, thread()), lambda: graph.get_state(thread())):
        with pytest.raises(StorageError, match=r"^the checkpointer of .*a\.db is closed; invoke the graph inside"):
            use()


def test_a_checkpointer_on_a_server_is_told() -> None:
    with pytest.raises(UsageError, match="takes a file; for a server"), checkpointer("postgresql://localhost/x"):
        pass


def test_a_hosted_run_is_merged_into_another_store(cli: Cli, tmp_path: Path) -> None:
    graph = speaking(tmp_path, store=str(tmp_path / "tertulia.db"))
    said = graph.invoke({"messages": [HumanMessage("What about the boat?")]}, thread())["messages"]
    assert "1 added" in cli("merge", "tertulia.db", "--into", "other.db").err
    (run,) = tt.open_store(tmp_path / "other.db").runs()
    assert [turn.text for turn in run.turns] == [message.content for message in said]
