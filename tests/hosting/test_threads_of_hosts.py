"""Hosted graphs in cold processes, in threads, after a fork, in event loops that come and go; and what they leave."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send
from support.hosted import HELLO, PEOPLE, graph_of, speaking, thread

import tertulia as tt
import tertulia.langgraph
from tertulia.langgraph.room import room
from tertulia.state.errors import UsageError

_COLD = """
import sys, threading
from pathlib import Path
import tertulia.langgraph as tl
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

way, count, store = sys.argv[1], int(sys.argv[2]), sys.argv[3]
speak = tl.utterance(["Ana", "Bo"], store=store, model="rehearsal", removal_factor=0.5)
builder = StateGraph(MessagesState)
builder.add_node("speak", speak)
if way == "send":
    ask = lambda state: [Send("speak", {"messages": [("user", f"Question {i}?")]}) for i in range(count)]
    builder.add_conditional_edges(START, ask, ["speak"])
    lines = builder.compile().invoke({"messages": []})["messages"]
else:
    builder.add_edge(START, "speak")
    graph, gate, lines = builder.compile(), threading.Barrier(count), []
    def one(number):
        gate.wait()
        lines.append(graph.invoke({"messages": [("user", f"Question {number}?")]})["messages"][-1])
    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    [each.start() for each in threads]
    [each.join() for each in threads]
assert len(lines) == len({line.id for line in lines}) == count, lines
assert len({line.response_metadata["tertulia"]["run"] for line in lines}) == count
"""


def cold(way: str, count: int, folder: Path) -> None:
    paths = [str(Path(__file__).parents[2])]
    code = f"import sys\nsys.path[:0] = {paths!r}\n{_COLD}"
    command = [sys.executable, "-c", code, way, str(count), str(folder / f"{way}{count}.db")]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(("way", "count"), [("send", 3), ("send", 16), ("thread", 4), ("thread", 16)])
def test_the_first_calls_of_a_process_come_at_once(tmp_path: Path, way: str, count: int) -> None:
    cold(way, count, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("way", ["send", "thread"])
def test_no_cold_process_of_many_fails(tmp_path: Path, way: str) -> None:
    for number in range(100):
        (tmp_path / str(number)).mkdir()
        cold(way, 2 + number % 15, tmp_path / str(number))


def test_threads_that_call_again_and_again_have_a_conversation_each(tmp_path: Path) -> None:
    graph, failed = speaking(tmp_path), []

    def talk(name: str) -> None:
        try:
            for _ in range(10):
                said = graph.invoke({"messages": []}, thread(name))["messages"]
            assert [message.name for message in said] == ["Ana", "Bo"] * 5
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=talk, args=(str(number),)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
    runs = tt.open_store(tmp_path / "talk.db").runs()
    assert [len(run.turns) for run in runs] == [10] * 8


def test_event_loops_come_and_go(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    for _ in range(4):
        said = asyncio.run(graph.ainvoke({"messages": []}, thread()))["messages"]
    assert [message.name for message in said] == ["Ana", "Bo", "Ana", "Bo"]

    async def cancelled() -> None:
        task = asyncio.ensure_future(graph.ainvoke({"messages": []}, thread("other")))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancelled())
    assert asyncio.run(graph.ainvoke({"messages": []}, thread("other")))["messages"][-1].name == "Ana"


def descriptors() -> Sequence[str]:
    links = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
    return [os.readlink(link) for link in links if os.path.exists(link)]


_FIRST = """
import gc, sys, weakref
import tertulia.langgraph as tl

