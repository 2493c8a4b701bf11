"""Group chat and exchange as nodes of somebody's graph."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from support.hosted import HELLO, PEOPLE, graph_of, thread

import tertulia as tt
import tertulia.langgraph
from tertulia.langgraph import PeopleError
from tertulia.state.errors import SettingError, UsageError

#: More than a pool of threads has on a small machine, so that they could wait for each other for ever.
MANY = [{"name": f"P{number}"} for number in range(12)]

ALBUMS: list[dict[str, Any]] = [
    {"name": "Ana", "role": "fisher", "album": ["a red boat", "a storm over the quay"]},
    {"name": "Bo", "role": "baker", "album": [{"caption": "a loaf on a board", "variant": "rye"}]},
    {"name": "Cy", "album": ["a grey cat"]},
]


def test_exchanges_alone_are_on_one_thread_those_of_several(tmp_path: Path) -> None:
    store = str(tmp_path / "talk.db")
    exchange = tertulia.langgraph.exchange(ALBUMS, model="rehearsal", store=store, checkpointer=InMemorySaver())
    seen = []
    for threads in ("0000", "1234"):
        state: dict[str, Any] = {"messages": []}
        pairs = []
        for name in threads:
            state = exchange.invoke({"messages": state["messages"]}, thread(name))
            pairs.append((state["exchange"]["asker"], state["exchange"]["answerer"], state["exchange"]["plan"]["text"]))
        seen.append((pairs, [message.content for message in state["messages"]]))
    assert seen[0] == seen[1]
    assert [pair[:2] for pair in seen[0][0]] == [("Ana", "Bo"), ("Bo", "Cy"), ("Cy", "Ana"), ("Ana", "Bo")]


def talking(folder: Path, people: Any = MANY, **options: Any) -> Any:
    given = {"model": "rehearsal", "removal_factor": 0.5, "store": str(folder / "talk.db"), **options}
    return graph_of(tertulia.langgraph.group_chat(people, **given), InMemorySaver())


def exchanging(folder: Path, people: Any = ALBUMS, **options: Any) -> Any:
    given = {"model": "rehearsal", "removal_factor": 0.5, "store": str(folder / "talk.db"), **options}
    return graph_of(tertulia.langgraph.exchange(people, **given), InMemorySaver())


def test_a_meeting_of_many_is_the_same_sync_and_async(tmp_path: Path) -> None:
    graph = talking(tmp_path, rounds=3)
    first = graph.invoke(HELLO, thread("sync"))
    again = asyncio.run(graph.ainvoke(HELLO, thread("async")))
    assert [(m.name, m.content) for m in first["messages"]] == [(m.name, m.content) for m in again["messages"]]
    assert len(first["messages"]) == len(first["utterances"]) >= 1
    assert first["minds"] == again["minds"]


def test_lines_are_those_of_the_run_and_minds_are_carried_on(tmp_path: Path) -> None:
    people = [*PEOPLE, {"name": "Cy", "goals": ["buy the boat"]}]
    graph = talking(tmp_path, people, rounds=2)
    first = graph.invoke(HELLO, thread())
    second = graph.invoke({"messages": []}, thread())
    (run,) = tt.open_store(tmp_path / "talk.db").runs()
    assert [turn.round for turn in run.turns] == [1, 2, 3, 4]
    spoken = [(turn.speaker, turn.text) for turn in run.turns if turn.speaker]
    assert spoken == [(m.name, m.content) for m in second["messages"]]
    assert sum(mind["spoken"] for mind in second["minds"].values()) == len(spoken)
    assert {said["turn"] for said in first["utterances"]} <= {1, 2}
    assert {said["turn"] for said in second["utterances"]} <= {3, 4}
    said = second["utterances"][-1]
    assert said["scores"] == run.turn(said["turn"]).details.record.scores


def test_somebody_else_is_heard_and_never_has_the_floor(tmp_path: Path) -> None:
    graph = talking(tmp_path, rounds=4)
    state = graph.invoke({"messages": [HumanMessage("Did you see the kingfisher?", name="Dora")]}, thread())
    assert state["messages"][0].name == "Dora"
    assert "Dora" not in {said["speaker"] for said in state["utterances"]}
    texts = [unit["text"] for said in state["utterances"] for unit in said["units"]]
    assert any("kingfisher" in text for text in texts)


def test_an_exchange_has_a_picture_and_its_words(tmp_path: Path) -> None:
    graph = exchanging(tmp_path)
    first = graph.invoke(HELLO, thread())
    held = first["exchange"]
    assert (held["asker"], held["answerer"]) == ("Ana", "Bo")
    assert held["picture"] in ("a red boat", "a storm over the quay")
    assert [m.content for m in first["messages"]] == [held["question"]["text"], held["answer"]["text"]]
    assert [m.name for m in first["messages"]] == ["Ana", "Bo"]
    texts = [unit["text"] for unit in held["question"]["units"]]
    assert any(HELLO["topic"] in text for text in texts)
    second = graph.invoke({"messages": []}, thread())
    assert (second["exchange"]["asker"], second["exchange"]["answerer"]) == ("Bo", "Cy")
    (run,) = tt.open_store(tmp_path / "talk.db").runs()
    assert [turn.text for turn in run.turns] == [held["question"]["text"], second["exchange"]["question"]["text"]]
    assert run.turn(1).parts["answer"].text == held["answer"]["text"]


def test_an_exchange_pauses_at_a_step_of_each_of_its_utterances(tmp_path: Path) -> None:
    graph = exchanging(tmp_path, interrupt_before=["generate", "find_picture"])
    state, paused = graph.invoke(HELLO, thread()), []
    while graph.get_state(thread()).next:
        (held,) = (task.state for task in graph.get_state(thread(), subgraphs=True).tasks)
        inner = [task.state for task in held.tasks if task.state is not None]
        paused += [(held.next[0], each.next[0]) for each in inner] or [held.next]
        if held.next == ("answer",):
            assert inner[0].values["removed"]
            graph.update_state(inner[0].config, {"removed": []})
        state = graph.invoke(None, thread())
    assert paused == [("plan", "generate"), ("find_picture",), ("question", "generate"), ("answer", "generate")]
    assert state["exchange"]["answer"]["removed"] == [] != state["exchange"]["question"]["removed"]
    with pytest.raises(UsageError, match=r"interrupt_after=generat: there is no such step \(did you mean 'generate'"):
        exchanging(tmp_path, interrupt_after="generat")


@pytest.mark.parametrize(
    ("made", "error", "says"),
    [
        (lambda: tertulia.langgraph.group_chat(["Ana"]), PeopleError, r"^Ana would talk alone"),
        (lambda: tertulia.langgraph.group_chat(PEOPLE, rounds=0), SettingError, r"^rounds=0: a whole number from 1"),
        (lambda: tertulia.langgraph.group_chat(PEOPLE, order="loudest"), UsageError, r"^order=loudest"),
        (lambda: tertulia.langgraph.exchange(ALBUMS[:1]), PeopleError, r"^an exchange takes two people"),
        (lambda: tertulia.langgraph.exchange(PEOPLE), PeopleError, r"^Ana has no album; give album=\['a red boat'"),
        (
            lambda: tertulia.langgraph.exchange([*ALBUMS, {"name": "Di", "album": [3]}]),
            PeopleError,
            r"^Di: album: 3 is",
        ),
    ],
)
def test_what_can_not_be_is_told_when_the_graph_is_made(made: Any, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        made()
