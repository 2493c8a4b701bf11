"""The utterance graph as a node of somebody's graph: sync and async, interrupted and resumed, in words."""

import asyncio
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel
from support.hosted import HELLO, PEOPLE, graph_of, speaking, thread
from typing_extensions import TypedDict

import tertulia as tt
import tertulia.langgraph
from tertulia.langgraph import ParentStateError, PeopleError
from tertulia.state.errors import SettingError, TertuliaError, UsageError


def test_ten_lines_sync_and_async_interrupted_and_resumed(tmp_path: Path) -> None:
    class State(MessagesState):
        topic: str
        utterance: tertulia.langgraph.Utterance

    speak = tertulia.langgraph.utterance(
        people=["Ana", "Bo"], model="rehearsal", removal_factor=0.5, review=True, store=str(tmp_path / "a.db")
    )
    builder = StateGraph(State)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    said = {}
    stopped = graph.invoke(HELLO, thread("sync"))
    said["sync"] = (stopped["__interrupt__"][0].value, graph.invoke(Command(resume=True), thread("sync")))

    async def talk() -> None:
        stopped = await graph.ainvoke(HELLO, thread("async"))
        resumed = await graph.ainvoke(Command(resume=True), thread("async"))
        said["async"] = (stopped["__interrupt__"][0].value, resumed)

    asyncio.run(talk())
    for shown, after in said.values():
        assert shown["text"] == after["utterance"]["text"] == after["messages"][-1].content
    without_place = [{**after["utterance"], "run": ""} for _, after in said.values()]
    assert without_place[0] == without_place[1]
    assert said["sync"][1]["messages"][-1].id != said["async"][1]["messages"][-1].id


