"""Our checkpointers pass LangGraph's own conformance suite, and plain LangGraph reads and continues what they store."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

import tertulia as tt
from tertulia.langgraph import checkpointer
from tertulia.state.errors import StorageError
from tertulia.storage.sqlite.checkpoints import open_checkpoints

CONFIG: Any = {"configurable": {"thread_id": "t"}}

#: What every checkpointer must do.
BASE = {"put", "put_writes", "get_tuple", "list", "delete_thread"}


@checkpointer_test(name="the store's own")
async def own_saver() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    async with open_checkpoints(":memory:") as saver:
        yield saver


@checkpointer_test(name="that of graphs of one's own")
async def graph_saver() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    with checkpointer(":memory:") as saver:
        yield saver


@pytest.mark.parametrize("registered", [own_saver, graph_saver], ids=["own", "graph"])
async def test_the_conformance_suite_is_green(registered: Any) -> None:
    report = await validate(registered)
    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert not failures
    assert report.passed_all()
    optional = {"copy_thread", "delete_for_runs", "prune"} if registered is graph_saver else set()
    assert {name for name, result in report.results.items() if result.passed} == BASE | optional


def test_plain_langgraph_reads_the_checkpoints_of_a_run(tmp_path: Path) -> None:
    run = tt.run("tidewell", rehearse=True, rounds=2, store=tmp_path / "tertulia.db", progress=False)
    with SqliteSaver.from_conn_string(str(tmp_path / "tertulia.db")) as saver:
        found = saver.get_tuple({"configurable": {"thread_id": run.id}})
    assert found is not None
    assert (found.checkpoint["channel_values"]["turn"], found.checkpoint["channel_values"]["finished"]) == (2, True)


def reviewed_graph(saver: BaseCheckpointSaver[Any]) -> Any:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("well?"), name="Ana")]}

    def each(state: MessagesState) -> list[Send]:
        return [Send("note", {"messages": state["messages"]})]

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("note", lambda state: {})
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", each, ["note"])
    graph.add_edge("note", END)
    return graph.compile(checkpointer=saver)


def test_plain_langgraph_resumes_what_was_interrupted_in_a_store(tmp_path: Path) -> None:
    with checkpointer(tmp_path / "tertulia.db") as saver:
        stopped = reviewed_graph(saver).invoke({"messages": [("user", "Hello")]}, CONFIG)
        assert stopped["__interrupt__"][0].value == "well?"
    with SqliteSaver.from_conn_string(str(tmp_path / "tertulia.db")) as plain:
        graph = reviewed_graph(plain)
        assert graph.get_state(CONFIG).next == ("ask",)
        assert graph.invoke(Command(resume="Yes."), CONFIG)["messages"][-1].content == "Yes."
    with checkpointer(tmp_path / "tertulia.db") as saver:
        assert reviewed_graph(saver).get_state(CONFIG).values["messages"][-1].name == "Ana"


def _flip(path: Path, table: str, column: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        ((row, value),) = connection.execute(
            f"SELECT rowid, {column} FROM {table} WHERE channel = '__interrupt__'"
            if table == "writes"
            else f"SELECT rowid, {column} FROM {table} ORDER BY checkpoint_id DESC LIMIT 1"
        ).fetchall()
        at = value.index(b"well?" if table == "writes" else b"Hello")
        flipped = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (flipped, row))
        connection.commit()


@pytest.mark.parametrize(("table", "column"), [("checkpoints", "checkpoint"), ("writes", "value")])
@pytest.mark.parametrize(
    "read",
    [lambda graph: graph.get_state(CONFIG), lambda graph: list(graph.get_state_history(CONFIG))],
    ids=["newest", "history"],
)
def test_a_bit_that_still_reads_is_told(tmp_path: Path, table: str, column: str, read: Callable[[Any], Any]) -> None:
    path = tmp_path / "tertulia.db"
    with checkpointer(path) as saver:
        reviewed_graph(saver).invoke({"messages": [("user", "Hello")]}, CONFIG)
    _flip(path, table, column)
    with contextlib.suppress(ImportError), SqliteSaver.from_conn_string(str(path)) as plain:
        assert read(reviewed_graph(plain))  # plain LangGraph does not notice
    with checkpointer(path) as saver, pytest.raises(StorageError, match="does not match its checksum"):
        read(reviewed_graph(saver))


def test_checksums_are_none_of_what_a_graph_wrote(tmp_path: Path) -> None:
    with checkpointer(tmp_path / "tertulia.db") as saver:
        reviewed_graph(saver).invoke({"messages": [("user", "Hello")]}, CONFIG)
        found = saver.get_tuple(CONFIG)
        assert found is not None
        assert [channel for _, channel, _ in found.pending_writes or []] == ["__interrupt__"]
        assert "crc32" not in found.metadata