graph = tl.utterance(["Ana", "Bo"], store=sys.argv[1], model="rehearsal", removal_factor=0.5)
graph.invoke({"messages": [("user", "Hello.")]}, {"configurable": {"thread_id": "1"}})
gone = weakref.ref(graph)
del graph
gc.collect()
assert gone() is None
"""


def test_the_graph_whose_step_makes_the_room_is_not_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _FIRST, str(tmp_path / "first.db")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc on this system")
@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.full)])
def test_graphs_that_are_gone_leave_nothing_open(tmp_path: Path, count: int) -> None:
    speaking(tmp_path, store=str(tmp_path / "first.db")).invoke(HELLO, thread())  # the room itself
    gc.collect()
    room().wait(lambda: asyncio.sleep(0))
    threads, before = threading.active_count(), len(descriptors())
    for number in range(count):
        speaking(tmp_path, store=str(tmp_path / f"{number % 20}.db")).invoke(HELLO, thread())
    gc.collect()
    room().wait(lambda: asyncio.sleep(0))
    assert [name for name in descriptors() if str(tmp_path) in name] == []
    assert (threading.active_count(), len(descriptors())) <= (threads, before)


def test_two_graphs_share_a_store_and_the_last_closes_it(tmp_path: Path) -> None:
    first, second = speaking(tmp_path), speaking(tmp_path)
    first.invoke(HELLO, thread())
    second.invoke(HELLO, thread())
    del first
    gc.collect()
    assert second.invoke(HELLO, thread())["messages"][-1].name == "Bo"
    elsewhere = speaking(tmp_path, store=str(tmp_path / "other.db")).invoke(HELLO, thread())
    assert elsewhere["messages"][-1].name == "Ana"
    assert len(tt.open_store(tmp_path / "other.db").runs()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_process_goes_on_with_the_conversation(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    graph.invoke(HELLO, thread())
    process = os.fork()
    if process == 0:  # pragma: no cover
        said = graph.invoke(HELLO, thread())["messages"]
        os._exit(0 if [message.name for message in said] == ["Ana", "Bo"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    # The same seed says the same here, in a branch of the turn that the child has stored.
    assert graph.invoke(HELLO, thread())["messages"][-1].name == "Bo"


def test_a_process_ends_at_once_and_closes_its_stores(tmp_path: Path) -> None:
    cold("send", 2, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["send2.db"]


def test_a_node_that_would_wait_for_itself_is_told(tmp_path: Path) -> None:
    async def inside() -> None:
        with pytest.raises(UsageError, match="would wait for itself: await its ainvoke"):
            speaking(tmp_path).invoke(HELLO, thread())

    room().wait(inside)


# --- fan-out --------------------------------------------------------------------------------------------------------


def fanned_out(node: Any, sends: Sequence[dict[str, Any]]) -> list[AIMessage]:
    class State(MessagesState, total=False):
        speaker: str

    builder = StateGraph(State)
    builder.add_node("speak", node)
    builder.add_conditional_edges(START, lambda state: [Send("speak", given) for given in sends], ["speak"])
    return list(builder.compile().invoke({"messages": []})["messages"])


def test_people_who_answer_one_line_at_once_say_their_own_words(tmp_path: Path) -> None:
    speak = tertulia.langgraph.utterance(PEOPLE, model="rehearsal", removal_factor=0.5, store=str(tmp_path / "a.db"))
    held = graph_of(speak).invoke(HELLO)["messages"]
    said = fanned_out(speak, [{"messages": held, "speaker": name} for name in ("Ana", "Bo", "Ana", "Bo")])
    assert [message.name for message in said] == ["Ana", "Bo", "Ana", "Bo"]
    alone = {name: fanned_out(speak, [{"messages": held, "speaker": name}])[-1].content for name in ("Ana", "Bo")}
    assert [message.content for message in said] == [alone[message.name or ""] for message in said]
    runs = {message.response_metadata["tertulia"]["run"]: message for message in said}
    assert len(runs) == len({message.id for message in said}) == 4
    store = tt.open_store(tmp_path / "a.db")
    assert all(store.run(run).turn(2).text == message.content for run, message in runs.items())


def test_a_meeting_is_fanned_out_too(tmp_path: Path) -> None:
    people = [*PEOPLE, {"name": "Cy"}]
    talk = tertulia.langgraph.group_chat(people, rounds=2, model="rehearsal", store=str(tmp_path / "a.db"))
    held = graph_of(talk).invoke({"messages": [("user", "Hello?")]})["messages"]
    said = fanned_out(talk, [{"messages": held}] * 4)
    assert len({message.id for message in said}) == len(said) == 4 * len({message.content for message in said}) > 0


def test_interrupts_at_once_are_answered_by_id(tmp_path: Path) -> None:
    speak = tertulia.langgraph.utterance(PEOPLE, model="rehearsal", review=True, store=str(tmp_path / "a.db"))
    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak)
    sends = [Send("speak", {"messages": [("user", f"Question {number}?")]}) for number in range(3)]
    builder.add_conditional_edges(START, lambda state: sends, ["speak"])
    graph = builder.compile(checkpointer=InMemorySaver())
    asked = graph.invoke({"messages": []}, thread())["__interrupt__"]
    proposed = {each.id: each.value["text"] for each in asked}
    one, other, third = proposed
    (again,) = graph.invoke(Command(resume={one: True, other: 5, third: "Mine."}), thread())["__interrupt__"]
    assert again.value["text"] == proposed[other]
    assert again.id not in (one, third)  # LangGraph gives a second interrupt of a task an id of its own
    said = graph.invoke(Command(resume={again.id: True}), thread())["messages"]
    assert {message.content for message in said} == {proposed[one], proposed[other], "Mine."}


@pytest.mark.parametrize("node", ["utterance", "group_chat", "exchange"])
def test_a_run_is_interrupted_as_long_as_a_line_is_being_said(tmp_path: Path, node: str) -> None:
    people = [{"name": name, "album": ["a boat"]} if node == "exchange" else name for name in ("Ana", "Bo", "Cy")]
    step = "record_speech" if node == "group_chat" else "record"
    options: Any = {"model": "rehearsal", "store": str(tmp_path / "t.db"), "interrupt_before": [step]}
    graph = getattr(tertulia.langgraph, node)(people, **options, checkpointer=InMemorySaver())
    graph.invoke({"messages": [("user", "Ana, who sold the boat?")]}, thread())
    (run,) = tertulia.open_store(tmp_path / "t.db").runs()
    assert run.status == "interrupted"
    with pytest.raises(tertulia.UsageError, match=r"is of a graph of your own, which has paused .*with None as its"):
        run.resume()
    graph.invoke(None, thread())
    (run,) = tertulia.open_store(tmp_path / "t.db").runs()
    assert run.status == "finished"


def test_a_run_of_a_failed_branch_is_not_finished(tmp_path: Path) -> None:
    @tertulia.node("generate")
    async def fail(state: Any, runtime: Any) -> Any:
        raise ValueError("no")

    added = tertulia.Additions(nodes={"generate": fail})
    speak = tertulia.langgraph.utterance(
        ["Ana", "Bo"], model="rehearsal", store=str(tmp_path / "t.db"), additions=added
    )
    with pytest.raises(tertulia.NodeError):
        speak.invoke({"messages": []})
    assert [run.status for run in tertulia.open_store(tmp_path / "t.db").runs()] == ["interrupted"]