def test_words_scores_and_removed_units_are_those_in_the_store(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    graph.invoke(HELLO, thread())
    said = graph.invoke({"messages": []}, thread())["utterance"]
    turn = tt.open_store(tmp_path / "talk.db").run(said["run"]).turn(said["turn"])
    assert (said["speaker"], said["text"]) == (turn.speaker, turn.text)
    assert said["speaker"] == "Bo"
    assert said["scores"] == turn.details.record.scores
    assert said["removed_share"] == pytest.approx(turn.removed_share, abs=1e-12)
    assert 0.3 < said["removed_share"] <= 0.5
    removed = [unit for unit in said["units"] if unit["removed"]]
    assert [unit["id"] for unit in removed] == list(turn.details.record.removed)
    assert said["removed"] == [unit["text"] for unit in removed] != []
    assert {unit["id"]: unit["score"] for unit in said["units"]} == said["scores"]
    texts = " ".join(unit["text"] for unit in said["units"])
    assert "The boat that was sold" in texts
    assert graph.get_state(thread()).values["messages"][0].content in texts
    assert said["removal_factor"] == 0.5


def test_a_conversation_is_one_run_and_people_speak_in_turn(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    for _ in range(4):
        state = graph.invoke(HELLO, thread())
    (run,) = tt.open_store(tmp_path / "talk.db").runs()
    assert [(turn.speaker, turn.text) for turn in run.turns] == [(m.name, m.content) for m in state["messages"]]
    assert [turn.speaker for turn in run.turns] == ["Ana", "Bo", "Ana", "Bo"]
    assert run.status == "finished"


def test_what_others_say_in_messages_goes_in(tmp_path: Path) -> None:
    graph = speaking(tmp_path, people=PEOPLE[:1], removal_factor=0)
    messages = [SystemMessage("Be brief."), HumanMessage("Did you see the kingfisher?")]
    said = graph.invoke({"messages": messages}, thread())["utterance"]
    texts = [unit["text"] for unit in said["units"]]
    assert any("Did you see the kingfisher?" in text for text in texts)
    assert any("User" in text for text in texts)
    assert not any("Be brief." in text for text in texts)
    assert said["scores"] is None
    assert said["removed"] == []


# --- LangGraph's own ways -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["plain", "ours"])
def test_checkpointers_of_files_do_when_synchronous(tmp_path: Path, which: str) -> None:
    opened = {"plain": SqliteSaver.from_conn_string, "ours": tertulia.langgraph.checkpointer}[which]
    with opened(str(tmp_path / "checkpoints.db")) as saver:
        graph = speaking(tmp_path, saver, interrupt_before=["generate"])
        graph.invoke(HELLO, thread())
        assert graph.invoke(None, thread())["messages"][-1].name == "Ana"


async def test_an_asynchronous_checkpointer_does_and_steps_are_streamed(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
        graph = speaking(tmp_path, saver)
        events = [
            (namespace, update)
            async for namespace, update in graph.astream(HELLO, thread(), stream_mode="updates", subgraphs=True)
        ]
    inner = [next(iter(update)) for namespace, update in events if namespace]
    assert inner[:3] == ["enter", "think", "begin_utterance"]
    assert {"retrieve_memory", "score", "prune", "generate", "record"} <= set(inner)
    assert events[-1][1]["node"]["messages"][-1].name == "Ana"


def test_removed_units_are_edited_before_anything_is_said(tmp_path: Path) -> None:
    graph = speaking(tmp_path, interrupt_before=["generate"])
    graph.invoke(HELLO, thread())
    (task,) = graph.get_state(thread(), subgraphs=True).tasks
    assert task.state.next == ("generate",)
    assert task.state.values["removed"]
    graph.update_state(task.state.config, {"removed": ["memory.memory_1"]})
    said = graph.invoke(None, thread())["utterance"]
    assert [unit["id"] for unit in said["units"] if unit["removed"]] == ["memory.memory_1"]
    assert "- Ana sold the boat in March." in said["removed"]
    (run,) = tt.open_store(tmp_path / "talk.db").runs()
    assert list(run.turn(1).details.record.removed) == ["memory.memory_1"]


@pytest.mark.parametrize(
    ("removed", "says"),
    [
        (
            ["- Ana sold the boat in March."],
            r"^removed has '- Ana sold the boat in March\.', which .* 'memory\.memory_1'",
        ),
        (
            ["memory.memory_9"],
            r"^removed has 'memory\.memory_9', which is no id of a unit of the prompt; ids are such as",
        ),
        ([None], r"^removed has None, which is no id"),
        ("memory.memory_1", r"^removed is 'memory\.memory_1'; it is a list of ids of units, such as \["),
        (None, r"^removed is None; it is a list"),
    ],
)
def test_an_edit_with_other_than_ids_of_units_is_told(tmp_path: Path, removed: Any, says: str) -> None:
    graph = speaking(tmp_path, interrupt_before=["generate"])
    graph.invoke(HELLO, thread())
    (task,) = graph.get_state(thread(), subgraphs=True).tasks
    edited = graph.update_state(task.state.config, {"removed": removed})
    with pytest.raises(UsageError, match=says):
        graph.invoke(None, thread())
    graph.update_state(edited, {"removed": ["memory.memory_1"]})
    assert graph.invoke(None, thread())["utterance"]["removed"][-1] == "- Ana sold the boat in March."


def test_time_travel_says_the_same_again_and_branches_without_touching_what_was(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    for _ in range(3):
        last = graph.invoke(HELLO, thread())
    history = list(graph.get_state_history(thread()))
    before = next(state for state in history if state.next == ("node",) and len(state.values["messages"]) == 2)
    again = graph.invoke(None, before.config)
    assert [(m.content, m.id) for m in again["messages"]] == [(m.content, m.id) for m in last["messages"]]
    changed = graph.update_state(before.config, {"messages": [HumanMessage("No, the kingfisher!", name="Bo")]})
    other = graph.invoke(None, changed)
    assert other["messages"][2].content == "No, the kingfisher!"
    assert len(other["messages"]) == 4
    assert other["messages"][3].content != last["messages"][2].content
    runs = tt.open_store(tmp_path / "talk.db").runs()
    spoken = [[turn.text for turn in run.turns] for run in runs]
    assert [m.content for m in last["messages"]] in spoken
    assert [m.content for m in other["messages"]] in spoken
    forks = [run for run in runs if run.parent is not None]
    assert forks
    assert all(turns[:2] == [m.content for m in last["messages"][:2]] for turns in spoken)


def test_a_person_puts_other_words(tmp_path: Path) -> None:
    graph = speaking(tmp_path, review=True)
    shown = graph.invoke(HELLO, thread())["__interrupt__"][0].value
    assert shown["speaker"] == "Ana"
    state = graph.invoke(Command(resume="The boat is gone,  and that is that."), thread())
    assert state["messages"][-1].content == "The boat is gone, and that is that."
    assert state["utterance"]["by_hand"] is True
    assert state["utterance"]["removed"] == shown["removed"]
    (run,) = tt.open_store(tmp_path / "talk.db").runs()
    assert run.turns[0].text == "The boat is gone, and that is that."
    assert [candidate.origin for candidate in run.turn(1).candidates][-1] == "by_hand"
    drawn = len(run.turn(1).candidates) - 1
    assert re.match(rf"^A person wrote this line in place of candidate \d of {drawn}; λ = 0.5 had", run.turn(1).why)
    assert {unit["line_score"] for unit in state["utterance"]["units"]} == {None}
    assert run.turn(1).leaned_on is None


def test_other_words_after_time_travel_leave_the_turn_that_was_recorded(tmp_path: Path) -> None:
    graph = speaking(tmp_path, review=True)
    graph.invoke(HELLO, thread())
    waiting = graph.get_state(thread()).config
    graph.invoke(Command(resume="The boat is gone."), thread())
    graph.invoke(None, waiting)  # LangGraph asks again
    assert graph.invoke(Command(resume="It sank."), thread())["messages"][-1].content == "It sank."
    texts = {run.turns[0].text for run in tt.open_store(tmp_path / "talk.db").runs()}
    assert texts == {"The boat is gone.", "It sank."}


@pytest.mark.parametrize("by_id", [False, True])
def test_a_wrong_answer_is_asked_about_again(tmp_path: Path, by_id: bool) -> None:
    graph = speaking(tmp_path, review=True)

    def answer(given: Any) -> Any:
        (asked,) = shown["__interrupt__"]
        return graph.invoke(Command(resume={asked.id: given} if by_id else given), thread())

    first = (shown := graph.invoke(HELLO, thread()))["__interrupt__"][0].value
    for wrong in (7, "  ", {"text": "Hm."}, False, ["Hm."], *([None] if by_id else [])):
        shown = answer(wrong)
        again = shown["__interrupt__"][0].value
        assert again.pop("problem").startswith(f"the utterance was answered with {wrong!r}; resume with True")
        assert again == first  # the proposed line is still there
    state = answer(True)
    assert state["messages"][-1].content == first["text"]
    assert graph.get_state(thread()).next == ()
    assert graph.invoke({"messages": []}, thread())["__interrupt__"][0].value["speaker"] == "Bo"


@pytest.mark.parametrize(("settings", "is_heard"), [({}, True), ({"perception_threshold": 1}, False)])
def test_a_speaker_hears_the_line_that_they_answer(tmp_path: Path, settings: dict[str, Any], is_heard: bool) -> None:
    graph = speaking(tmp_path, settings=settings)
    said = graph.invoke({"messages": [("user", "Yes.")]}, thread())["utterance"]
    assert ("Yes." in " ".join(unit["text"] for unit in said["units"])) is is_heard


def test_no_answer_at_all_leaves_the_question_open(tmp_path: Path) -> None:
    graph = speaking(tmp_path, review=True)
    first = graph.invoke(HELLO, thread())["__interrupt__"][0].value
    with suppress(UnboundLocalError):  # of LangGraph 1.2, whatever the graph
        graph.invoke(Command(resume=None), thread())
    assert graph.get_state(thread()).next == ("node",)
    assert graph.invoke(Command(resume=True), thread())["messages"][-1].content == first["text"]


def test_a_thread_that_another_graph_has_paused_is_told(tmp_path: Path) -> None:
    saver = InMemorySaver()
    speaking(tmp_path, saver, interrupt_before=["generate"]).invoke(HELLO, thread())
    talk = tertulia.langgraph.group_chat([*PEOPLE, "Cy"], model="rehearsal", store=str(tmp_path / "talk.db"))
    with pytest.raises(UsageError, match=r"^the thread has paused in the graph utterance, and can't go on in group"):
        graph_of(talk, saver).invoke(None, thread())
    said = speaking(tmp_path, saver, interrupt_before=["generate"]).invoke(None, thread())
    assert said["messages"][-1].name == "Ana"


@pytest.mark.parametrize("step", ["think", "score", "record"])
@pytest.mark.parametrize(
    "other", [{"people": ["Xi", "Yo"]}, {"removal_factor": 0.9}, {"additions": tt.Additions(nodes={"score": "length"})}]
)
def test_a_thread_goes_on_in_no_graph_of_other_people_or_settings(
    tmp_path: Path, step: str, other: dict[str, Any]
) -> None:
    saver = InMemorySaver()
    speaking(tmp_path, saver, interrupt_before=[step]).invoke(HELLO, thread())
    with pytest.raises(UsageError, match=r"^the thread has paused in the graph utterance, and can't go on in one of"):
        speaking(tmp_path, saver, **other).invoke(None, thread())
    assert speaking(tmp_path, saver).invoke(None, thread())["messages"][-1].name == "Ana"
    assert speaking(tmp_path, saver, **other).invoke({"messages": []}, thread())["messages"]  # the next turn is free


_PROGRAM = """
import sys
from pathlib import Path
import tertulia
from langgraph.checkpoint.sqlite import SqliteSaver
from support.hosted import HELLO, speaking, thread

@tertulia.node("decide_ending")
async def go_on(state, runtime):
    return {"ended": False}

folder, store = Path(sys.argv[1]), sys.argv[2]
with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
    added = tertulia.Additions(nodes={"decide_ending": go_on})
    graph = speaking(folder, saver, interrupt_before=["generate"], store=store, additions=added)
    if graph.get_state(thread()).next:
        print(graph.invoke(None, thread())["messages"][-1].content)
    else:
        graph.invoke(HELLO, thread())
"""


def program(folder: Path, store: str) -> subprocess.CompletedProcess[str]:
    paths = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
    code = f"import sys\nsys.path[:0] = {paths!r}\n{_PROGRAM}"
    (folder / "program.py").write_text(code)  # the source of a node is read
    command = [sys.executable, str(folder / "program.py"), str(folder), store]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_another_process_goes_on(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = speaking(tmp_path / "whole").invoke(HELLO, thread())["messages"][-1].content
    stopped, resumed = (program(tmp_path, str(tmp_path / "talk.db")) for _ in range(2))
    assert (stopped.returncode, resumed.returncode) == (0, 0), (stopped.stderr, resumed.stderr)
    assert resumed.stdout.strip() == whole


# --- states of parents ----------------------------------------------------------------------------------------------


class Plain(TypedDict, total=False):
    messages: list[AnyMessage]
    topic: str


class Model(BaseModel):
    messages: list[AnyMessage]
    topic: str = ""
    utterance: dict[str, Any] | None = None


@dataclass
class Data:
    messages: list[Any] = field(default_factory=list)
    topic: str = ""


@pytest.mark.parametrize("state", [MessagesState, Plain, Model, Data], ids=lambda state: state.__name__)
def test_a_parent_may_have_any_kind_of_state(tmp_path: Path, state: Any) -> None:
    graph = speaking(tmp_path, state=state)
    given = {
        "messages": [{"role": "user", "content": "Hello?"}] if state in (Plain, Data) else [HumanMessage("Hello?")]
    }
    messages = graph.invoke(given, thread())["messages"]
    assert [message.name for message in messages] == [None, "Ana"]


class Lacking(TypedDict, total=False):
    topic: str
    question: str


@pytest.mark.parametrize(
    ("state", "given", "says"),
    [
        (Lacking, {"topic": "The boat"}, r"has no field `messages`.*MessagesState"),
        (Lacking, {"question": "The boat?"}, r"has no field `messages`"),
        (Plain, {"topic": "The boat"}, r"give it, if only as \[\]"),
        (
            Plain,
            {"messages": [{"role": "king", "content": "Hm."}]},
            r"^the field `messages` holds no mess.*'king'",
        ),
        (Plain, {"messages": [{"role": "user", "content": 7}]}, r"^the field `messages` holds no messages: .*not 7"),
        (None, {"messages": [], "speaker": "Anna"}, r"^speaker=Anna: is none of the people \(Ana, Bo\).*Ana"),
        (None, {"messages": [AIMessage("Hm.")]}, r"^a message of a model has no name \('Hm\.'\)"),
        (None, {"messages": [], "topic": 7}, r"^the field `topic` of the parent's state is 7, and takes a text"),
    ],
)
def test_a_state_that_does_not_fit_is_told(tmp_path: Path, state: Any, given: Any, says: str) -> None:
    graph = speaking(tmp_path, **({} if state is None else {"state": state}))
    with pytest.raises(ParentStateError, match=says):
        graph.invoke(given, thread())
    with pytest.raises(ParentStateError, match=says):
        asyncio.run(graph.ainvoke(given, thread("async")))


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"people": [{"traits": "dry"}]}, PeopleError, r"^person 1 has no name"),
        ({"people": ["Ana", " "]}, PeopleError, r"^person 2 has no name"),
        ({"people": ["Ana", "Ana"]}, PeopleError, r"^two people are called 'Ana'; give them names that differ$"),
        ({"people": []}, PeopleError, r"nobody is given"),
        ({"people": "Ana"}, PeopleError, r"takes a list of people"),
        ({"people": [{"name": "Ana", "trait": "dry"}]}, PeopleError, r"^Ana: trait='dry': unknown field.*traits"),
        ({"people": [{"name": "Ana", "age": "old"}]}, PeopleError, r"^Ana: age='old': "),
        ({"removal_factor": 1.5}, SettingError, r"^removal_factor=1\.5"),
        ({"settings": {"tempreature": 1}}, UsageError, r"unknown parameter 'tempreature'.*temperature"),
        ({"additions": tt.Additions(nodes={"score": "lenght"})}, SettingError, r"^nodes\.score=lenght"),
        ({"checkpointer": "a.db"}, UsageError, r"^checkpointer='a\.db': an open saver is expected.*as saver$"),
        ({"seed": "one"}, SettingError, r"^seed='one': a seed is an integer"),
        ({"model": None}, SettingError, r"^model=None: a model is named by a text"),
        ({"settings": ["temperature"]}, SettingError, r"^settings=\['temperature'\]: parameters are given by name"),
        ({"store": 5}, SettingError, r"^store=5: a path is a text"),
        ({"removal_factor": True}, SettingError, r"^removal_factor=True: takes a number"),
        ({"lam": 0.5}, UsageError, r"^utterance has no argument 'lam'; write removal_factor=0\.5$"),
        ({"temperature": 0.5}, UsageError, r"^temperature is a setting: settings=\{'temperature': 0\.5\}$"),
        ({"participants": []}, UsageError, r"^utterance has no argument 'participants'; write people=\[\]$"),
    ],
)
def test_what_can_not_be_is_told_when_the_graph_is_made(options: dict[str, Any], error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        tertulia.langgraph.utterance(**{"people": PEOPLE, "model": "rehearsal", "store": ":memory:", **options})


def test_somebody_alone_is_told(tmp_path: Path) -> None:
    with pytest.raises(PeopleError, match=r"^Ana would talk alone; give two people at least"):
        speaking(tmp_path, people=["Ana"]).invoke(HELLO, thread())


def test_a_model_that_is_none_is_told_when_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(TertuliaError, match="nowhere"):
        speaking(tmp_path, model="nowhere").invoke(HELLO, thread())


@pytest.mark.parametrize("wanted", [(None,) * 4, ("Bo", "Bo", None, "Ana")])
def test_a_graph_alone_says_on_one_thread_what_it_says_on_several(
    tmp_path: Path, wanted: tuple[str | None, ...]
) -> None:
    speak = tertulia.langgraph.utterance(
        PEOPLE, model="rehearsal", store=str(tmp_path / "talk.db"), checkpointer=InMemorySaver()
    )
    heard = []
    for threads in ("0000", "1234"):
        messages: list[AnyMessage] = []
        for name, speaker in zip(threads, wanted, strict=True):
            given: Any = {"messages": messages} | ({} if speaker is None else {"speaker": speaker})
            messages = speak.invoke(given, thread(name))["messages"]
        heard.append([(message.name, message.content) for message in messages])
    assert heard[0] == heard[1]
    following = {"Ana": "Bo", "Bo": "Ana", None: "Ana"}
    expected: list[str] = []
    for speaker in wanted:
        expected.append(speaker or following[expected[-1] if expected else None])
    assert [name for name, _ in heard[0]] == expected


def test_the_graph_runs_alone_too(tmp_path: Path) -> None:
    speak = tertulia.langgraph.utterance(
        PEOPLE, model="rehearsal", store=str(tmp_path / "a.db"), checkpointer=InMemorySaver()
    )
    assert speak.invoke({"messages": []}, thread())["utterance"]["speaker"] == "Ana"
    assert speak.get_state(thread()).next == ()
    assert graph_of(speak)
