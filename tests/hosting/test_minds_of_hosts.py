"""Minds that a host carries: they count in turns of their run, and lines may be removed, edited and inserted."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

import tertulia.langgraph
from tertulia.langgraph import ParentStateError
from tertulia.nodes.meeting.assess import assess
from tertulia.state.parameters import Order

PEOPLE = ["Ana", "Bo", "Cy"]


class WithMinds(MessagesState):
    minds: dict[str, Any] | None


def hosted(tmp_path: Path, state: type = WithMinds, **options: Any) -> Any:
    chat = tertulia.langgraph.group_chat(
        PEOPLE, model="rehearsal", rounds=2, removal_factor=0, store=tmp_path / "t.db", **options
    )
    builder: Any = StateGraph(state)
    builder.add_node("chat", chat)
    builder.add_edge(START, "chat")
    builder.add_edge("chat", END)
    return builder.compile(checkpointer=InMemorySaver())


def edited(message: AnyMessage) -> AnyMessage:
    return message.model_copy(update={"content": "I never said that."})


ANEW = [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("So far: boats.")]

#: By name, what a host does to the messages.
CHANGES: dict[str, Callable[[list[AnyMessage]], list[Any]]] = {
    "last removed": lambda messages: [RemoveMessage(str(messages[-1].id))],
    "first edited": lambda messages: [edited(messages[0])],
    "middle edited": lambda messages: [edited(messages[len(messages) // 2])],
    "all removed": lambda messages: [RemoveMessage(REMOVE_ALL_MESSAGES)],
    "summary and last": lambda messages: [
        RemoveMessage(REMOVE_ALL_MESSAGES),
        HumanMessage("So far: boats."),
        messages[-1],
    ],
    "in front": lambda messages: [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("So far: boats."), *messages],
}


@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize("change", CHANGES)
def test_a_meeting_goes_on_after_lines_were_changed(tmp_path: Path, change: str, order: str) -> None:
    graph, config = hosted(tmp_path, order=order), {"configurable": {"thread_id": "1"}}
    graph.invoke({"messages": [("user", "Hi")]}, config)
    before = graph.invoke({"messages": []}, config)["messages"]
    after = graph.invoke({"messages": CHANGES[change](before)}, config)
    assert {*after["minds"]} >= {*PEOPLE}
    noticed = [turn for mind in after["minds"].values() for turn in mind["noticed"]]
    run = tertulia.open_store(tmp_path / "t.db").runs()[0]
    assert max(noticed, default=0) <= len(run.turns)


def test_minds_that_are_carried_into_another_thread_keep_their_feelings(tmp_path: Path) -> None:
    minds = hosted(tmp_path).invoke({"messages": [("user", "Hi")]}, {"configurable": {"thread_id": "1"}})["minds"]
    carried = {name: {**mind, "emotion": "sad", "noticed": [40], "spoke": 39} for name, mind in minds.items()}
    graph, config = hosted(tmp_path, interrupt_before=["open_round"]), {"configurable": {"thread_id": "2"}}
    graph.invoke({"messages": [("user", "Hi")], "minds": carried}, config)
    (task,) = graph.get_state(config, subgraphs=True).tasks
    entered = [task.state.values["minds"][name] for name in PEOPLE]
    assert [(mind["emotion"], mind["spoke"], mind["noticed"]) for mind in entered] == [("sad", 0, [])] * len(PEOPLE)
    assert graph.invoke(None, config)["minds"].keys() >= {*PEOPLE}


def test_a_partial_mind_is_completed_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    graph, config = hosted(tmp_path), {"configurable": {"thread_id": "1"}}
    graph.invoke({"messages": [("user", "Hi")], "minds": None}, config)
    graph.update_state(config, {"minds": {"Ana": {"emotion": "sad"}}})
    assert graph.invoke({"messages": []}, config)["minds"]["Ana"].keys() >= {"spoke", "noticed"}
    graph.update_state(config, {"minds": {"Ana": {"emotion": "furios"}}})
    with pytest.raises(ParentStateError, match="Ana feels 'furios', which is none of calm"):
        graph.invoke({"messages": []}, config)
    for wrong in ({"Ana": 7}, [1], "sad"):
        graph.update_state(config, {"minds": wrong})
        with pytest.raises(tertulia.UsageError, match=r"^minds: .* are no minds by name; carry on"):
            graph.invoke({"messages": []}, config)


@pytest.mark.parametrize(
    ("minds", "says"),
    [
        ({"Zed": {}}, r"^minds: 'Zed' is nobody in this meeting \(known: Ana, Bo, Cy, User\)"),
        ({"Boo": {}}, r"^minds: 'Boo' is nobody in this meeting.*Bo"),
        ({"Ana": {"foo": 1}}, r"^minds: Ana: unknown field 'foo'"),
        ({"Ana": {"emotoin": "sad"}}, r"^minds: Ana: unknown field 'emotoin'.*emotion"),
        ({"Ana": {"emotion_strength": "much"}}, r"^minds: Ana: emotion_strength='much': "),
    ],
)
def test_a_mind_of_nobody_and_an_unknown_field_are_told_before_anything_runs(
    tmp_path: Path, minds: Any, says: str
) -> None:
    graph, config = hosted(tmp_path), {"configurable": {"thread_id": "1"}}
    with pytest.raises(ParentStateError, match=says):
        graph.invoke({"messages": [("user", "Hi")], "minds": minds}, config)
    assert not (tmp_path / "t.db").exists() or not tertulia.open_store(tmp_path / "t.db").runs()


def test_a_step_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(tertulia.UsageError, match=r"interrupt_before=thnk: there is no such step.*think.*are enter"):
        hosted(tmp_path, interrupt_before=["thnk"])
    with pytest.raises(tertulia.UsageError) as refused:
        hosted(tmp_path, interrupt_before=["nope"])
    assert str(refused.value).count("open_round") == 1
    graph, config = hosted(tmp_path, interrupt_before="*"), {"configurable": {"thread_id": "1"}}
    graph.invoke({"messages": [("user", "Hi")]}, config)
    assert graph.get_state(config, subgraphs=True).tasks[0].state.next == ("enter",)


@tertulia.node("after_assess", reads=["thought"])
async def critic(state: Mapping[str, Any], runtime: Any) -> Mapping[str, Any]:
    return {"thought": "A crane is no boat."}


@tertulia.node("assess", reads=["active"])
async def other_assess(state: Mapping[str, Any], runtime: Any) -> Mapping[str, Any]:
    return await assess(state, runtime)  # type: ignore[arg-type]


@pytest.mark.parametrize(("people", "said"), [(PEOPLE, []), (PEOPLE[:2], [("user", "Who sold the boat?")])])
def test_an_utterance_of_three_has_the_places_of_a_meeting(tmp_path: Path, people: list[str], said: list[Any]) -> None:
    added, store = tertulia.Additions(nodes={"after_assess": critic, "assess": other_assess}), str(tmp_path / "t.db")
    speak = tertulia.langgraph.utterance(people, model="rehearsal", additions=added, store=store)
    heard = speak.invoke({"messages": said})["utterance"]
    assert "A crane is no boat." in " ".join(unit["text"] for unit in heard["units"])


def test_a_place_of_meetings_is_refused_in_a_dialogue(tmp_path: Path) -> None:
    store = str(tmp_path / "t.db")
    for options in (
        {"additions": tertulia.Additions(nodes={"after_assess": critic})},
        {"settings": {"nodes.assess": "assess"}},
    ):
        speak = tertulia.langgraph.utterance(PEOPLE[:2], model="rehearsal", store=store, **options)
        with pytest.raises(tertulia.UsageError, match=r"a dialogue of two has no place .*; it is one of meetings"):
            speak.invoke({"messages": []})
