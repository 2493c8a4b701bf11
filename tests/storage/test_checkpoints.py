"""Checkpoints: runs resume from them, plain data only, nothing executed on loading, errors told in one line."""

import asyncio
import enum
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from operator import add
from pathlib import Path
from typing import Annotated, Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from support.stored import a_case, a_run
from typing_extensions import TypedDict

from tertulia.state.errors import StorageError
from tertulia.state.records import Utterance
from tertulia.storage.sqlite.checkpoints import Checkpoints, PlainSerializer, open_checkpoints
from tertulia.storage.store import SqlStore

Config = dict[str, Any]


class State(TypedDict, total=False):
    turn: int
    scores: dict[str, float] | None
    said: Annotated[list[str], add]


def counting_graph(
    checkpointer: Checkpoints, write: Callable[[str], object] = lambda text: None, turns: int = 30, **options: Any
) -> Any:
    """A graph whose node writes to the store before and after it lets others run."""

    async def speak(state: State) -> State:
        turn = state["turn"] + 1
        write(f"before {turn}")
        await asyncio.sleep(0)
        write(f"after {turn}")
        return {"turn": turn, "scores": {"m1": turn / 3}, "said": [f"line {turn}"]}

    graph = StateGraph(State)
    graph.add_node("speak", speak)
    graph.add_edge(START, "speak")
    graph.add_conditional_edges("speak", lambda state: state["turn"] >= turns, {True: END, False: "speak"})
    return graph.compile(checkpointer=checkpointer, **options)


def thread(name: str) -> Config:
    return {"configurable": {"thread_id": name}, "recursion_limit": 500}


async def test_a_run_goes_on_from_its_checkpoint_in_the_store_file(tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())
        for turn in range(1, 4):
            async with open_checkpoints(path) as checkpointer:
                graph = counting_graph(checkpointer, store.save_text, turns=3, interrupt_after=["speak"])
                await graph.ainvoke({"turn": 0} if turn == 1 else None, thread("k3f9"), durability="exit")
                said = [f"line {at}" for at in range(1, turn + 1)]
                state = await graph.aget_state(thread("k3f9"))
                assert state.values == {"turn": turn, "scores": {"m1": turn / 3}, "said": said}
    assert [file.name for file in tmp_path.iterdir()] == ["tertulia.db"]


async def test_many_runs_share_a_file_without_waiting_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    with SqlStore.open(path, create=True) as store:
        store.file.database.execute("PRAGMA busy_timeout = 0")
        async with open_checkpoints(path) as checkpointer:
            checkpointer.conn.execute("PRAGMA busy_timeout = 0")
            graph = counting_graph(checkpointer, store.save_text, turns=10)
            for durability in ("exit", "async", "sync"):
                runs = (
                    graph.ainvoke({"turn": 0}, thread(f"{durability} {i}"), durability=durability) for i in range(4)
                )
                assert {result["turn"] for result in await asyncio.gather(*runs)} == {10}


# --- plain data -----------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()
plain = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@settings(max_examples=30 if settings.default.max_examples < 2000 else 2000)
@given(value=plain)
def test_plain_data_comes_back(value: object) -> None:
    serializer = PlainSerializer("tertulia.db")
    assert serializer.loads_typed(serializer.dumps_typed(value)) == value


def test_sends_are_written_in_langgraphs_own_format() -> None:
    sends = [Send("agent", {"agent": "Ana", "turn": 3}), Send("agent", {"inner": [Send("x", None)]})]
    packed = PlainSerializer("tertulia.db").dumps_typed(sends)
    assert PlainSerializer("tertulia.db").loads_typed(packed) == sends
    assert packed[0] == "msgpack"
    assert JsonPlusSerializer(allowed_msgpack_modules=None).loads_typed(packed) == sends


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "value", [Utterance(speaker="Ana", text="x"), datetime.now(UTC), {1, 2}, Colour.RED, object(), Path("x"), 2**70]
)
def test_what_is_not_plain_is_refused_when_written(value: object) -> None:
    with pytest.raises(TypeError):
        PlainSerializer("tertulia.db").dumps_typed({"state": value})


def crafted(code: int, *fields: object) -> bytes:
    return ormsgpack.packb({"turn": ormsgpack.Ext(code, ormsgpack.packb(fields))})


def payloads(target: Path) -> list[tuple[str, bytes]]:
    """Payloads that touch a file when they are executed, one for each way that LangGraph's format calls things."""
    touch = f"touch {target}"
    command = ["pathlib", "Path", str(target)]
    return [
        ("msgpack", crafted(0, "os", "system", touch)),
        ("msgpack", crafted(1, "os", "system", [touch])),
        ("msgpack", crafted(2, "subprocess", "run", {"args": touch, "shell": True})),
        ("msgpack", crafted(3, *command, "touch")),
        ("msgpack", crafted(4, "subprocess", "Popen", {"args": touch, "shell": True})),
        ("msgpack", crafted(5, "subprocess", "Popen", {"args": touch, "shell": True})),
        ("msgpack", crafted(1, "langgraph.types", "Send", ["agent", 1, 2])),
        ("msgpack", ormsgpack.packb(ormsgpack.Ext(1, crafted(0, "os", "system", touch)))),
        ("msgpack", b"\xc1 damaged"),
        ("json", b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["' + touch.encode() + b'"]}'),
        ("pickle", b"cos\nsystem\n(S'" + touch.encode() + b"'\ntR."),
        ("bytes", b"abc"),
    ]


def test_the_payloads_work_on_langgraphs_default(tmp_path: Path) -> None:
    JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(payloads(tmp_path / "touched")[0])
    assert (tmp_path / "touched").exists()


@pytest.mark.parametrize("which", range(12))
async def test_a_crafted_checkpoint_is_refused_and_executes_nothing(tmp_path: Path, which: int) -> None:
    path, target = tmp_path / "tertulia.db", tmp_path / "touched"
    async with open_checkpoints(path) as checkpointer:
        graph = counting_graph(checkpointer, turns=3, interrupt_after=["speak"])
        await graph.ainvoke({"turn": 0}, thread("k3f9"), durability="exit")
        checkpointer.conn.execute("UPDATE checkpoints SET type = ?, checkpoint = ?", payloads(target)[which])
        checkpointer.conn.commit()
        with pytest.raises(StorageError, match=r"tertulia.db is damaged, or holds what Tertulia never writes"):
            await graph.ainvoke(None, thread("k3f9"), durability="exit")
    assert not target.exists()


# --- the file -------------------------------------------------------------------------------------------------------


async def test_writes_of_a_task_are_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    async with open_checkpoints(tmp_path / "tertulia.db") as checkpointer:
        await counting_graph(checkpointer, turns=1).ainvoke({"turn": 0}, thread("k3f9"))
        checkpoint = await checkpointer.aget_tuple(thread("k3f9"))
        checkpointer.conn.execute(
            "CREATE TRIGGER full BEFORE INSERT ON writes WHEN new.idx = 1 BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        with pytest.raises(sqlite3.IntegrityError):
            await checkpointer.aput_writes(checkpoint.config, [("said", ["a"]), ("turn", 2)], "task")
        assert checkpointer.conn.execute("SELECT count(*) FROM writes WHERE task_id = 'task'").fetchone() == (0,)
